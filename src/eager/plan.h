// Plan: the gradients of a segment as a graph, traced and compiled once, for all segments of one
// structure; and PlanCache, where it is found again.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/hash_map.h"
#include "base/internal_export.h"
#include "eager/plan_graph.h"
#include "eager/segment.h"
#include "gyre/core/session.h"
#include "gyre/gradients.h"

namespace gyre::eager {

class Context;

// Thread-safe.
class GYRE_INTERNAL_EXPORT Plan : public std::enable_shared_from_this<Plan> {
 public:
  // `is_weighted`: the adjoints of the ys are given; if not, they are ones.
  Plan(Context& context, const Segment& segment, bool is_weighted);

  // The gradients of a segment of its structure, of each x. Tapes hear of it.
  std::vector<Adjoint> Run(Context& context, const Segment& segment, const EagerTensors& dys) const;

  // Adds the steps and their gradients to a graph: what there is of each x, and to `known` the
  // values that a segment knows.
  std::vector<SparseGradient> Build(Context& context, PlanGraph& graph,
                                    absl::Span<const Value> leaves, absl::Span<const Value> dys,
                                    std::vector<Value>& known) const;
  size_t num_leaves() const { return leaves_.size(); }

 private:
  struct Leaf {
    int number = 0;
    DType dtype = DType::kInvalid;
    PartialShape shape;
    EagerTensor handle;  // of dtype resource: part of the plan
  };
  enum class Form : uint8_t { kNone, kDense, kRows };

  void Trace(Context& context);
  std::shared_ptr<const Session::Callable> Compiled(Context& context) const;
  std::vector<Tensor> Feeds(const Segment& segment, const EagerTensors& dys) const;
  std::vector<Adjoint> Packed(const std::vector<EagerTensor>& found) const;

  std::vector<PlanStep> steps_;
  std::vector<Leaf> leaves_, ys_;
  std::vector<int> xs_, known_;
  const bool is_weighted_;

  std::shared_ptr<const Program> program_;
  std::vector<std::string> feeds_, fetches_;
  std::vector<size_t> order_;          // which of all that it might be fed it is fed
  std::vector<EagerTensor> captured_;  // fed beside what the segment has
  std::vector<EagerTensor> handles_;   // of variables that it names
  std::vector<Form> forms_;            // by x

  mutable std::mutex mutex_;  // guards what follows
  mutable std::shared_ptr<const Session::Callable> callable_;
  mutable uint64_t version_ = 0;  // of the context that it was compiled with
};

// The plans of a context, of which those that were used longest ago go first. Thread-safe.
class GYRE_INTERNAL_EXPORT PlanCache {
 public:
  static constexpr size_t kMost = 512;

  // The plan of the segment, which is made if there is none.
  std::shared_ptr<const Plan> Find(Context& context, const Segment& segment, bool is_weighted);

  size_t size() const;
  // How often Find found one, and how often it made one.
  int64_t hits() const;
  int64_t misses() const;

 private:
  using Entry = std::pair<PlanKey, std::shared_ptr<const Plan>>;

  mutable std::mutex mutex_;
  std::list<Entry> plans_;  // the latest first
  HashMap<PlanKey, std::list<Entry>::iterator> by_key_;
  int64_t hits_ = 0, misses_ = 0;
};

}  // namespace gyre::eager
