// Choosing between two tensors, as a whole, row by row or element by element. Elements of any type
// are moved, not looked at; what a scalar condition chooses is passed on without a copy.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ir/simplify_context.h"
#include "ops/dispatch.h"
#include "ops/math/broadcast.h"
#include "ops/math/elementwise.h"
#include "ops/mover.h"

namespace gyre {
namespace {

constexpr int kThen = 1;
constexpr int kElse = 2;

const uint8_t* Condition(const KernelContext& ctx) {
  return static_cast<const uint8_t*>(ctx.input(0).raw_data());
}

template <typename T>
absl::Status SelectElements(KernelContext& ctx, const BroadcastPlan& plan, Tensor result) {
  const uint8_t* condition = Condition(ctx);
  const T* t = static_cast<const T*>(ctx.input(kThen).raw_data());
  const T* e = static_cast<const T*>(ctx.input(kElse).raw_data());
  T* to = static_cast<T*>(result.mutable_raw_data());
  const BroadcastPlan::Offsets strides = plan.dims.back().strides;
  Mover<T> mover(ctx, result);
  GYRE_RETURN_IF_ERROR(ForPieces(ctx, plan.shape.num_elements(), [&](int64_t begin, int64_t end) {
    ForEachStretch(plan, begin, end,
                   [&](const BroadcastPlan::Offsets& from, int64_t position, int64_t n) {
                     for (int64_t i = 0; i < n; ++i) {
                       mover.Set(to[position + i], condition[from[0] + i * strides[0]] != 0
                                                       ? t[from[1] + i * strides[1]]
                                                       : e[from[2] + i * strides[2]]);
                     }
                   });
  }));
  GYRE_RETURN_IF_ERROR(mover.status());
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

// Element by element, `condition_shape` being how the condition's elements are to be read.
absl::Status SelectBroadcast(KernelContext& ctx, const Shape& condition_shape) {
  GYRE_ASSIGN_OR_RETURN(
      const BroadcastPlan plan,
      PlanBroadcast({&condition_shape, &ctx.input(kThen).shape(), &ctx.input(kElse).shape()}));
  const DType dtype = ctx.input(kThen).dtype();
  GYRE_ASSIGN_OR_RETURN(Tensor result, ctx.Allocate(dtype, plan.shape));
  if (plan.shape.num_elements() == 0) {
    ctx.set_output(0, std::move(result));
    return absl::OkStatus();
  }
  return VisitElement(dtype, [&](auto tag) {
    return SelectElements<typename decltype(tag)::type>(ctx, plan, std::move(result));
  });
}

// What is chosen among scalars of this size, and in rows. Select does not broadcast; SelectV2 does.
template <typename T, bool kBroadcast>
struct SelectScalar {
  static constexpr bool kBroadcasts = kBroadcast;
  static bool Scalar(const void* const* inputs, void* output) noexcept {
    const int chosen = *static_cast<const uint8_t*>(inputs[0]) != 0 ? kThen : kElse;
    *static_cast<T*>(output) = *static_cast<const T*>(inputs[chosen]);
    return true;
  }
  static bool Rows(const void*, const void* const* inputs, size_t, uint32_t repeated, void* output,
                   int64_t n) {
    const auto* const condition = static_cast<const uint8_t*>(inputs[0]);
    const T* const t = static_cast<const T*>(inputs[kThen]);
    const T* const e = static_cast<const T*>(inputs[kElse]);
    T* const to = static_cast<T*>(output);
    const auto step = [&](int operand) { return (repeated >> operand & 1) != 0 ? 0 : 1; };
    const int64_t by_condition = step(0), by_t = step(kThen), by_e = step(kElse);
    for (int64_t i = 0; i < n; ++i)
      to[i] = condition[i * by_condition] != 0 ? t[i * by_t] : e[i * by_e];
    return true;
  }
};

absl::Status SelectV2(KernelContext& ctx) {
  const Tensor& condition = ctx.input(0);
  if (condition.shape().IsScalar() && ctx.input(kThen).shape() == ctx.input(kElse).shape()) {
    ctx.set_output(0, ctx.TakeInput(*Condition(ctx) != 0 ? kThen : kElse));
    return absl::OkStatus();
  }
  return SelectBroadcast(ctx, condition.shape());
}

absl::Status Select(KernelContext& ctx) {
  const Shape& condition = ctx.input(0).shape();
  const Shape& t = ctx.input(kThen).shape();
  const Shape& e = ctx.input(kElse).shape();
  if (t != e) {
    return absl::InvalidArgumentError(
        absl::StrCat("'then' and 'else' must have the same shape, but they have ", t.ToString(),
                     " and ", e.ToString()));
  }
  if (condition.IsScalar() || condition == t) return SelectV2(ctx);
  if (condition.rank() != 1 || t.rank() == 0 || t.dim(0) != condition.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'condition' must be a scalar, have the shape of 'then', or be a vector with "
                     "one element for each "
                     "row of 'then'; but its shape is ",
                     condition.ToString(), ", and that of 'then' is ", t.ToString()));
  }
  Dims column(t.rank(), 1);
  column[0] = condition.dim(0);
  return SelectBroadcast(ctx, Shape::Trusted(std::move(column)));
}

template <absl::Status (*Fn)(KernelContext&)>
absl::StatusOr<Kernel> MakeSelect(const Node& node) {
  GYRE_ASSIGN_OR_RETURN(Kernel kernel, Compute<Fn>()(node));
  VisitElement(NodeAttr<DType>(node, "T"), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_trivially_copyable_v<T>) {
      using K = SelectScalar<T, Fn == &SelectV2>;
      kernel.scalar = &kScalarCode<K>;
      kernel.rows = &kRowCode<K>;
    }
    return absl::OkStatus();
  }).IgnoreError();
  return kernel;
}

void CopyHandle(ShapeContext& c) {
  if (c.input_handle(kThen)) c.set_output_handle(0, *c.input_handle(kThen));
}

absl::Status SelectV2Shape(ShapeContext& c) {
  CopyHandle(c);
  return shape::Broadcast(c);
}

absl::Status SelectShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, c.input(kThen).Intersect(c.input(kElse)));
  const PartialShape& condition = c.input(0);
  if (condition.has_rank() && condition.rank() > 1) {
    GYRE_ASSIGN_OR_RETURN(shape, shape.Intersect(condition));
  } else if (condition.has_rank() && condition.rank() == 1 && shape.has_rank()) {
    const bool fits = shape.rank() > 0 && (condition.dim(0) < 0 || shape.dim(0) < 0 ||
                                           condition.dim(0) == shape.dim(0));
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'condition', of shape ", condition.ToString(),
          ", must have one element for each row of 'then', of shape ", shape.ToString()));
    }
    if (shape.dim(0) < 0) shape.set_dim(0, condition.dim(0));
  }
  CopyHandle(c);
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

void SelectGradient(GradientContext& g) {
  const Expr zeros = ZerosLike(g.grad());
  if (g.wants(kThen)) g.Add(kThen, g.op("Select", {g.input(0), g.grad(), zeros}));
  if (g.wants(kElse)) g.Add(kElse, g.op("Select", {g.input(0), zeros, g.grad()}));
}

void SelectV2Gradient(GradientContext& g) {
  const DType dtype = g.output_dtype(0);
  const bool is_number = IsFloating(dtype) || IsComplex(dtype);
  const Expr zero = is_number ? g.builder().Zero(dtype) : ZerosLike(g.grad());
  if (g.wants(kThen)) g.AddBroadcast(kThen, Where(g.input(0), g.grad(), zero));
  if (g.wants(kElse)) g.AddBroadcast(kElse, Where(g.input(0), zero, g.grad()));
}

// The condition of Select: for all elements, for each row of them, or for each element.
absl::Status SelectBatch(BatchContext& c) {
  GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(1));
  GYRE_ASSIGN_OR_RETURN(const int condition_rank, c.NeedRank(0));
  Expr condition = c.stacked(0);
  for (int i = condition_rank; i < rank; ++i)
    condition = c.op("ExpandDims", {condition, c.builder().Int(-1)});
  return c.EmitAs("SelectV2", {condition, c.stacked(1), c.stacked(2)});
}

void SelectSimplify(SimplifyContext& s) {
  const Tensor* condition = s.constant(0);
  if (condition == nullptr || !condition->shape().IsScalar()) return;
  const int taken = condition->scalar<bool>() ? 1 : 2;
  if (s.IsFree(s.input(3 - taken)) && s.HaveSameShape(s.input(1), s.input(2)))
    s.Replace(0, s.input(taken));
}

}  // namespace

void RegisterSelect(OpRegistry& ops) {
  ops.Add({.schema = "Select(condition: bool, t: T, e: T) -> output: T {T: type}",
           .doc = "Elements of t where the condition holds and of e elsewhere; the condition is a "
                  "scalar, has the shape "
                  "of t, or holds one value for each row of t.",
           .shape = SelectShape,
           .gradient = {SelectGradient},
           .batch = {SelectBatch},
           .simplify = SelectSimplify,
           .kernel = MakeSelect<&Select>});
  ops.Add({.schema = "SelectV2(condition: bool, t: T, e: T) -> output: T {T: type}",
           .doc = "Elements of t where the condition holds and of e elsewhere, all three broadcast "
                  "together.",
           .traits = {.elementwise = true},
           .shape = SelectV2Shape,
           .gradient = {SelectV2Gradient},
           .simplify = SelectSimplify,
           .failure = fails::ByShapes,
           .kernel = MakeSelect<&SelectV2>});
}

}  // namespace gyre
