// Shape, ShapeN, Size, Rank: a tensor's form as a value.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ops/array/integers.h"
#include "ops/object_code.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// The integers `values` in an output of type int32 or int64.
absl::Status WriteIntegers(absl::Span<const int64_t> values, Tensor& out, absl::string_view what) {
  if (out.dtype() == DType::kInt64) {
    std::copy(values.begin(), values.end(), out.mutable_values<int64_t>().begin());
    return absl::OkStatus();
  }
  int32_t* to = out.mutable_values<int32_t>().data();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " output type is 32-bit but ", values[i], " does not fit"));
    }
    to[i] = static_cast<int32_t>(values[i]);
  }
  return absl::OkStatus();
}

absl::Status ComputeShape(KernelContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const Shape& shape = ctx.input(i).shape();
    GYRE_ASSIGN_OR_RETURN(Tensor out,
                          ctx.Allocate(ctx.output_dtype(i), Shape::Vector(shape.rank())));
    GYRE_RETURN_IF_ERROR(WriteIntegers(shape.dims(), out, "Shape"));
    ctx.set_output(i, std::move(out));
  }
  return absl::OkStatus();
}

absl::Status ComputeSize(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), Shape()));
  GYRE_RETURN_IF_ERROR(WriteIntegers({ctx.input(0).num_elements()}, out, "Size"));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// For generated code.
template <typename T>
struct SizeCode {
  static constexpr absl::string_view kInputs = "t", kOutputs = "x";
  static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
    const int64_t size = static_cast<const Tensor*>(operands[0])->num_elements();
    if (size > std::numeric_limits<T>::max()) return false;
    *static_cast<T*>(operands[1]) = static_cast<T>(size);
    return true;
  }
};
absl::StatusOr<Kernel> BindSize(const Node& node) {
  return NodeAttr<DType>(node, "out_type") == DType::kInt64
             ? WithObjectCode<SizeCode<int64_t>>(Compute<ComputeSize>())(node)
             : WithObjectCode<SizeCode<int32_t>>(Compute<ComputeSize>())(node);
}

absl::Status ComputeRank(KernelContext& ctx) {
  ctx.set_output(0, Tensor::Scalar<int32_t>(ctx.input(0).rank()));
  return absl::OkStatus();
}

absl::Status ShapeRule(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    const PartialShape& in = ctx.input(i);
    ctx.set_output(i, PartialShape(Dims{in.has_rank() ? in.rank() : -1}));
    if (in.has_rank()) SetDims(ctx, i, in);
  }
  return absl::OkStatus();
}

absl::Status SizeRule(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape::Scalar());
  if (const auto shape = ctx.input(0).ToShape()) SetIntScalar(ctx, 0, shape->num_elements());
  return absl::OkStatus();
}

absl::Status RankRule(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape::Scalar());
  if (ctx.input(0).has_rank()) SetIntScalar(ctx, 0, ctx.input(0).rank());
  return absl::OkStatus();
}

absl::Status ShapeBatch(BatchContext& c) {
  const DType dtype = c.attr<DType>("out_type", DType::kInt32);
  for (int i = 0; i < c.num_inputs(); ++i) c.Set(i, Cast(c.row_dims(i), dtype), Rows::kSame);
  return absl::OkStatus();
}

absl::Status RankBatch(BatchContext& c) {
  const bool is_known = c.row_shape(0).has_rank();
  c.Set(0, is_known ? c.builder().Int(c.row_shape(0).rank()) : c.op("Size", {c.row_dims(0)}),
        Rows::kSame);
  return absl::OkStatus();
}

absl::Status SizeBatch(BatchContext& c) {
  const DType dtype = c.attr<DType>("out_type", DType::kInt32);
  const Expr dims = Cast(c.row_dims(0), dtype);
  c.Set(0, c.op("Prod", {dims, c.builder().Ints({0})}), Rows::kSame);
  return absl::OkStatus();
}

// Sizes may not fit int32.
Failure FailureOfSizes(const Node& node) {
  return node.attrs.GetOr<DType>("out_type", DType::kInt32) == DType::kInt64 ? Failure::kNever
                                                                             : Failure::kByValues;
}

}  // namespace

void RegisterShape(OpRegistry& ops) {
  ops.Add({
      .schema = "Shape(input: T) -> output: out_type {T: type; out_type: {int32, int64} = int32}",
      .doc = "The dimensions of a tensor, as a vector.",
      .traits = {.computes_shapes = true},
      .shape = ShapeRule,
      .gradient = NotDifferentiable("a shape does not depend on the elements"),
      .batch = {ShapeBatch},
      .failure = FailureOfSizes,
      .kernel = Compute<ComputeShape>(),
  });
  ops.Add({
      .schema = "ShapeN(input: N * T) -> output: N * out_type {N: int >= 1; T: type; "
                "out_type: {int32, int64} = int32}",
      .doc = "The dimensions of each of several tensors.",
      .traits = {.computes_shapes = true},
      .shape = ShapeRule,
      .gradient = NotDifferentiable("a shape does not depend on the elements"),
      .batch = {ShapeBatch},
      .failure = FailureOfSizes,
      .kernel = Compute<ComputeShape>(),
  });
  ops.Add({
      .schema = "Size(input: T) -> output: out_type {T: type; out_type: {int32, int64} = int32}",
      .doc = "The number of elements of a tensor.",
      .traits = {.computes_shapes = true},
      .shape = SizeRule,
      .gradient = NotDifferentiable("a size does not depend on the elements"),
      .batch = {SizeBatch},
      .failure = FailureOfSizes,
      .kernel = BindSize,
  });
  ops.Add({
      .schema = "Rank(input: T) -> output: int32 {T: type}",
      .doc = "The number of dimensions of a tensor.",
      .traits = {.computes_shapes = true},
      .shape = RankRule,
      .gradient = NotDifferentiable("a rank does not depend on the elements"),
      .batch = {RankBatch},
      .failure = fails::Never,
      .kernel = Compute<ComputeRank>(),
  });
}

}  // namespace gyre
