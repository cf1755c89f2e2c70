// Images as files: which format bytes have, and decoding and encoding them.
//
// Bytes are not trusted: dimensions are checked and charged to the run before anything is decoded,
// and decoders poll. Free functions; any thread. libjpeg and libpng are opened when first needed;
// FAILED_PRECONDITION names the package that is missing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"
#include "ops/kernel.h"

namespace gyre::codec {

enum class Format { kUnknown, kJpeg, kPng, kGif, kBmp };
Format FormatOf(absl::string_view bytes);

// uint8 of height x width x channels. INVALID_ARGUMENT for dimensions that no image can have.
absl::StatusOr<Tensor> AllocateImage(const KernelContext& ctx, DType dtype, int64_t height,
                                     int64_t width, int64_t channels);

// Bytes that a library holds for a run, while this lives. Movable.
class Charge {
 public:
  // RESOURCE_EXHAUSTED when they do not fit the run's budget.
  static absl::StatusOr<Charge> Make(const KernelContext& ctx, int64_t bytes);
  Charge(Charge&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
  Charge& operator=(Charge&&) = delete;
  ~Charge() {
    if (budget_ != nullptr) budget_->Release(bytes_);
  }

 private:
  Charge(MemoryBudget* budget, int64_t bytes) : budget_(budget), bytes_(bytes) {}
  MemoryBudget* budget_;
  int64_t bytes_;
};

struct JpegOptions {
  int64_t channels = 0;  // 1 or 3; 0: those of the file
  int64_t ratio = 1;     // decodes an image 1, 2, 4 or 8 times as small
  bool fancy_upscaling = true;
  bool recover_truncated = false;
  double acceptable_fraction = 1;  // of the rows, when recovering
  bool fast_dct = true;
  std::optional<std::array<int64_t, 4>> crop = {};  // y, x, height, width
};
absl::StatusOr<Tensor> DecodeJpeg(const KernelContext& ctx, absl::string_view bytes,
                                  const JpegOptions& options);
// Height, width and channels.
absl::StatusOr<std::array<int64_t, 3>> JpegShape(const KernelContext& ctx, absl::string_view bytes);

struct JpegQuality {
  int64_t quality = 95;
  bool progressive = false;
  bool optimize_size = false;
  bool chroma_downsampling = true;
  bool per_inch = true;
  int64_t x_density = 300, y_density = 300;
  std::string xmp_metadata = {};
};
// `pixels`: uint8 of height x width x channels, 1 or 3.
absl::StatusOr<std::string> EncodeJpeg(const KernelContext& ctx, const uint8_t* pixels,
                                       int64_t height, int64_t width, int64_t channels,
                                       const JpegQuality& how);

// `dtype`: uint8 or uint16. `channels`: 1 to 4; 0: those of the file.
absl::StatusOr<Tensor> DecodePng(const KernelContext& ctx, absl::string_view bytes,
                                 int64_t channels, DType dtype);
// `pixels`: uint8 or uint16 (`wide`) of height x width x channels, 1 to 4. `compression`: 0 to 9;
// -1: as the library thinks fit.
absl::StatusOr<std::string> EncodePng(const KernelContext& ctx, const void* pixels, bool wide,
                                      int64_t height, int64_t width, int64_t channels,
                                      int64_t compression);

// `channels`: 3 or 4; 0: those of the file, which may be 1.
absl::StatusOr<Tensor> DecodeBmp(const KernelContext& ctx, absl::string_view bytes,
                                 int64_t channels);

// uint8 of frames x height x width x 3. `first_only`: of the first frame alone.
absl::StatusOr<Tensor> DecodeGif(const KernelContext& ctx, absl::string_view bytes,
                                 bool first_only);

}  // namespace gyre::codec
