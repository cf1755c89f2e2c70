// PNG by libpng, whose errors are long jumps: they are caught around each call.
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ops/codec/codec.h"
#include "ops/codec/library.h"

namespace gyre::codec {
namespace {

constexpr char kLibrary[] = "libpng16.so.16";
constexpr absl::string_view kPackage = "libpng16-16";
constexpr size_t kMostChunk = size_t{8} << 20;  // bytes of what is not the image itself

#define GYRE_PNG_FUNCTIONS(X)   \
  X(png_create_read_struct)     \
  X(png_create_write_struct)    \
  X(png_create_info_struct)     \
  X(png_destroy_read_struct)    \
  X(png_destroy_write_struct)   \
  X(png_get_error_ptr)          \
  X(png_get_io_ptr)             \
  X(png_set_read_fn)            \
  X(png_set_write_fn)           \
  X(png_read_info)              \
  X(png_get_IHDR)               \
  X(png_get_valid)              \
  X(png_set_expand)             \
  X(png_set_expand_16)          \
  X(png_set_strip_16)           \
  X(png_set_strip_alpha)        \
  X(png_set_gray_to_rgb)        \
  X(png_set_rgb_to_gray_fixed)  \
  X(png_set_add_alpha)          \
  X(png_set_swap)               \
  X(png_set_interlace_handling) \
  X(png_read_update_info)       \
  X(png_get_rowbytes)           \
  X(png_read_row)               \
  X(png_set_user_limits)        \
  X(png_set_chunk_malloc_max)   \
  X(png_set_chunk_cache_max)    \
  X(png_set_IHDR)               \
  X(png_write_info)             \
  X(png_write_row)              \
  X(png_write_end)              \
  X(png_set_compression_level)  \
  X(png_error)

struct Png {
#define GYRE_DECLARE(name) decltype(&::name) name = nullptr;
  GYRE_PNG_FUNCTIONS(GYRE_DECLARE)
#undef GYRE_DECLARE
};

absl::StatusOr<Png> OpenPng() {
  GYRE_ASSIGN_OR_RETURN(void* library, OpenLibrary(kLibrary, kPackage));
  Png png;
#define GYRE_FIND(name)                                                   \
  if (!FindFunction(library, #name, reinterpret_cast<void**>(&png.name))) \
    return absl::FailedPreconditionError(absl::StrCat(kLibrary, " has no ", #name));
  GYRE_PNG_FUNCTIONS(GYRE_FIND)
#undef GYRE_FIND
  return png;
}

absl::StatusOr<const Png*> ThePng() {
  static const absl::StatusOr<Png>* const png = new absl::StatusOr<Png>(OpenPng());
  if (!png->ok()) return png->status();
  return &**png;
}

// One use of the library: what its callbacks find again.
struct Session {
  const Png* png = nullptr;
  const KernelContext* ctx = nullptr;
  std::jmp_buf jump;
  char message[128] = {};
  bool has_stopped = false;
  absl::string_view input = {};  // what is left to be read
  std::string* output = nullptr;
};

void OnError(png_structp png, png_const_charp message) {
  // Whoever has a png_structp has opened the library.
  Session& session = *static_cast<Session*>((*ThePng())->png_get_error_ptr(png));
  if (message != nullptr) std::strncpy(session.message, message, sizeof(session.message) - 1);
  std::longjmp(session.jump, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void OnRead(png_structp png, png_bytep to, size_t n) {
  const Png& library = **ThePng();
  Session& session = *static_cast<Session*>(library.png_get_io_ptr(png));
  // Few bytes may stand for many rows.
  if (!session.ctx->Poll().ok()) {
    session.has_stopped = true;
    std::longjmp(session.jump, 1);
  }
  if (n > session.input.size()) library.png_error(png, "it ends too soon");
  std::memcpy(to, session.input.data(), n);
  session.input.remove_prefix(n);
}

void OnWrite(png_structp png, png_bytep from, size_t n) {
  const Png& library = **ThePng();
  Session& session = *static_cast<Session*>(library.png_get_io_ptr(png));
  bool is_full = false;
  try {
    session.output->append(reinterpret_cast<const char*>(from), n);
  } catch (const std::bad_alloc&) {  // may not pass through the library
    is_full = true;
  }
  if (is_full) library.png_error(png, "it does not fit the memory");
}

void OnFlush(png_structp) {}

// Runs `call`, which calls the library and has nothing to clean up; false if it failed.
template <typename Call>
bool Try(Session& session, const Call& call) {
  if (setjmp(session.jump) != 0) return false;
  call();
  return true;
}

absl::Status ErrorOf(const Session& session, absl::string_view what) {
  if (session.has_stopped) GYRE_RETURN_IF_ERROR(session.ctx->Poll());
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", session.message));
}

class Decoder {
 public:
  Decoder(const Png& png, const KernelContext& ctx, absl::string_view bytes) : png_(png) {
    session_.png = &png;
    session_.ctx = &ctx;
    session_.input = bytes;
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() {
    if (read_ != nullptr) png_.png_destroy_read_struct(&read_, &info_, nullptr);
  }

  template <typename Call>
  absl::Status Run(const Call& call) {
    return Try(session_, call) ? absl::OkStatus() : ErrorOf(session_, "Invalid PNG data");
  }

  absl::Status ReadHeader() {
    return Run([&] {
      read_ = png_.png_create_read_struct(PNG_LIBPNG_VER_STRING, &session_, &OnError, &OnWarning);
      if (read_ == nullptr) std::longjmp(session_.jump, 1);
      info_ = png_.png_create_info_struct(read_);
      if (info_ == nullptr) std::longjmp(session_.jump, 1);
      png_.png_set_user_limits(read_, 1 << 27, 1 << 27);
      png_.png_set_chunk_malloc_max(read_, kMostChunk);
      png_.png_set_chunk_cache_max(read_, 100);
      png_.png_set_read_fn(read_, &session_, &OnRead);
      png_.png_read_info(read_, info_);
      png_.png_get_IHDR(read_, info_, &width_, &height_, &bit_depth_, &color_type_, nullptr,
                        nullptr, nullptr);
    });
  }

  // Rows of `channels` (0: as the file has them) of 8 or 16 bits.
  absl::Status SetFormat(int64_t channels, bool wide) {
    return Run([&] {
      const bool has_alpha = (color_type_ & PNG_COLOR_MASK_ALPHA) != 0 ||
                             png_.png_get_valid(read_, info_, PNG_INFO_tRNS) != 0;
      const bool has_color = (color_type_ & PNG_COLOR_MASK_COLOR) != 0;
      channels_ = channels != 0 ? channels : (has_color ? 3 : 1) + (has_alpha ? 1 : 0);
      const bool wants_alpha = channels_ == 2 || channels_ == 4;
      png_.png_set_expand(read_);  // palettes, small grays, transparent colors
      if (wide) {
        if (bit_depth_ < 16) png_.png_set_expand_16(read_);
        png_.png_set_swap(read_);
      } else if (bit_depth_ == 16) {
        png_.png_set_strip_16(read_);
      }
      if (has_alpha && !wants_alpha) png_.png_set_strip_alpha(read_);
      if (!has_alpha && wants_alpha)
        png_.png_set_add_alpha(read_, wide ? 65535 : 255, PNG_FILLER_AFTER);
      if (channels_ >= 3 && !has_color) png_.png_set_gray_to_rgb(read_);
      // As JPEG weighs them: ITU-R BT.601.
      if (channels_ <= 2 && has_color) png_.png_set_rgb_to_gray_fixed(read_, 1, 29900, 58700);
      passes_ = png_.png_set_interlace_handling(read_);
      png_.png_read_update_info(read_, info_);
      row_bytes_ = png_.png_get_rowbytes(read_, info_);
    });
  }

  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  int64_t channels() const { return channels_; }
  int passes() const { return passes_; }
  size_t row_bytes() const { return row_bytes_; }

  absl::Status ReadRow(uint8_t* row) {
    return Run([&] { png_.png_read_row(read_, row, nullptr); });
  }

 private:
  const Png& png_;
  Session session_;
  png_structp read_ = nullptr;
  png_infop info_ = nullptr;
  png_uint_32 width_ = 0, height_ = 0;
  int bit_depth_ = 0, color_type_ = 0, passes_ = 1;
  int64_t channels_ = 0;
  size_t row_bytes_ = 0;
};

class Encoder {
 public:
  Encoder(const Png& png, const KernelContext& ctx, std::string* output) : png_(png) {
    session_.png = &png;
    session_.ctx = &ctx;
    session_.output = output;
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  ~Encoder() {
    if (write_ != nullptr) png_.png_destroy_write_struct(&write_, &info_);
  }

  template <typename Call>
  absl::Status Run(const Call& call) {
    return Try(session_, call) ? absl::OkStatus() : ErrorOf(session_, "PNG cannot be encoded");
  }

  absl::Status Start(int64_t height, int64_t width, int64_t channels, bool wide,
                     int64_t compression) {
    constexpr int kTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                              PNG_COLOR_TYPE_RGB_ALPHA};
    return Run([&] {
      write_ = png_.png_create_write_struct(PNG_LIBPNG_VER_STRING, &session_, &OnError, &OnWarning);
      if (write_ == nullptr) std::longjmp(session_.jump, 1);
      info_ = png_.png_create_info_struct(write_);
      if (info_ == nullptr) std::longjmp(session_.jump, 1);
      png_.png_set_user_limits(write_, 1 << 27, 1 << 27);
      png_.png_set_compression_level(write_, static_cast<int>(compression));
      png_.png_set_write_fn(write_, &session_, &OnWrite, &OnFlush);
      png_.png_set_IHDR(write_, info_, static_cast<png_uint_32>(width),
                        static_cast<png_uint_32>(height), wide ? 16 : 8, kTypes[channels - 1],
                        PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
      png_.png_write_info(write_, info_);
      if (wide) png_.png_set_swap(write_);
    });
  }

  absl::Status WriteRow(const uint8_t* row) {
    return Run([&] { png_.png_write_row(write_, row); });
  }
  absl::Status Finish() {
    return Run([&] { png_.png_write_end(write_, nullptr); });
  }

 private:
  const Png& png_;
  Session session_;
  png_structp write_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

absl::StatusOr<Tensor> DecodePng(const KernelContext& ctx, absl::string_view bytes,
                                 int64_t channels, DType dtype) {
  GYRE_ASSIGN_OR_RETURN(const Png* png, ThePng());
  Decoder decoder(*png, ctx, bytes);
  GYRE_RETURN_IF_ERROR(decoder.ReadHeader());
  const bool wide = dtype == DType::kUint16;
  GYRE_RETURN_IF_ERROR(decoder.SetFormat(channels, wide));
  GYRE_ASSIGN_OR_RETURN(Tensor image, AllocateImage(ctx, dtype, decoder.height(), decoder.width(),
                                                    decoder.channels()));
  const int64_t row = decoder.width() * decoder.channels() * (wide ? 2 : 1);
  if (static_cast<int64_t>(decoder.row_bytes()) != row)
    return BugError(absl::StrCat("rows of a PNG have ", decoder.row_bytes(), " bytes, not ", row));
  // Interlaced images are read into what is there of them.
  if (decoder.passes() > 1) {
    GYRE_ASSIGN_OR_RETURN(image, ctx.AllocateZeros(dtype, image.shape()));
  }
  auto* const to = static_cast<uint8_t*>(image.mutable_raw_data());
  for (int pass = 0; pass < decoder.passes(); ++pass) {
    for (int64_t y = 0; y < decoder.height(); ++y) {
      if (y % 16 == 15) GYRE_RETURN_IF_ERROR(ctx.Poll());
      GYRE_RETURN_IF_ERROR(decoder.ReadRow(to + y * row));
    }
  }
  return image;
}

absl::StatusOr<std::string> EncodePng(const KernelContext& ctx, const void* pixels, bool wide,
                                      int64_t height, int64_t width, int64_t channels,
                                      int64_t compression) {
  constexpr int64_t kMostSide = int64_t{1} << 27;
  if (height < 1 || width < 1 || height >= kMostSide || width >= kMostSide) {
    return absl::InvalidArgumentError(absl::StrCat(
        "PNG has 1 to 2^27 rows and columns, but the image is ", height, " by ", width));
  }
  GYRE_ASSIGN_OR_RETURN(const Png* png, ThePng());
  std::string output;
  Encoder encoder(*png, ctx, &output);
  GYRE_RETURN_IF_ERROR(encoder.Start(height, width, channels, wide, compression));
  const int64_t row = width * channels * (wide ? 2 : 1);
  for (int64_t y = 0; y < height; ++y) {
    if (y % 16 == 15 || row > 4096) GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_RETURN_IF_ERROR(encoder.WriteRow(static_cast<const uint8_t*>(pixels) + y * row));
  }
  GYRE_RETURN_IF_ERROR(encoder.Finish());
  return output;
}

}  // namespace gyre::codec
