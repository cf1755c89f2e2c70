// Firings as bytes (Firings in proto/control.proto), from a worker to its client. A writer is not
// thread-safe; a reader is a function.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/hash_map.h"
#include "cluster/proto/control.pb.h"
#include "gyre/core/observer.h"

namespace gyre::cluster {

// What a reader takes at most in one piece. Writers give far less, and one value more.
constexpr size_t kMostFiringsBytes = size_t{1} << 20;
constexpr size_t kMostValueBytes = size_t{1} << 30;

class FiringsWriter {
 public:
  void Add(const Firing& firing);
  // Of the firing that was added last, a value, as EncodeTensor gives it.
  void AddValue(int slot, std::string tensor);
  void AddJoin(int thread, int64_t asked_nanos, int64_t joined_nanos);
  // About as many bytes as Take gives.
  size_t size() const { return size_; }
  // What was added since, each piece understandable by itself.
  std::string Take();

 private:
  uint32_t Text(absl::string_view text);
  uint32_t NodeOf(const Firing& firing);
  uint32_t PlaceOf(absl::Span<const Surrounding> around);

  proto::Firings out_;
  size_t size_ = 0;
  HashMap<std::string, uint32_t> texts_;
  HashMap<std::pair<const void*, int>, uint32_t> nodes_;
  // By outer place, kind, instance, iteration and name.
  HashMap<std::tuple<uint32_t, int, uint64_t, int64_t, uint32_t>, uint32_t> places_;
  HashMap<const void*, uint32_t> graphs_;  // of all pieces
};

// How a reader makes the times and numbers of a worker those of its client.
struct FiringsOf {
  int64_t offset_nanos = 0;      // that the worker's clock is ahead
  int64_t first_nanos = 0;       // no firing was earlier
  int64_t last_nanos = 0;        // or later
  int first_thread = 0;          // its thread 0
  const char* graphs = nullptr;  // stand for its graphs, one byte each
  int num_outputs = 0;           // values of so many outputs of a node are taken; 0: none
};
// A worker's graphs and threads have numbers below these.
constexpr int kMostGraphs = 1 << 14;
constexpr int kMostThreads = 1 << 12;

// `of.offset_nanos`, or what is nearest to it and has these firings lie within the run: an estimate
// that puts them elsewhere, or all at one end, is off by as much. For the first ones of a run.
int64_t FittingOffset(absl::string_view bytes, const FiringsOf& of);

// Calls `observer` for each firing and join. INVALID_ARGUMENT for what no writer writes, by when
// some may have been told; the first error of the observer.
absl::Status ReadFirings(absl::string_view bytes, const FiringsOf& of, RunObserver& observer);

}  // namespace gyre::cluster
