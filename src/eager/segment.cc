#include "eager/segment.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/string_view.h"
#include "analysis/same_attrs.h"
#include "eager/context.h"
#include "eager/eager_op.h"
#include "ops/registry.h"

namespace gyre::eager {
namespace {

// Inputs that are axes, as schemas call them, are constants of a plan: so shapes are known, and the
// gradients of gathers are rows.
bool IsAxis(const ArgDef& arg) {
  static constexpr absl::string_view kNames[] = {"reduction_indices", "axis", "perm", "dim",
                                                 "split_dim"};
  return std::find(std::begin(kNames), std::end(kNames), arg.name) != std::end(kNames);
}

// Of which formal input the axis is, if there is one, among flat inputs: those before it that are a
// list are as many as are left over.
int AxisAmong(const OpDef& op, size_t num_inputs) {
  const auto axis = std::find_if(op.inputs.begin(), op.inputs.end(), IsAxis);
  if (axis == op.inputs.end()) return -1;
  const auto takes_list = [](const ArgDef& arg) {
    return !arg.number_attr.empty() || !arg.type_list_attr.empty();
  };
  const auto behind = static_cast<size_t>(op.inputs.end() - axis);
  const bool is_behind_list = std::any_of(op.inputs.begin(), axis, takes_list);
  return static_cast<int>(is_behind_list ? num_inputs - behind
                                         : static_cast<size_t>(axis - op.inputs.begin()));
}

bool IsFed(const EagerTensor& result) {
  return result.dtype() != DType::kResource && result.dtype() != DType::kVariant;
}

}  // namespace

void PlanKey::Add(const PartialShape& shape) {
  if (!shape.has_rank()) return Add(UINT64_MAX);
  Add(static_cast<uint64_t>(shape.rank()));
  for (const int64_t dim : shape.dims()) Add(static_cast<uint64_t>(dim));
}

void PlanKey::Add(const Tensor& literal) {
  Add(static_cast<uint64_t>(literal.dtype()));
  Add(PartialShape(literal.shape()));
  const auto* const bytes = static_cast<const char*>(literal.raw_data());
  for (size_t i = 0; i < literal.bytes(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + i, std::min(sizeof word, literal.bytes() - i));
    Add(word);
  }
}

bool operator==(const PlanKey& a, const PlanKey& b) {
  return a.words_ == b.words_ && a.attrs_.size() == b.attrs_.size() &&
         std::equal(a.attrs_.begin(), a.attrs_.end(), b.attrs_.begin(),
                    [](const auto& x, const auto& y) { return x == y || SameAttrs(*x, *y); });
}

Segment::Segment(Context& context, absl::Span<const std::shared_ptr<const Step>> steps,
                 const HashSet<uint64_t>& watched, const HashSet<uint64_t>& computed,
                 const Adjoints& adjoints)
    : watched_(watched) {
  for (const auto& step : steps) {
    if (step->own != nullptr) {
      AddOwn(*step);
      continue;
    }
    switch (step->op->def->traits.role) {
      case Role::kReadsAll:
        AddRead(*step);
        break;
      case Role::kReadsRows:
      case Role::kReadsElements:
        AddGather(context, *step);
        break;
      default:
        AddOp(*step);
    }
  }
  DifferentiateBy(computed);
  for (const Numbered& result : results_) {
    if (adjoints.Has(result.tensor)) ys_.push_back(result);
    if (IsFed(result.tensor)) known_.push_back(result);
  }
}

// Its number; one that is new goes to the list.
int Segment::Number(const EagerTensor& tensor, std::vector<Numbered>& list) {
  const auto [it, is_new] = numbers_.emplace(tensor.id, static_cast<int>(numbers_.size()));
  if (is_new) list.push_back({it->second, tensor});
  return it->second;
}

// A value that was read is a leaf; what it contributes belongs to the variable.
void Segment::AddRead(const Step& step) {
  const EagerTensor& handle = step.inputs[0];
  const int number = Number(step.outputs[0], leaves_);
  if (!watched_.contains(handle.id)) return;
  xs_.push_back({number, handle});
  reads_.push_back({handle, step.outputs[0]});
}

// Rows that were read are gathered from the whole variable, of which only the shape counts.
void Segment::AddGather(Context& context, const Step& step) {
  const bool of_rows = step.op->def->traits.role == Role::kReadsRows;
  const EagerTensor& handle = step.inputs[0];
  const AttrMap& attrs = step.op->node.attrs;
  if (!values_.contains(handle.id)) {
    const EagerTensor value = context.Execute1("ReadVariableOp", {handle},
                                               {{"dtype", attrs.GetOr("dtype", DType::kFloat)}});
    const int number = Number(value, leaves_);
    values_.emplace(handle.id, value);
    if (watched_.contains(handle.id)) xs_.push_back({number, handle});
  }
  static const OpDef* const gather = Ops().Find("GatherV2");
  static const OpDef* const gather_nd = Ops().Find("GatherNd");
  PlanStep made;
  made.op = of_rows ? gather : gather_nd;
  made.inputs.push_back({Number(values_.find(handle.id)->second, leaves_), {}});
  made.inputs.push_back({Number(step.inputs[1], leaves_), {}});
  AttrMap of_gather;
  if (of_rows) {
    const auto batch_dims = attrs.GetOr<int64_t>("batch_dims", 0);
    made.inputs.push_back({-1, Tensor::Scalar(static_cast<int32_t>(batch_dims))});
    of_gather.Set("batch_dims", batch_dims);
  }
  made.attrs = std::make_shared<const AttrMap>(std::move(of_gather));
  Finish(std::move(made), step.outputs);
}

void Segment::AddOp(const Step& step) {
  PlanStep made;
  made.op = step.op->def;
  made.attrs = {step.op, &step.op->node.attrs};
  const int axis = AxisAmong(*made.op, step.inputs.size());
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (static_cast<int>(i) == axis) {
      made.inputs.push_back({-1, step.inputs[i].value});
    } else {
      made.inputs.push_back({Number(step.inputs[i], leaves_), {}});
    }
  }
  Finish(std::move(made), step.outputs);
}

void Segment::AddOwn(const Step& step) {
  PlanStep made;
  made.own = step.own;
  for (const EagerTensor& input : step.inputs) made.inputs.push_back({Number(input, leaves_), {}});
  Finish(std::move(made), step.outputs);
}

void Segment::Finish(PlanStep step, const EagerTensors& outputs) {
  for (const EagerTensor& output : outputs) step.outputs.push_back(Number(output, results_));
  num_memories_.push_back(0);
  if (step.own != nullptr) {
    const auto memory = step.own->memory();
    memories_.insert(memories_.end(), memory.begin(), memory.end());
    num_memories_.back() = memory.size();
  }
  steps_.push_back(std::move(step));
}

void Segment::DifferentiateBy(const HashSet<uint64_t>& computed) {
  HashSet<int> seen;
  for (const Numbered& x : xs_) seen.insert(x.number);
  const auto add = [&](const Numbered& value) {
    const bool counts =
        IsDifferentiable(value.tensor.dtype()) || watched_.contains(value.tensor.id);
    if (counts && !seen.contains(value.number)) xs_.push_back(value);
  };
  for (const Numbered& leaf : leaves_) {
    if (watched_.contains(leaf.tensor.id) || computed.contains(leaf.tensor.id)) add(leaf);
  }
  for (const Numbered& result : results_) {
    if (watched_.contains(result.tensor.id)) add(result);
  }
}

PlanKey Segment::key(bool is_weighted) const {
  PlanKey key;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const PlanStep& step = steps_[i];
    if (step.op != nullptr) {
      key.Add(reinterpret_cast<uintptr_t>(step.op));
      key.Add(step.attrs);
    } else {
      const OwnStep::Key own = step.own->key();
      key.Add(reinterpret_cast<uintptr_t>(own.what));
      key.Add(static_cast<uint64_t>(own.number));
    }
    key.Add(step.inputs.size());
    for (const PlanStep::Input& input : step.inputs) {
      key.Add(static_cast<uint64_t>(static_cast<int64_t>(input.number)));
      if (input.number < 0) key.Add(input.literal);
    }
    key.Add(step.outputs.size());
    for (const int output : step.outputs) key.Add(static_cast<uint64_t>(output));
    key.Add(num_memories_[i]);
  }
  key.Add(ys_.size());
  for (const Numbered& y : ys_) key.Add(static_cast<uint64_t>(y.number));
  key.Add(xs_.size());
  for (const Numbered& x : xs_) key.Add(static_cast<uint64_t>(x.number));
  key.Add(is_weighted ? 1 : 0);
  for (const Numbered& leaf : leaves_) {
    key.Add(static_cast<uint64_t>(leaf.number));
    key.Add(static_cast<uint64_t>(leaf.tensor.dtype()));
    if (leaf.tensor.dtype() == DType::kResource) {
      key.Add(leaf.tensor.id);
    } else {
      key.Add(PartialShape(leaf.tensor.value.shape()));
    }
  }
  return key;
}

}  // namespace gyre::eager
