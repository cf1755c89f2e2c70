// Bitcast: the same bytes as elements of another type.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// The shape that the bytes of `in` have as elements of another size: a larger element takes up the
// last dimension, a smaller one adds a dimension.
absl::StatusOr<PartialShape> CastShape(const PartialShape& in, DType from, DType to) {
  const auto from_size = static_cast<int64_t>(DTypeSize(from));
  const auto to_size = static_cast<int64_t>(DTypeSize(to));
  if (from_size == 0 || to_size == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Cannot bitcast from ", DTypeName(from), " to ", DTypeName(to)));
  }
  if (!in.has_rank() || from_size == to_size) return in;
  Dims dims(in.dims().begin(), in.dims().end());
  if (from_size > to_size) {
    dims.push_back(from_size / to_size);
    return PartialShape(std::move(dims));
  }
  const int64_t ratio = to_size / from_size;
  if (dims.empty() || (dims.back() >= 0 && dims.back() != ratio)) {
    return absl::InvalidArgumentError(absl::StrCat("Cannot bitcast from ", DTypeName(from), " to ",
                                                   DTypeName(to), ": the last dimension of ",
                                                   in.ToString(), " must be ", ratio));
  }
  dims.pop_back();
  return PartialShape(std::move(dims));
}

absl::Status ComputeBitcast(KernelContext& ctx) {
  const DType from = ctx.input_dtype(0);
  const DType to = ctx.output_dtype(0);
  GYRE_ASSIGN_OR_RETURN(const PartialShape cast, CastShape(ctx.input(0).shape(), from, to));
  if (DTypeSize(from) == DTypeSize(to)) {
    ctx.set_output(0, ctx.TakeInput(0).Bitcast(to));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(cast.dims()));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(to, shape));
  if (shape.num_elements() > 0) {
    std::memcpy(out.mutable_raw_data(), ctx.input(0).raw_data(), out.bytes());
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status BitcastRule(ShapeContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape,
                        CastShape(ctx.input(0), ctx.input_dtype(0), ctx.output_dtype(0)));
  ctx.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace

void RegisterBitcast(OpRegistry& ops) {
  ops.Add({
      .schema = "Bitcast(input: T) -> output: type {T: {bfloat16, half, float, double, int64, "
                "int32, uint8, uint16, int8, int16, complex64, complex128, qint8, quint8, qint16, "
                "quint16, qint32, uint32, uint64}; type: {bfloat16, half, float, double, int64, "
                "int32, uint8, uint16, int8, int16, complex64, complex128, qint8, quint8, qint16, "
                "quint16, qint32, uint32, uint64}}",
      .doc = "The same bytes as elements of another type.",
      .shape = BitcastRule,
      .gradient = NotDifferentiable("bits are not numbers"),
      .batch = {batch::Stacked},
      .kernel = Compute<ComputeBitcast>(),
  });
}

}  // namespace gyre
