// Fill, ZerosLike, OnesLike: tensors of one value.
#include <utility>

#include "ir/batch_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/array/rule_dims.h"
#include "ops/dispatch.h"
#include "ops/object_code.h"
#include "ops/registry.h"
#include "ops/scalar_code.h"
#include "ops/variant_ops.h"

namespace gyre {
namespace {

absl::Status ComputeFill(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const Dims dims, IntegerList(ctx.input(0), "dims"));
  const Tensor& value = ctx.input(1);
  if (value.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("value must be a scalar, but has shape ", value.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), shape));
  GYRE_RETURN_IF_ERROR(FillWith(ctx, value, out));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status FillRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireScalar(1));
  if (!ctx.input(0).has_rank() || ctx.input(0).rank() == 0) return absl::OkStatus();
  GYRE_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(0));
  ctx.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// Zeros, whether they are asked for or not: what a tensor holds depends on nothing else.
absl::Status ComputeEmpty(KernelContext& ctx) {
  if (ctx.output_dtype(0) == DType::kVariant || ctx.output_dtype(0) == DType::kResource)
    return NoKernelFor(ctx.output_dtype(0));
  if (ctx.input(0).rank() != 1)
    return absl::InvalidArgumentError(
        absl::StrCat("shape must be a vector, but its shape is ", ctx.input(0).shape().ToString()));
  GYRE_ASSIGN_OR_RETURN(const Dims dims, IntegerList(ctx.input(0), "shape"));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(ctx.output_dtype(0), shape));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status EmptyRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(0));
  ctx.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// A variant knows its own zero.
absl::Status VariantZeros(KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(x.dtype(), x.shape()));
  const auto from = x.values<RefPtr<Object>>();
  const auto to = out.mutable_values<RefPtr<Object>>();
  for (size_t i = 0; i < from.size(); ++i) {
    const auto* addable = dynamic_cast<const AddableObject*>(from[i].get());
    if (addable == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there is no zero of ", from[i] ? from[i]->type_name() : "an empty variant"));
    }
    GYRE_ASSIGN_OR_RETURN(to[i], addable->ZerosLike(ctx));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ComputeZerosLike(KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  if (x.dtype() == DType::kVariant) return VariantZeros(ctx);
  if (x.dtype() == DType::kResource) return NoKernelFor(x.dtype());
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(x.dtype(), x.shape()));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

using OnesTypes = Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                        uint16_t, uint32_t, uint64_t, complex64, complex128, bool>;

absl::Status ComputeOnesLike(KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  Tensor one;
  GYRE_RETURN_IF_ERROR(VisitType<OnesTypes>(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    one = Tensor::Scalar<T>(T(1));
    return absl::OkStatus();
  }));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(x.dtype(), x.shape()));
  GYRE_RETURN_IF_ERROR(FillWith(ctx, one, out));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// One element of OnesLike or ZerosLike, for code that is generated.
template <typename T, int kValue>
struct Filled {
  static bool Scalar(const void* const*, void* output) noexcept {
    *static_cast<T*>(output) = T(kValue);
    return true;
  }
};

template <int kValue>
KernelFactory WithFilled(KernelFactory kernel) {
  return [kernel = std::move(kernel)](const Node& node) -> absl::StatusOr<Kernel> {
    GYRE_ASSIGN_OR_RETURN(Kernel made, kernel(node));
    VisitType<CellTypes>(NodeAttr<DType>(node, "T"), [&](auto tag) {
      made.scalar = &kScalarCode<Filled<typename decltype(tag)::type, kValue>>;
      return absl::OkStatus();
    }).IgnoreError();  // others have none
    return made;
  };
}

absl::Status FillBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(0));
  return c.EmitAs("BroadcastTo", {c.stacked_for_output(1, c.input(0)), c.with_rows(c.input(0))});
}

Failure ZerosLikeFailure(const Node& node) {
  const DType dtype = node.signature.inputs[0].dtype;
  return IsTrivial(dtype) || dtype == DType::kString ? Failure::kNever : Failure::kByValues;
}

}  // namespace

void RegisterFill(OpRegistry& ops) {
  ops.Add({
      .schema = "Empty(shape: int32) -> output: dtype {dtype: type; init: bool = false}",
      .doc = "A tensor of this shape whose elements may be anything: zeros.",
      .shape = EmptyRule,
      .gradient = NotDifferentiable("a shape cannot be differentiated"),
      .kernel = Compute<ComputeEmpty>(),
  });
  ops.Add({
      .schema = "Fill(dims: index_type, value: T) -> output: T {T: type; "
                "index_type: {int32, int64} = int32}",
      .doc = "A tensor of the given shape whose elements are all one value.",
      .traits = {.moves_elements = true},
      .shape = FillRule,
      .gradient = {[](GradientContext& g) { g.Add(1, SumAll(g.grad())); }},
      .batch = {FillBatch},
      .kernel = Compute<ComputeFill>(),
  });
  ops.Add({
      .schema = "ZerosLike(x: T) -> y: T {T: type}",
      .doc = "Zeros (empty strings, zeroed lists) in the shape of a tensor.",
      .traits = {.elementwise = true},
      .shape = shape::SameAsInput,
      .gradient = NotDifferentiable("the result is constant"),
      .failure = ZerosLikeFailure,
      .kernel = WithFilled<0>(Compute<ComputeZerosLike>()),
  });
  ops.Add({
      .schema = "OnesLike(x: T) -> y: T {T: {bfloat16, half, float, double, int8, uint8, int16, "
                "uint16, int32, uint32, int64, uint64, complex64, complex128, bool}}",
      .doc = "Ones in the shape of a tensor.",
      .traits = {.elementwise = true},
      .shape = shape::SameAsInput,
      .gradient = NotDifferentiable("the result is constant"),
      .failure = fails::Never,
      .kernel = WithFilled<1>(Compute<ComputeOnesLike>()),
  });
}

}  // namespace gyre
