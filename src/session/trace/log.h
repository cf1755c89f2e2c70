// Log: what a TraceRecorder keeps. Each thread of the run writes to a shard of its own, so that its
// lock is free; names and places are kept once per shard. Merge puts the shards together.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/hash_map.h"
#include "gyre/core/observer.h"

namespace gyre::trace {

// A node of the program, or of the plumbing around it.
struct NodeEntry {
  std::string name;
  std::string op;
  std::string function;  // in whose body; empty: the main graph, or plumbing
  std::string device;    // empty: there is but one
  bool is_plumbing = false;
  bool is_call = false;
  const void* graph = nullptr;  // as in TokenOrigin; null: unknown
  int number = 0;
  std::vector<int> sources;
};

// A frame, an iteration of one, a branch that was taken, or a call.
struct PlaceEntry {
  enum class Kind : uint8_t { kLoop, kIteration, kBranch, kCall };
  Kind kind = Kind::kLoop;
  int32_t parent = -1;  // -1: the main graph
  std::string name;     // of the loop, or of the structured node
  std::string function;
  uint64_t key = 0;    // among the places of its kind and parent
  int64_t number = 0;  // of an iteration; of a branch: which one
};

struct FiringEntry {
  uint32_t node = 0;
  int32_t place = -1;
  int32_t thread = 0;
  bool was_taken = false;
  int64_t start = 0;
  int64_t end = 0;
  uint64_t frame = 0;  // as in TokenOrigin
  int64_t iteration = 0;
};

struct JoinEntry {
  int thread = 0;
  int64_t asked = 0;
  int64_t joined = 0;
};

// Places by what makes them one. Not thread-safe.
class PlaceTable {
 public:
  int32_t Intern(PlaceEntry place);
  // The place that `around` leads to.
  int32_t Find(absl::Span<const Surrounding> around);
  const std::vector<PlaceEntry>& places() const { return places_; }

 private:
  struct Key {
    PlaceEntry::Kind kind;
    int32_t parent;
    uint64_t key;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.kind, k.parent, k.key);
    }
  };
  int32_t* Slot(PlaceEntry::Kind kind, int32_t parent, uint64_t key);
  int32_t Child(int32_t parent, absl::Span<const Surrounding> around, size_t i);

  std::vector<PlaceEntry> places_;  // each after its parent
  HashMap<Key, int32_t> ids_;
  // Where the last firing was: the next one is likely to be there, too.
  Surrounding last_;
  size_t last_depth_ = 0;
  int32_t last_place_ = -1;
};

// Where frames were entered from: (frame, iteration).
using Outers = HashMap<uint64_t, std::pair<uint64_t, int64_t>>;

// The firings of a run, in the order in which they began.
struct Timeline {
  std::vector<NodeEntry> nodes;
  std::vector<PlaceEntry> places;
  std::vector<FiringEntry> firings;
  std::vector<JoinEntry> joins;
  Outers outers;
  int64_t left_out = 0;
};

class Log {
 public:
  Log(std::string run, int64_t max_firings) : run_(std::move(run)), max_firings_(max_firings) {}

  // Thread-safe.
  void Add(const Firing& firing);
  void AddJoin(const JoinEntry& join);

  // When the run has ended.
  const std::string& run() const { return run_; }
  int64_t recorded() const;
  int64_t left_out() const;
  Timeline Merge() const;

 private:
  struct alignas(64) Shard {
    mutable std::mutex mutex;  // guards all of it
    std::vector<NodeEntry> nodes;
    HashMap<std::pair<const void*, int>, uint32_t> by_number;
    HashMap<std::string, uint32_t> by_name;
    PlaceTable places;
    std::vector<FiringEntry> firings;
    std::vector<JoinEntry> joins;
    Outers outers;
  };
  static uint32_t NodeOf(Shard& shard, const Firing& firing);

  // Runs have a thread per core at most as a rule; beyond that, threads share shards.
  static constexpr size_t kShards = 32;
  const std::string run_;
  const int64_t max_firings_;
  std::atomic<int64_t> fired_{0};  // relaxed: a count
  std::array<Shard, kShards> shards_;
};

}  // namespace gyre::trace
