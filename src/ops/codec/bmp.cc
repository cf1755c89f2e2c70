// BMP without compression: 8, 24 or 32 bits for a pixel, rows from below or above.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ops/codec/codec.h"

namespace gyre::codec {
namespace {

template <typename T>
T ReadAt(absl::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

}  // namespace

absl::StatusOr<Tensor> DecodeBmp(const KernelContext& ctx, absl::string_view bytes,
                                 int64_t channels) {
  if (bytes.size() < 32) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Incomplete bmp content, requires at least 32 bytes, got ", bytes.size(), " bytes"));
  }
  const int64_t data = ReadAt<int32_t>(bytes, 10), width = ReadAt<int32_t>(bytes, 18);
  const int64_t rows = ReadAt<int32_t>(bytes, 22), bits = ReadAt<int16_t>(bytes, 28);
  const int64_t stored = bits / 8;
  if (stored != 1 && stored != 3 && stored != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("Number of channels inherent in the image must be 1, 3 or 4, was ", stored));
  }
  const int64_t kept = channels == 0 ? stored : channels;
  if (data < 0 || width <= 0 || rows == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("invalid BMP: ", width, " by ", rows, " pixels at byte ", data));
  }
  const int64_t height = rows < 0 ? -rows : rows;
  constexpr int64_t kMostSide = int64_t{1} << 27;  // so that no product overflows
  if (width >= kMostSide || height >= kMostSide) {
    return absl::InvalidArgumentError(
        absl::StrCat("a BMP of ", width, " by ", height, " pixels cannot be decoded"));
  }
  const int64_t row_bytes = (stored * width + 3) / 4 * 4;
  if (data > static_cast<int64_t>(bytes.size()) ||
      row_bytes * (height - 1) + stored * width > static_cast<int64_t>(bytes.size()) - data) {
    return absl::InvalidArgumentError(absl::StrCat("Incomplete bmp content: ", width, " by ",
                                                   height, " pixels do not fit ", bytes.size(),
                                                   " bytes"));
  }
  if (kept < stored && kept == 1)
    return absl::InvalidArgumentError("channels must be 0, 3 or 4 for BMP");
  GYRE_ASSIGN_OR_RETURN(Tensor image, AllocateImage(ctx, DType::kUint8, height, width, kept));
  const auto* from = reinterpret_cast<const uint8_t*>(bytes.data()) + data;
  uint8_t* to = image.mutable_values<uint8_t>().data();
  for (int64_t y = 0; y < height; ++y) {
    if (y % 16 == 15) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const uint8_t* pixel = from + (rows < 0 ? y : height - 1 - y) * row_bytes;
    for (int64_t x = 0; x < width; ++x, pixel += stored, to += kept) {
      if (kept == 1) {
        to[0] = pixel[0];
        continue;
      }
      // Blue, green, red.
      to[0] = pixel[stored >= 3 ? 2 : 0];
      to[1] = pixel[stored >= 3 ? 1 : 0];
      to[2] = pixel[0];
      if (kept == 4) to[3] = stored == 4 ? pixel[3] : 255;
    }
  }
  return image;
}

}  // namespace gyre::codec
