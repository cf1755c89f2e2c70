// JPEG by libjpeg-turbo, whose errors are long jumps: they are caught around each call.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
// clang-format off: each needs those before it.
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "absl/strings/str_cat.h"
#include "ops/codec/codec.h"
#include "ops/codec/library.h"

namespace gyre::codec {
namespace {

constexpr char kLibrary[] = "libjpeg.so.62";
constexpr absl::string_view kPackage = "libjpeg62-turbo";
constexpr int kMostScans = 500;  // of a progressive image: each may take as long as decoding all

#define GYRE_JPEG_FUNCTIONS(X)   \
  X(jpeg_std_error)              \
  X(jpeg_CreateDecompress)       \
  X(jpeg_destroy_decompress)     \
  X(jpeg_mem_src)                \
  X(jpeg_read_header)            \
  X(jpeg_calc_output_dimensions) \
  X(jpeg_has_multiple_scans)     \
  X(jpeg_start_decompress)       \
  X(jpeg_read_scanlines)         \
  X(jpeg_CreateCompress)         \
  X(jpeg_destroy_compress)       \
  X(jpeg_set_defaults)           \
  X(jpeg_set_quality)            \
  X(jpeg_simple_progression)     \
  X(jpeg_start_compress) X(jpeg_write_marker) X(jpeg_write_scanlines) X(jpeg_finish_compress)

struct Jpeg {
#define GYRE_DECLARE(name) decltype(&::name) name = nullptr;
  GYRE_JPEG_FUNCTIONS(GYRE_DECLARE)
#undef GYRE_DECLARE
};

absl::StatusOr<Jpeg> OpenJpeg() {
  GYRE_ASSIGN_OR_RETURN(void* library, OpenLibrary(kLibrary, kPackage));
  Jpeg jpeg;
#define GYRE_FIND(name)                                                    \
  if (!FindFunction(library, #name, reinterpret_cast<void**>(&jpeg.name))) \
    return absl::FailedPreconditionError(absl::StrCat(kLibrary, " has no ", #name));
  GYRE_JPEG_FUNCTIONS(GYRE_FIND)
#undef GYRE_FIND
  return jpeg;
}

absl::StatusOr<const Jpeg*> TheJpeg() {
  static const absl::StatusOr<Jpeg>* const jpeg = new absl::StatusOr<Jpeg>(OpenJpeg());
  if (!jpeg->ok()) return jpeg->status();
  return &**jpeg;
}

// One use of the library: what its callbacks find again. Its first member is what the library
// knows.
struct Session {
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf jump;
  const KernelContext* ctx = nullptr;
  bool is_truncated = false;
  bool has_stopped = false;  // the run must stop
  bool has_too_many_scans = false;
  char message[JMSG_LENGTH_MAX] = {};
};

Session& SessionOf(j_common_ptr info) { return *reinterpret_cast<Session*>(info->err); }

void OnError(j_common_ptr info) {
  Session& session = SessionOf(info);
  (*info->err->format_message)(info, session.message);
  std::longjmp(session.jump, 1);
}

void OnMessage(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) SessionOf(info).is_truncated = true;
}

void OnOutput(j_common_ptr) {}

void OnProgress(j_common_ptr info) {
  Session& session = SessionOf(info);
  if (info->is_decompressor &&
      reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans) {
    session.has_too_many_scans = true;
    std::longjmp(session.jump, 1);
  }
  if (!session.ctx->Poll().ok()) {
    session.has_stopped = true;
    std::longjmp(session.jump, 1);
  }
}

void Begin(const Jpeg& jpeg, const KernelContext& ctx, Session& session) {
  jpeg.jpeg_std_error(&session.errors);
  session.errors.error_exit = &OnError;
  session.errors.emit_message = &OnMessage;
  session.errors.output_message = &OnOutput;
  session.progress.progress_monitor = &OnProgress;
  session.ctx = &ctx;
}

// Runs `call`, which calls the library and has nothing to clean up; false if it failed.
template <typename Call>
bool Try(Session& session, const Call& call) {
  if (setjmp(session.jump) != 0) return false;
  call();
  return true;
}

absl::Status ErrorOf(const Session& session, absl::string_view what) {
  if (session.has_stopped) GYRE_RETURN_IF_ERROR(session.ctx->Poll());
  if (session.has_too_many_scans)
    return absl::InvalidArgumentError(absl::StrCat("JPEG has more than ", kMostScans, " scans"));
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", session.message));
}

class Decoder {
 public:
  Decoder(const Jpeg& jpeg, const KernelContext& ctx) : jpeg_(jpeg) {
    Begin(jpeg, ctx, session_);
    info_.err = &session_.errors;
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() {
    if (made_) jpeg_.jpeg_destroy_decompress(&info_);
  }

  absl::Status ReadHeader(absl::string_view bytes) {
    if (bytes.empty()) return absl::InvalidArgumentError("contents are empty");
    const bool ok = Try(session_, [&] {
      jpeg_.jpeg_CreateDecompress(&info_, JPEG_LIB_VERSION, sizeof(info_));
      made_ = true;
      info_.progress = &session_.progress;
      jpeg_.jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()),
                         bytes.size());
      jpeg_.jpeg_read_header(&info_, TRUE);
    });
    return ok ? absl::OkStatus() : Error();
  }

  jpeg_decompress_struct& info() { return info_; }
  bool is_truncated() const { return session_.is_truncated; }
  absl::Status Error() const { return ErrorOf(session_, "invalid JPEG data"); }

  template <typename Call>
  absl::Status Run(const Call& call) {
    return Try(session_, call) ? absl::OkStatus() : Error();
  }

 private:
  const Jpeg& jpeg_;
  Session session_;
  jpeg_decompress_struct info_ = {};
  bool made_ = false;
};

// A row of four inks as red, green and blue. With Adobe's marker inks are stored inverted.
void InksToColors(const uint8_t* inks, int64_t n, bool inverted, uint8_t* rgb) {
  for (int64_t i = 0; i < n; ++i) {
    const int k = inverted ? inks[4 * i + 3] : 255 - inks[4 * i + 3];
    for (int c = 0; c < 3; ++c) {
      const int ink = inverted ? inks[4 * i + c] : 255 - inks[4 * i + c];
      rgb[3 * i + c] = static_cast<uint8_t>(k * ink / 255);
    }
  }
}

struct Window {
  int64_t y, x, height, width;
};

absl::StatusOr<Window> WindowOf(const JpegOptions& options, int64_t height, int64_t width) {
  if (!options.crop) return Window{0, 0, height, width};
  const auto [y, x, h, w] = *options.crop;
  if (y < 0 || x < 0 || h < 1 || w < 1 || y > height - h || x > width - w) {
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid JPEG data or crop window: crop_window [", y, ",", x, ",", h, ",", w,
                     "] is not within an image of ", height, " by ", width));
  }
  return Window{y, x, h, w};
}

absl::Status ReadRows(const KernelContext& ctx, const Jpeg& jpeg, Decoder& decoder,
                      const Window& window, const JpegOptions& options, int64_t channels,
                      Tensor& image) {
  jpeg_decompress_struct& info = decoder.info();
  const bool inks = info.out_color_space == JCS_CMYK;
  const bool whole = window.x == 0 && window.width == info.output_width && !inks;
  const int64_t row_bytes = int64_t{info.output_width} * (inks ? 4 : channels);
  GYRE_ASSIGN_OR_RETURN(Tensor rows, ctx.Allocate(DType::kUint8, Shape::Vector(2 * row_bytes)));
  uint8_t* const row = rows.mutable_values<uint8_t>().data();
  uint8_t* const to = image.mutable_values<uint8_t>().data();
  const int64_t wide = window.width * channels;
  for (int64_t y = 0; y < window.y + window.height; ++y) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    const bool wanted = y >= window.y;
    uint8_t* const place = to + (y - window.y) * wide;
    JSAMPROW line = wanted && whole ? place : row;
    GYRE_RETURN_IF_ERROR(decoder.Run([&] { jpeg.jpeg_read_scanlines(&info, &line, 1); }));
    const bool is_enough = options.recover_truncated &&
                           (options.acceptable_fraction >= 1 ||
                            static_cast<double>(y) >= options.acceptable_fraction *
                                                          static_cast<double>(info.output_height));
    if (decoder.is_truncated() && !is_enough) {
      return absl::InvalidArgumentError(
          absl::StrCat("Invalid JPEG data: it ends before row ", y, " of ", info.output_height));
    }
    if (!wanted || whole) continue;
    if (inks) {
      InksToColors(row + 4 * window.x, window.width, info.saw_Adobe_marker != FALSE, place);
    } else {
      std::copy_n(row + window.x * channels, wide, place);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Tensor> DecodeJpeg(const KernelContext& ctx, absl::string_view bytes,
                                  const JpegOptions& options) {
  GYRE_ASSIGN_OR_RETURN(const Jpeg* jpeg, TheJpeg());
  Decoder decoder(*jpeg, ctx);
  GYRE_RETURN_IF_ERROR(decoder.ReadHeader(bytes));
  jpeg_decompress_struct& info = decoder.info();
  const int64_t channels =
      options.channels != 0 ? options.channels : (info.num_components == 1 ? 1 : 3);
  const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  if (inks && channels == 1) {
    return absl::UnimplementedError(
        "a JPEG of four inks cannot be decoded to one channel: decode it to 3, and use "
        "image.rgb_to_grayscale");
  }
  info.out_color_space = inks ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  info.do_fancy_upsampling = options.fancy_upscaling ? TRUE : FALSE;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(options.ratio);
  info.dct_method = options.fast_dct ? JDCT_IFAST : JDCT_ISLOW;
  bool scans = false;
  GYRE_RETURN_IF_ERROR(decoder.Run([&] {
    jpeg->jpeg_calc_output_dimensions(&info);
    scans = jpeg->jpeg_has_multiple_scans(&info) != FALSE;
  }));
  const int64_t height = info.output_height, width = info.output_width;
  GYRE_ASSIGN_OR_RETURN(const Window window, WindowOf(options, height, width));
  GYRE_ASSIGN_OR_RETURN(Tensor image,
                        AllocateImage(ctx, DType::kUint8, window.height, window.width, channels));
  // Of an image in several scans, the library holds all coefficients: two bytes each.
  const int64_t area = int64_t{info.image_width} * int64_t{info.image_height};
  GYRE_ASSIGN_OR_RETURN(
      const Charge charge,
      Charge::Make(ctx, (scans ? 2 * info.num_components * area : 0) +
                            64 * int64_t{info.num_components} * int64_t{info.image_width}));
  GYRE_RETURN_IF_ERROR(decoder.Run([&] { jpeg->jpeg_start_decompress(&info); }));
  GYRE_RETURN_IF_ERROR(ReadRows(ctx, *jpeg, decoder, window, options, channels, image));
  return image;
}

absl::StatusOr<std::array<int64_t, 3>> JpegShape(const KernelContext& ctx,
                                                 absl::string_view bytes) {
  GYRE_ASSIGN_OR_RETURN(const Jpeg* jpeg, TheJpeg());
  Decoder decoder(*jpeg, ctx);
  GYRE_RETURN_IF_ERROR(decoder.ReadHeader(bytes));
  const jpeg_decompress_struct& info = decoder.info();
  return std::array<int64_t, 3>{info.image_height, info.image_width, info.num_components};
}

namespace {

// What the library writes. (Its own way of writing to memory frees what it has outgrown, and says
// where the rest is only at the end, which is never where an image is given up.)
struct Written {
  jpeg_destination_mgr manager = {};
  unsigned char* bytes = nullptr;
  size_t room = 0, size = 0;

  Written() {
    manager.init_destination = [](j_compress_ptr info) { Of(info).Grow(info); };
    manager.empty_output_buffer = [](j_compress_ptr info) -> boolean {
      Of(info).Grow(info);
      return TRUE;
    };
    manager.term_destination = [](j_compress_ptr info) {
      Written& self = Of(info);
      self.size = self.room - self.manager.free_in_buffer;
    };
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() { std::free(bytes); }

 private:
  static Written& Of(j_compress_ptr info) { return *reinterpret_cast<Written*>(info->dest); }
  // All of the room is used up.
  void Grow(j_compress_ptr info) {
    constexpr size_t kFirst = 1 << 16;
    const size_t larger = room == 0 ? kFirst : 2 * room;
    auto* const moved = static_cast<unsigned char*>(std::realloc(bytes, larger));
    if (moved == nullptr) {
      info->err->msg_code = JERR_OUT_OF_MEMORY;
      info->err->error_exit(reinterpret_cast<j_common_ptr>(info));
    }
    bytes = moved;
    manager.next_output_byte = bytes + room;
    manager.free_in_buffer = larger - room;
    room = larger;
  }
};

class Encoder {
 public:
  Encoder(const Jpeg& jpeg, const KernelContext& ctx) : jpeg_(jpeg) {
    Begin(jpeg, ctx, session_);
    info_.err = &session_.errors;
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  ~Encoder() {
    if (made_) jpeg_.jpeg_destroy_compress(&info_);
  }

  absl::Status Start(int64_t height, int64_t width, int64_t channels, const JpegQuality& how) {
    return Run([&] {
      jpeg_.jpeg_CreateCompress(&info_, JPEG_LIB_VERSION, sizeof(info_));
      made_ = true;
      info_.progress = &session_.progress;
      info_.dest = &written_.manager;
      info_.image_width = static_cast<JDIMENSION>(width);
      info_.image_height = static_cast<JDIMENSION>(height);
      info_.input_components = static_cast<int>(channels);
      info_.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
      jpeg_.jpeg_set_defaults(&info_);
      if (how.optimize_size) info_.optimize_coding = TRUE;
      info_.density_unit = how.per_inch ? 1 : 2;
      info_.X_density = static_cast<UINT16>(how.x_density);
      info_.Y_density = static_cast<UINT16>(how.y_density);
      jpeg_.jpeg_set_quality(&info_, static_cast<int>(how.quality), TRUE);
      if (how.progressive) jpeg_.jpeg_simple_progression(&info_);
      if (!how.chroma_downsampling) {
        for (int i = 0; i < info_.num_components; ++i)
          info_.comp_info[i].h_samp_factor = info_.comp_info[i].v_samp_factor = 1;
      }
      jpeg_.jpeg_start_compress(&info_, TRUE);
    });
  }

  // As "XMP specification part 3" has it: in a marker behind the name of the format.
  absl::Status WriteXmp(const std::string& metadata) {
    std::string data = "http://ns.adobe.com/xap/1.0/";
    data.push_back('\0');
    data += metadata;
    return Run([&] {
      jpeg_.jpeg_write_marker(&info_, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(data.data()),
                              static_cast<unsigned>(data.size()));
    });
  }

  absl::Status WriteRow(const uint8_t* row) {
    JSAMPROW line = const_cast<uint8_t*>(row);
    return Run([&] { jpeg_.jpeg_write_scanlines(&info_, &line, 1); });
  }

  absl::StatusOr<std::string> Finish() {
    GYRE_RETURN_IF_ERROR(Run([&] { jpeg_.jpeg_finish_compress(&info_); }));
    return std::string(reinterpret_cast<const char*>(written_.bytes), written_.size);
  }

 private:
  template <typename Call>
  absl::Status Run(const Call& call) {
    return Try(session_, call) ? absl::OkStatus() : ErrorOf(session_, "JPEG cannot be encoded");
  }

  const Jpeg& jpeg_;
  Session session_;
  jpeg_compress_struct info_ = {};
  bool made_ = false;
  Written written_;
};

}  // namespace

absl::StatusOr<std::string> EncodeJpeg(const KernelContext& ctx, const uint8_t* pixels,
                                       int64_t height, int64_t width, int64_t channels,
                                       const JpegQuality& how) {
  if (height < 1 || width < 1 || height > JPEG_MAX_DIMENSION || width > JPEG_MAX_DIMENSION) {
    return absl::InvalidArgumentError(absl::StrCat("JPEG has 1 to ", JPEG_MAX_DIMENSION,
                                                   " rows and columns, but the image is ", height,
                                                   " by ", width));
  }
  if (how.xmp_metadata.size() > 65000) {
    return absl::InvalidArgumentError(
        absl::StrCat("xmp_metadata has ", how.xmp_metadata.size(), " bytes, more than 65000"));
  }
  GYRE_ASSIGN_OR_RETURN(const Jpeg* jpeg, TheJpeg());
  // Progressive and optimized coding keep all coefficients.
  const bool keeps = how.progressive || how.optimize_size;
  GYRE_ASSIGN_OR_RETURN(const Charge charge,
                        Charge::Make(ctx, (keeps ? 3 : 1) * height * width * channels));
  Encoder encoder(*jpeg, ctx);
  GYRE_RETURN_IF_ERROR(encoder.Start(height, width, channels, how));
  if (!how.xmp_metadata.empty()) GYRE_RETURN_IF_ERROR(encoder.WriteXmp(how.xmp_metadata));
  for (int64_t y = 0; y < height; ++y) {
    if (y % 16 == 15) GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_RETURN_IF_ERROR(encoder.WriteRow(pixels + y * width * channels));
  }
  return encoder.Finish();
}

}  // namespace gyre::codec
