// Segment: steps of a tape that are differentiated together, with the tensors that they saw, and
// what makes two segments of one structure.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "base/hash_map.h"
#include "base/internal_export.h"
#include "eager/adjoints.h"
#include "eager/step.h"
#include "ir/attr.h"

namespace gyre::eager {

class Context;

GYRE_INTERNAL_EXPORT bool IsDifferentiable(DType dtype);

// An op, or something else, that stands in a plan: what goes in and comes out by number.
struct PlanStep {
  struct Input {
    int number = -1;
    Tensor literal;  // instead: a constant of the plan
  };
  const OpDef* op = nullptr;  // null: `own`
  std::shared_ptr<const AttrMap> attrs;
  std::shared_ptr<const OwnStep> own;
  std::vector<Input> inputs;
  std::vector<int> outputs;
};

// Equal where a plan of one is a plan of the other.
class GYRE_INTERNAL_EXPORT PlanKey {
 public:
  void Add(uint64_t word) { words_.push_back(word); }
  void Add(const PartialShape& shape);
  void Add(const Tensor& literal);
  void Add(std::shared_ptr<const AttrMap> attrs) { attrs_.push_back(std::move(attrs)); }

  friend bool operator==(const PlanKey& a, const PlanKey& b);
  template <typename H>
  friend H AbslHashValue(H h, const PlanKey& key) {
    return H::combine_contiguous(std::move(h), key.words_.data(), key.words_.size());
  }

 private:
  std::vector<uint64_t> words_;
  std::vector<std::shared_ptr<const AttrMap>> attrs_;
};

// Values are numbered in the order of their appearance: leaves, which come from outside, and
// results.
class GYRE_INTERNAL_EXPORT Segment {
 public:
  struct Numbered {
    int number = 0;
    EagerTensor tensor;
  };

  // `watched`: the sources. `computed`: what steps before it computed, too, whose adjoints are
  // wanted. Of `adjoints` it looks at which there are.
  Segment(Context& context, absl::Span<const std::shared_ptr<const Step>> steps,
          const HashSet<uint64_t>& watched, const HashSet<uint64_t>& computed,
          const Adjoints& adjoints);

  const std::vector<PlanStep>& steps() const { return steps_; }
  const std::vector<Numbered>& leaves() const { return leaves_; }
  // What is differentiated.
  const std::vector<Numbered>& ys() const { return ys_; }
  // What it is differentiated by: the number, and the tensor that the gradient belongs to.
  const std::vector<Numbered>& xs() const { return xs_; }
  // Values that were read whole, of variables that are watched.
  struct Read {
    EagerTensor handle, value;
  };
  const std::vector<Read>& reads() const { return reads_; }
  // What the steps computed, as far as a plan is fed it. The numbers are those of one structure.
  const std::vector<Numbered>& known() const { return known_; }
  // Of steps that have some.
  const std::vector<EagerTensor>& memories() const { return memories_; }
  PlanKey key(bool is_weighted) const;

 private:
  int Number(const EagerTensor& tensor, std::vector<Numbered>& list);
  void AddRead(const Step& step);
  void AddGather(Context& context, const Step& step);
  void AddOp(const Step& step);
  void AddOwn(const Step& step);
  void Finish(PlanStep step, const EagerTensors& outputs);
  void DifferentiateBy(const HashSet<uint64_t>& computed);

  const HashSet<uint64_t>& watched_;
  HashMap<uint64_t, int> numbers_;
  std::vector<PlanStep> steps_;
  std::vector<Numbered> leaves_, results_, ys_, xs_, known_;
  std::vector<Read> reads_;
  std::vector<EagerTensor> memories_;
  std::vector<size_t> num_memories_;       // by step
  HashMap<uint64_t, EagerTensor> values_;  // of variables of which rows were read
};

}  // namespace gyre::eager
