#include "ops/collective/kernels.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre {
namespace {

constexpr double kNanosPerSecond = 1e9;
constexpr double kMostSeconds = 1e9;
// What instance keys of gradients are ahead of those of what they are the gradients of, and of each
// other.
constexpr int32_t kNextOrder = 1 << 27;
constexpr int32_t kNextInRule = 1 << 23;

}  // namespace

CollectiveAttrs::CollectiveAttrs(const Node& node) {
  const auto* merge_op = node.attrs.Get<std::string>("merge_op");
  if (merge_op == nullptr) merge_op = node.attrs.Get<std::string>("reduction");
  if (merge_op != nullptr) {
    absl::StatusOr<MergeOp> parsed = ParseMergeOp(*merge_op);
    status = parsed.status();
    if (parsed.ok()) merge = *parsed;
  }
  divides = node.attrs.GetOr<std::string>("final_op", "Id") == "Div";
  const double seconds = node.attrs.GetOr<float>("timeout_seconds", 0);
  if (std::isnan(seconds) || seconds < 0) {
    status.Update(absl::InvalidArgumentError("timeout_seconds must not be negative"));
  } else {
    timeout_nanos = static_cast<int64_t>(std::min(seconds, kMostSeconds) * kNanosPerSecond);
  }
  dtype = node.attrs.GetOr<DType>("T", DType::kInvalid);
}

absl::StatusOr<int> ReadKeys(const KernelContext& ctx, int first, Collective& collective) {
  GYRE_ASSIGN_OR_RETURN(const int64_t group_size, ctx.IntScalar(first, "group_size"));
  GYRE_ASSIGN_OR_RETURN(const int64_t group_key, ctx.IntScalar(first + 1, "group_key"));
  GYRE_ASSIGN_OR_RETURN(const int64_t instance_key, ctx.IntScalar(first + 2, "instance_key"));
  if (group_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("group_size must be at least 1, but is ", group_size));
  }
  collective.group_key = static_cast<int32_t>(group_key);
  collective.instance_key = static_cast<int32_t>(instance_key);
  if (group_size == 1) return 1;
  const std::shared_ptr<CollectiveGroup> group = TheCollectiveGroup();
  if (group == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("a collective of ", group_size,
                     " ranks, and this process is alone: call gyre.cluster.init() first"));
  }
  if (group_size != group->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a collective of ", group_size, " ranks, and there are ", group->size(),
                     ": groups of some of them are those of the ops that take a group_assignment"));
  }
  return static_cast<int>(group_size);
}

void RunCollective(KernelContext& ctx, Collective collective, int num_ranks, KernelDone done) {
  const auto end = [&ctx, done = std::move(done)](absl::StatusOr<Tensor> result) {
    if (!result.ok()) return done(result.status());
    if (ctx.num_outputs() > 0) ctx.set_output(0, *std::move(result));
    done(absl::OkStatus());
  };
  absl::StatusOr<Shape> shape = ResultShape(collective, num_ranks);
  if (!shape.ok()) return end(shape.status());
  if (num_ranks == 1) {  // merged with nothing, and divided by one
    if (collective.kind == Collective::Kind::kBarrier) return end(Tensor());
    if (!collective.input.has_value()) {
      return end(absl::FailedPreconditionError(
          "a broadcast is to be received, and there is no other rank to send one"));
    }
    return end(std::move(collective.input));
  }
  const std::shared_ptr<CollectiveGroup> group = TheCollectiveGroup();
  if (group == nullptr)
    return end(absl::FailedPreconditionError("this process has left its group"));
  group->Start(ctx, std::move(collective), end);
}

void RunKeyed(Collective::Kind kind, KernelContext& ctx, const CollectiveAttrs& attrs,
              KernelDone done) {
  Collective collective{.kind = kind,
                        .merge = attrs.merge,
                        .divides = attrs.divides,
                        .dtype = attrs.dtype,
                        .timeout_nanos = attrs.timeout_nanos};
  if (!attrs.status.ok()) return done(attrs.status);
  const absl::StatusOr<int> ranks = ReadKeys(ctx, 1, collective);
  if (!ranks.ok()) return done(ranks.status());
  collective.input = ctx.TakeInput(0);
  RunCollective(ctx, std::move(collective), *ranks, std::move(done));
}

Expr CollectiveOfGradient(GradientContext& g, absl::string_view like, Expr value, AttrMap attrs,
                          int number) {
  const double ahead = kNextOrder + number * kNextInRule;
  return g.op(like, {value, g.input(1), g.input(2), g.input(3) + ahead}, std::move(attrs));
}

AttrMap ReductionAttrs(absl::string_view merge_op, absl::string_view final_op) {
  AttrMap attrs = PlainAttrs();
  attrs.Set("merge_op", std::string(merge_op));
  attrs.Set("final_op", std::string(final_op));
  return attrs;
}

AttrMap PlainAttrs() {
  AttrMap attrs;
  attrs.Set("Nordering_token", int64_t{0});
  return attrs;
}

}  // namespace gyre
