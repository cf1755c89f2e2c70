// What the kernels of collectives have in common. Stateless; any thread.
#pragma once

#include <string>
#include <utility>

#include "ir/gradient_context.h"
#include "ops/collective/group.h"
#include "ops/registry.h"

namespace gyre {

// Attributes that several of these ops have.
struct CollectiveAttrs {
  explicit CollectiveAttrs(const Node& node);
  absl::Status status;  // of merge_op
  MergeOp merge = MergeOp::kAdd;
  bool divides = false;
  int64_t timeout_nanos = 0;
  DType dtype = DType::kInvalid;
};

// The first of these, of an op whose inputs after `first` are group_size, group_key, instance_key:
// fills in the keys. The group is all ranks, or this one alone.
absl::StatusOr<int> ReadKeys(const KernelContext& ctx, int first, Collective& collective);
// Runs it among `num_ranks`, and sets output 0, if there is one, to what comes of it.
void RunCollective(KernelContext& ctx, Collective collective, int num_ranks, KernelDone done);

// The kernel of an op whose input 0 goes into a collective of this kind, and whose inputs 1 to 3
// are its keys.
void RunKeyed(Collective::Kind kind, KernelContext& ctx, const CollectiveAttrs& attrs,
              KernelDone done);
template <Collective::Kind kKind>
void RunKeyed(KernelContext& ctx, const CollectiveAttrs& attrs, KernelDone done) {
  RunKeyed(kKind, ctx, attrs, std::move(done));
}

// A rule for ops of the form op(input, group_size, group_key, instance_key, …): `like` of the
// gradient, with those keys and `attrs`. Its instance is another one, for each `number` (below 16)
// of a rule: all of them may run at once.
Expr CollectiveOfGradient(GradientContext& g, absl::string_view like, Expr value, AttrMap attrs,
                          int number = 0);
AttrMap ReductionAttrs(absl::string_view merge_op, absl::string_view final_op);
AttrMap PlainAttrs();

}  // namespace gyre
