// Graph: writes the programs that are measured. A FunctionBuilder for graphs that are known to be
// right: a mistake ends the process with the builder's message.
//
// Not thread-safe.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/builder.h"
#include "ops/registry.h"

namespace gyre::bench {

// A benchmark that cannot run as intended measures nothing: the process ends.
[[noreturn]] inline void Die(absl::string_view why) {
  std::fprintf(stderr, "bench: %.*s\n", static_cast<int>(why.size()), why.data());
  std::exit(2);
}

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (!value.ok()) Die(value.status().ToString());
  return *std::move(value);
}

inline AttrMap Attrs(std::vector<AttrMap::Entry> entries) {
  AttrMap attrs;
  for (auto& [name, value] : entries) attrs.Set(name, std::move(value));
  return attrs;
}

inline FunctionRef Callee(absl::string_view name) { return {.name = std::string(name)}; }

class Graph {
 public:
  explicit Graph(absl::string_view name = "") : builder_(Ops(), std::string(name)) {}

  Endpoint Arg(absl::string_view name, DType dtype) { return builder_.Arg(name, dtype); }
  Endpoint Placeholder(absl::string_view name, DType dtype,
                       const PartialShape& shape = PartialShape::Unknown()) {
    return Op("Placeholder", {}, Attrs({{"dtype", dtype}, {"shape", shape}}), name);
  }
  Endpoint Const(const Tensor& value) { return builder_.Constant(value); }
  // The first output; the others are at other slots of the same node.
  Endpoint Op(absl::string_view op, absl::Span<const Endpoint> inputs, AttrMap attrs = {},
              absl::string_view name = "", std::vector<NodeId> control_inputs = {}) {
    return OrDie(builder_.Add1(op, inputs, std::move(attrs),
                               {.name = std::string(name),
                                .control_inputs = std::move(control_inputs),
                                .device = device_}));
  }
  Endpoint Op(absl::string_view op, std::initializer_list<Endpoint> inputs, AttrMap attrs = {},
              absl::string_view name = "", std::vector<NodeId> control_inputs = {}) {
    return Op(op, absl::MakeConstSpan(inputs.begin(), inputs.size()), std::move(attrs), name,
              std::move(control_inputs));
  }
  // What is added from here on asks for it.
  void OnDevice(absl::string_view device) { device_ = std::string(device); }
  // Input `slot` of a loop's Merge, which is made before what it reads.
  void CloseLoop(Endpoint merge, Endpoint next) {
    if (const absl::Status status = builder_.SetInput(merge.node, 1, next); !status.ok())
      Die(status.ToString());
  }
  void Return(absl::string_view name, Endpoint value) { builder_.Return(name, value); }
  Function Build() { return builder_.Build(); }

 private:
  FunctionBuilder builder_;
  std::string device_;
};

inline std::shared_ptr<const Program> MakeProgram(Function main,
                                                  std::vector<Function> functions = {}) {
  ProgramBuilder program(Ops());
  for (Function& function : functions) program.SetFunction(std::move(function));
  program.SetMain(std::move(main));
  return program.Build();
}

}  // namespace gyre::bench
