// Workload: a program with what to feed it, what to fetch, and what must come out. Case: a workload
// under the name by which limits.json, the peers and the benchmark programs know it.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gyre/core/session.h"
#include "ir/program.h"

namespace gyre::bench {

struct Workload {
  std::shared_ptr<const Program> program;
  Feeds feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  int64_t units = 1;  // ops, iterations, elements, … of one run
  // What is wrong with the fetched values; empty: nothing.
  std::function<std::string(const std::vector<Tensor>&)> check;
};

struct Case {
  std::string name;
  std::function<Workload()> make;
  int window = 0;   // as SessionOptions::window
  int clients = 1;  // threads that run the one session at the same time
  // Changes the session's options: its devices, its cluster.
  std::function<void(SessionOptions&)> configure;
  // The whole process is measured: `gyre run` of the saved program.
  bool as_process = false;
  // Where it is no workload: makes what is measured ready, checks its result, and returns it.
  std::function<std::function<void()>(const SessionOptions&)> prepare;
  int64_t prepared_units = 1;  // of that, as Workload::units
};

// Every element of the first fetch is `want`, up to a relative error.
inline std::function<std::string(const std::vector<Tensor>&)> AllAre(double want,
                                                                     int64_t elements = 1,
                                                                     double error = 0) {
  return [=](const std::vector<Tensor>& got) -> std::string {
    if (got[0].num_elements() != elements)
      return absl::StrCat(got[0].num_elements(), " elements instead of ", elements);
    for (const float value : got[0].values<float>()) {
      if (!(std::abs(value - want) <= error * std::abs(want)))
        return absl::StrCat(value, " instead of ", want);
    }
    return "";
  };
}

inline Tensor Filled(float value, const Shape& shape) {
  return Tensor::FromValues<float>(
      std::vector<float>(static_cast<size_t>(shape.num_elements()), value), shape);
}

inline Shape Matrix(int64_t rows, int64_t columns) { return Shape::Trusted({rows, columns}); }

}  // namespace gyre::bench
