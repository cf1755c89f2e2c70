#include "eager/backward.h"

#include <algorithm>
#include <utility>

#include "eager/adjoints.h"
#include "eager/context.h"
#include "eager/plan.h"
#include "eager/segment.h"
#include "eager/variable_store.h"
#include "ops/registry.h"

namespace gyre::eager {
namespace {

using StepPtr = std::shared_ptr<const Step>;
using Steps = std::vector<StepPtr>;

bool AnyOf(const EagerTensors& tensors, const HashSet<uint64_t>& ids) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const EagerTensor& tensor) { return ids.contains(tensor.id); });
}

// The steps on paths from what is watched to the targets, in order.
Steps Between(absl::Span<const StepPtr> steps, HashSet<uint64_t> reached,
              HashSet<uint64_t> needed) {
  Steps ahead;
  for (const StepPtr& step : steps) {
    if (!AnyOf(step->inputs, reached)) continue;
    ahead.push_back(step);
    for (const EagerTensor& output : step->outputs) reached.insert(output.id);
  }
  Steps kept;
  for (auto step = ahead.rbegin(); step != ahead.rend(); ++step) {
    if (!AnyOf((*step)->outputs, needed)) continue;
    kept.push_back(*step);
    for (const EagerTensor& input : (*step)->inputs) needed.insert(input.id);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

// Runs of steps that a plan differentiates; a step that goes back by itself is one of its own.
std::vector<absl::Span<const StepPtr>> SegmentsOf(const Steps& steps) {
  std::vector<absl::Span<const StepPtr>> segments;
  bool is_open = false;
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool is_alone = steps[i]->GoesBack();
    if (is_open && !is_alone) {
      segments.back() = absl::MakeConstSpan(segments.back().data(), segments.back().size() + 1);
    } else {
      segments.push_back(absl::MakeConstSpan(&steps[i], 1));
    }
    is_open = !is_alone;
  }
  return segments;
}

// The same steps, in which what one computes goes to others through EnsureShape: so their shapes
// are part of the structure.
Steps WithShapes(Context& context, absl::Span<const StepPtr> steps) {
  static const OpDef* const ensure = Ops().Find("EnsureShape");
  HashSet<uint64_t> computed;
  HashMap<uint64_t, EagerTensor> shaped;
  Steps all;
  for (const StepPtr& step : steps) {
    auto made = std::make_shared<Step>(*step);
    for (EagerTensor& input : made->inputs) {
      const DType dtype = input.dtype();
      if (!computed.contains(input.id) || dtype == DType::kResource || dtype == DType::kVariant)
        continue;
      const auto [it, is_new] = shaped.try_emplace(input.id);
      if (is_new) {
        bool is_kept = false;
        auto between = std::make_shared<Step>();
        between->op = context.ops().Find(*ensure, {input.value},
                                         {{"shape", PartialShape(input.value.shape())}}, is_kept);
        between->inputs = {input};
        it->second = EagerTensor(input.value);
        between->outputs = {it->second};
        all.push_back(std::move(between));
      }
      input = it->second;
    }
    for (const EagerTensor& output : step->outputs) computed.insert(output.id);
    all.push_back(std::move(made));
  }
  return all;
}

class Pass {
 public:
  Pass(Context& context, const HashSet<uint64_t>& watched)
      : context_(context), watched_(watched), adjoints_(context) {}

  void Begin(const Target& target) {
    MaybeOnes weight;
    if (target.weight.has_value()) {
      weight = target.weight;
    } else if (const auto variable = VariableBehind(target.tensor.value)) {
      weight = Given(
          context_,
          context_.Execute1("ReadVariableOp", {target.tensor}, {{"dtype", variable->dtype}}), {});
    }
    adjoints_.Add(target.tensor, std::move(weight));
  }

  void Run(const Steps& steps) {
    HashSet<uint64_t> computed;
    for (const StepPtr& step : steps) {
      for (const EagerTensor& output : step->outputs) computed.insert(output.id);
    }
    const auto segments = SegmentsOf(steps);
    for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
      const Step& first = *segment->front();
      if (segment->size() == 1 && first.GoesBack()) {
        Alone(first);
      } else {
        Together(*segment, computed);
      }
    }
  }

  Adjoint Total(const EagerTensor& tensor) const { return adjoints_.Total(tensor); }

 private:
  // Replaces the adjoints of what a step computes by those of what it computes them from.
  void Alone(const Step& step) {
    const bool is_needed =
        std::any_of(step.outputs.begin(), step.outputs.end(),
                    [&](const EagerTensor& output) { return adjoints_.Has(output); });
    if (!is_needed) return;
    std::vector<Adjoint> dys;
    for (const EagerTensor& output : step.outputs) {
      dys.push_back(adjoints_.Has(output)
                        ? Given(context_, output, adjoints_.Take(output))
                        : Adjoint{.values = context_.Execute1("ZerosLike", {output}),
                                  .indices = {},
                                  .shape = {}});
    }
    const std::vector<Adjoint> found = step.own->Backward(step.inputs, step.outputs, dys);
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].has_value()) adjoints_.Add(step.inputs[i], found[i]);
    }
  }

  // The same of a segment. A rule that needs sizes which follow from values alone (of a slice, say)
  // is told those that there were.
  void Together(absl::Span<const StepPtr> steps, const HashSet<uint64_t>& computed) {
    const Segment segment(context_, steps, watched_, computed, adjoints_);
    for (const Segment::Read& read : segment.reads()) HandOn(read);
    if (segment.ys().empty()) return;
    Weights weights = TakeOf(segment);
    std::shared_ptr<const Plan> plan;
    try {
      plan = context_.plans().Find(context_, segment, weights.are_any);
    } catch (const Error& error) {
      if (error.code() != absl::StatusCode::kUnimplemented) throw;
    }
    if (plan != nullptr) return Follow(*plan, segment, std::move(weights));
    for (size_t i = 0; i < weights.taken.size(); ++i)
      adjoints_.Add(segment.ys()[i].tensor, std::move(weights.taken[i]));
    const Steps shaped = WithShapes(context_, steps);
    const Segment again(context_, shaped, watched_, computed, adjoints_);
    weights = TakeOf(again);
    Follow(*context_.plans().Find(context_, again, weights.are_any), again, std::move(weights));
  }

  // The adjoints of what a segment computes.
  struct Weights {
    std::vector<MaybeOnes> taken;
    bool are_any = false;  // but ones
  };
  Weights TakeOf(const Segment& segment) {
    Weights weights;
    for (const Segment::Numbered& y : segment.ys()) {
      weights.taken.push_back(adjoints_.Take(y.tensor));
      weights.are_any |= weights.taken.back().has_value();
    }
    return weights;
  }

  void Follow(const Plan& plan, const Segment& segment, Weights weights) {
    EagerTensors dys;
    for (size_t i = 0; weights.are_any && i < weights.taken.size(); ++i) {
      dys.push_back(
          Dense(context_, Given(context_, segment.ys()[i].tensor, std::move(weights.taken[i]))));
    }
    const std::vector<Adjoint> found = plan.Run(context_, segment, dys);
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].has_value()) adjoints_.Add(segment.xs()[i].tensor, found[i]);
    }
  }

  // The adjoint that a value has by itself, of steps after the segment or as a target, is one of
  // the variable that it was read of.
  void HandOn(const Segment::Read& read) {
    if (!adjoints_.Has(read.value)) return;
    const Adjoint sum = Given(context_, read.value, adjoints_.Take(read.value));
    adjoints_.Add(read.handle, sum);
    if (watched_.contains(read.value.id)) adjoints_.Add(read.value, sum);
  }

  Context& context_;
  const HashSet<uint64_t>& watched_;
  Adjoints adjoints_;
};

}  // namespace

bool IsDifferentiable(DType dtype) {
  return IsFloating(dtype) || IsComplex(dtype) || dtype == DType::kVariant;
}

std::vector<Adjoint> Backward(Context& context, absl::Span<const StepPtr> steps,
                              absl::Span<const Target> targets,
                              absl::Span<const EagerTensor> sources,
                              const HashSet<uint64_t>& watched) {
  Pass pass(context, watched);
  HashSet<uint64_t> asked, needed;
  for (const EagerTensor& source : sources) asked.insert(source.id);
  for (const Target& target : targets) {
    // A variable depends on itself alone.
    const bool counts = target.tensor.dtype() == DType::kResource
                            ? asked.contains(target.tensor.id)
                            : IsDifferentiable(target.tensor.dtype());
    if (!counts) continue;
    needed.insert(target.tensor.id);
    pass.Begin(target);
  }
  pass.Run(Between(steps, watched, std::move(needed)));
  std::vector<Adjoint> found;
  for (const EagerTensor& source : sources)
    found.push_back(watched.contains(source.id) ? pass.Total(source) : Adjoint());
  return found;
}

}  // namespace gyre::eager
