#include "ops/codec/codec.h"

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gyre::codec {

Format FormatOf(absl::string_view bytes) {
  if (absl::StartsWith(bytes, "\xff\xd8\xff")) return Format::kJpeg;
  if (absl::StartsWith(bytes, "\x89PNG\r\n\x1a\n")) return Format::kPng;
  if (absl::StartsWith(bytes, "GIF8")) return Format::kGif;
  if (absl::StartsWith(bytes, "BM")) return Format::kBmp;
  return Format::kUnknown;
}

absl::StatusOr<Tensor> AllocateImage(const KernelContext& ctx, DType dtype, int64_t height,
                                     int64_t width, int64_t channels) {
  constexpr int64_t kMostSide = int64_t{1} << 27, kMostPixels = int64_t{1} << 29;
  if (height < 1 || width < 1 || height >= kMostSide || width >= kMostSide ||
      height * width >= kMostPixels) {
    return absl::InvalidArgumentError(
        absl::StrCat("an image of ", width, " by ", height, " pixels cannot be decoded"));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({height, width, channels}));
  return ctx.Allocate(dtype, shape);
}

absl::StatusOr<Charge> Charge::Make(const KernelContext& ctx, int64_t bytes) {
  MemoryBudget* const budget = ctx.env().budget;
  if (budget != nullptr && !budget->Charge(bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        bytes, " bytes for decoding an image do not fit the limit of ", budget->limit(), " bytes"));
  }
  return Charge(budget, bytes);
}

}  // namespace gyre::codec
