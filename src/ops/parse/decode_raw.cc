// DecodeRaw, DecodePaddedRaw: numbers whose bytes stand in strings.
#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/kernel.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct RawAttrs {
  explicit RawAttrs(const Node& node)
      : dtype(NodeAttr<DType>(node, "out_type")),
        little_endian(NodeAttr<bool>(node, "little_endian")) {}
  DType dtype;
  bool little_endian;
};

// Turns round the bytes of each number. Complex ones are two numbers.
absl::Status SwapBytes(const KernelContext& ctx, Tensor& out) {
  const bool is_complex = out.dtype() == DType::kComplex64 || out.dtype() == DType::kComplex128;
  const size_t size = DTypeSize(out.dtype()) / (is_complex ? 2 : 1);
  if (size == 1) return absl::OkStatus();
  char* bytes = static_cast<char*>(out.mutable_raw_data());
  const auto n = static_cast<int64_t>(out.bytes() / size);
  return ctx.ParallelRun(n, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::reverse(bytes + static_cast<size_t>(i) * size,
                   bytes + static_cast<size_t>(i + 1) * size);
  });
}

// Strings to rows of `width` bytes: cut off, or filled up with zeros.
absl::Status Decode(KernelContext& ctx, const RawAttrs& attrs, int64_t width) {
  const absl::Span<const std::string> texts = ctx.input(0).values<std::string>();
  Dims dims(ctx.input(0).shape().dims().begin(), ctx.input(0).shape().dims().end());
  dims.push_back(width / static_cast<int64_t>(DTypeSize(attrs.dtype)));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(attrs.dtype, shape));
  char* to = static_cast<char*>(out.mutable_raw_data());
  const auto room = static_cast<size_t>(width);
  const int64_t grain = std::max<int64_t>(1, (1 << 18) / (width + 1));
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun(static_cast<int64_t>(texts.size()), grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const std::string& text = texts[static_cast<size_t>(i)];
          const size_t n = std::min(text.size(), room);
          char* row = to + static_cast<size_t>(i) * room;
          if (n > 0) std::memcpy(row, text.data(), n);
          if (n < room) std::memset(row + n, 0, room - n);
        }
      }));
  if (attrs.little_endian != (std::endian::native == std::endian::little))
    GYRE_RETURN_IF_ERROR(SwapBytes(ctx, out));
  if (attrs.dtype == DType::kBool) {  // any byte but 0 is true
    uint8_t* bytes = static_cast<uint8_t*>(out.mutable_raw_data());
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      if (i % 65536 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      bytes[i] = bytes[i] != 0 ? 1 : 0;
    }
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status DecodeRaw(KernelContext& ctx, const RawAttrs& attrs) {
  const absl::Span<const std::string> texts = ctx.input(0).values<std::string>();
  const size_t width = texts.empty() ? 0 : texts[0].size();
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (texts[i].size() == width) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("DecodeRaw requires input strings to all be the same size, but element ", i,
                     " has size ", texts[i].size(), " and the first ", width));
  }
  if (width % DTypeSize(attrs.dtype) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "strings of ", width, " bytes are no whole number of ", DTypeName(attrs.dtype)));
  }
  return Decode(ctx, attrs, static_cast<int64_t>(width));
}

absl::Status DecodePaddedRaw(KernelContext& ctx, const RawAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const int64_t width, IntegerScalar(ctx.input(1), "fixed_length"));
  if (width <= 0 || width % static_cast<int64_t>(DTypeSize(attrs.dtype)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("fixed_length must be positive and the size of "
                     "whole ",
                     DTypeName(attrs.dtype), ", but is ", width));
  }
  return Decode(ctx, attrs, width);
}

absl::Status RawShape(ShapeContext& c) {
  if (c.num_inputs() > 1) GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  if (!c.input(0).has_rank()) return absl::OkStatus();
  Dims dims(c.input(0).dims().begin(), c.input(0).dims().end());
  dims.push_back(-1);
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

}  // namespace

void RegisterDecodeRaw(OpRegistry& ops) {
  ops.Add({.schema =
               "DecodeRaw(bytes: string) -> output: out_type {out_type: {half, float, double, "
               "int32, uint16, uint8, int16, int8, int64, complex64, complex128, bool, "
               "bfloat16, uint32, uint64}; little_endian: bool = true}",
           .doc = "The numbers whose bytes are strings, along a new last dimension.",
           .shape = RawShape,
           .gradient = NotDifferentiable("bytes have no derivative"),
           .kernel = Compute<&DecodeRaw>()});
  ops.Add({.schema =
               "DecodePaddedRaw(input_bytes: string, fixed_length: int32) -> output: out_type "
               "{out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, "
               "bfloat16}; little_endian: bool = true}",
           .doc = "The same of strings that are cut off, or filled up with zeros, to one length.",
           .shape = RawShape,
           .gradient = NotDifferentiable("bytes have no derivative"),
           .kernel = Compute<&DecodePaddedRaw>()});
}

}  // namespace gyre
