#include "ops/math/elementwise.h"

#include <atomic>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/math/broadcast.h"

namespace gyre {
namespace {

// One execution of a binary op, seen by every piece of its work.
struct BinaryJob {
  const BinaryCall& call;
  const char* x;
  const char* y;
  char* z;
  std::atomic<bool> failed{false};

  // Elements [position, position + n) of the result, from those elements of x and y that are given.
  void Compute(int64_t x_offset, int64_t y_offset, int64_t position, int64_t n, Operands operands) {
    if (!call.row(x + x_offset * call.input_size, y + y_offset * call.input_size,
                  z + position * call.result_size, n, operands)) {
      failed.store(true, std::memory_order_relaxed);
    }
  }
};

absl::Status Finish(KernelContext& ctx, const BinaryJob& job, Tensor z) {
  if (job.failed.load(std::memory_order_relaxed)) return absl::InvalidArgumentError(job.call.error);
  ctx.set_output(0, std::move(z));
  return absl::OkStatus();
}

// A tensor for the result: the input that has its shape and no other holder, or a fresh one.
absl::StatusOr<Tensor> ResultTensor(KernelContext& ctx, DType dtype, const Shape& shape) {
  const bool reuse_x = ctx.input(0).IsUnique() && ctx.input(0).shape() == shape;
  return ctx.ReuseOrAllocate(reuse_x ? 0 : 1, dtype, shape);
}

// For operands of which at most one is repeated, as a whole.
absl::Status RunSimple(KernelContext& ctx, const BinaryCall& call, const Shape& shape,
                       Operands operands) {
  GYRE_ASSIGN_OR_RETURN(Tensor z, ResultTensor(ctx, call.result, shape));
  BinaryJob job = {call, static_cast<const char*>(ctx.input(0).raw_data()),
                   static_cast<const char*>(ctx.input(1).raw_data()),
                   static_cast<char*>(z.mutable_raw_data())};
  GYRE_RETURN_IF_ERROR(ForPieces(ctx, shape.num_elements(), [&](int64_t begin, int64_t end) {
    job.Compute(operands == Operands::kScalarX ? 0 : begin,
                operands == Operands::kScalarY ? 0 : begin, begin, end - begin, operands);
  }));
  return Finish(ctx, job, std::move(z));
}

absl::Status RunBroadcast(KernelContext& ctx, const BinaryCall& call) {
  const Tensor& x = ctx.input(0);
  const Tensor& y = ctx.input(1);
  GYRE_ASSIGN_OR_RETURN(const BroadcastPlan plan, PlanBroadcast({&x.shape(), &y.shape()}));
  GYRE_ASSIGN_OR_RETURN(Tensor z, ResultTensor(ctx, call.result, plan.shape));
  BinaryJob job = {call, static_cast<const char*>(x.raw_data()),
                   static_cast<const char*>(y.raw_data()),
                   static_cast<char*>(z.mutable_raw_data())};
  const BroadcastPlan::Offsets& strides = plan.dims.back().strides;
  const Operands operands = strides[0] == strides[1] ? Operands::kVectors
                            : strides[0] == 0        ? Operands::kScalarX
                                                     : Operands::kScalarY;
  GYRE_RETURN_IF_ERROR(ForPieces(ctx, plan.shape.num_elements(), [&](int64_t begin, int64_t end) {
    ForEachStretch(plan, begin, end,
                   [&](const BroadcastPlan::Offsets& offsets, int64_t position, int64_t n) {
                     job.Compute(offsets[0], offsets[1], position, n, operands);
                   });
  }));
  return Finish(ctx, job, std::move(z));
}

}  // namespace

absl::Status RunUnary(KernelContext& ctx, const UnaryCall& call) {
  const Tensor& x = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(Tensor y, ctx.ReuseOrAllocate(0, call.result, x.shape()));
  const char* from = static_cast<const char*>(x.raw_data());
  char* to = static_cast<char*>(y.mutable_raw_data());
  GYRE_RETURN_IF_ERROR(ForPieces(ctx, x.num_elements(), [&](int64_t begin, int64_t end) {
    call.row(from + begin * call.input_size, to + begin * call.result_size, end - begin);
  }));
  ctx.set_output(0, std::move(y));
  return absl::OkStatus();
}

absl::Status RunBinary(KernelContext& ctx, const BinaryCall& call) {
  const Tensor& x = ctx.input(0);
  const Tensor& y = ctx.input(1);
  if (x.shape() == y.shape()) return RunSimple(ctx, call, x.shape(), Operands::kVectors);
  if (y.shape().IsScalar()) return RunSimple(ctx, call, x.shape(), Operands::kScalarY);
  if (x.shape().IsScalar()) return RunSimple(ctx, call, y.shape(), Operands::kScalarX);
  return RunBroadcast(ctx, call);
}

absl::Status RunBinarySameShape(KernelContext& ctx, const BinaryCall& call) {
  const Shape& x = ctx.input(0).shape();
  const Shape& y = ctx.input(1).shape();
  if (x != y) {
    return absl::InvalidArgumentError(
        absl::StrCat("both inputs must have the same shape, but they have ", x.ToString(), " and ",
                     y.ToString()));
  }
  return RunSimple(ctx, call, x, Operands::kVectors);
}

void AddUnaryOp(OpRegistry& ops, absl::string_view name, std::vector<absl::string_view> api,
                absl::string_view types, absl::string_view doc, KernelFactory kernel,
                Gradient gradient, SimplifyFn simplify) {
  ops.Add({.schema = absl::StrCat(name, "(x: T) -> y: T {T: ", types, "}"),
           .doc = doc,
           .api = std::move(api),
           .traits = {.elementwise = true},
           .shape = shape::SameAsInput,
           .gradient = std::move(gradient),
           .simplify = simplify,
           .failure = fails::Never,
           .kernel = std::move(kernel)});
}

absl::Status BroadcastOfSizes(ShapeContext& c, int64_t (*compute)(int64_t x, int64_t y)) {
  GYRE_RETURN_IF_ERROR(shape::Broadcast(c));
  const auto size = [&c](int i) -> std::optional<int64_t> {
    const Tensor* constant = c.input_constant(i);
    if (constant == nullptr || constant->rank() != 0) return std::nullopt;
    const std::optional<int64_t> value = c.input_int(i);
    return value && *value >= 0 && *value <= std::numeric_limits<int32_t>::max() ? value
                                                                                 : std::nullopt;
  };
  const std::optional<int64_t> x = size(0), y = size(1);
  if (x && y) SetIntScalar(c, 0, compute(*x, *y));
  return absl::OkStatus();
}

void AddBinaryOp(OpRegistry& ops, absl::string_view name, std::vector<absl::string_view> api,
                 absl::string_view types, absl::string_view doc, KernelFactory kernel,
                 Gradient gradient, BinaryRules rules) {
  ops.Add({.schema = absl::StrCat(name, "(x: T, y: T) -> z: T {T: ", types, "}"),
           .doc = doc,
           .api = std::move(api),
           .traits = {.elementwise = true, .commutative = rules.commutative, .role = rules.role},
           .shape = rules.shape == nullptr ? shape::Broadcast : rules.shape,
           .gradient = std::move(gradient),
           .simplify = rules.simplify,
           .failure = rules.failure,
           .kernel = std::move(kernel)});
}

}  // namespace gyre
