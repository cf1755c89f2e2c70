// DecodeCompressed: bytes that zlib has compressed.
#include <zlib.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/codec/library.h"
#include "ops/registry.h"
#include "ops/text/map_texts.h"
#include "ops/text/string_bytes.h"

namespace gyre {
namespace {

constexpr char kLibrary[] = "libz.so.1";
constexpr size_t kChunk = size_t{1} << 18;  // bytes between two looks at budget and time

struct Zlib {
  decltype(&::inflateInit2_) init = nullptr;
  decltype(&::inflate) inflate = nullptr;
  decltype(&::inflateEnd) end = nullptr;
};

absl::StatusOr<Zlib> OpenZlib() {
  GYRE_ASSIGN_OR_RETURN(void* library, codec::OpenLibrary(kLibrary, "zlib1g"));
  Zlib zlib;
  const auto find = [&](const char* name, auto& function) {
    return codec::FindFunction(library, name, reinterpret_cast<void**>(&function));
  };
  if (!find("inflateInit2_", zlib.init) || !find("inflate", zlib.inflate) ||
      !find("inflateEnd", zlib.end)) {
    return absl::FailedPreconditionError(absl::StrCat(kLibrary, " cannot decompress"));
  }
  return zlib;
}

absl::StatusOr<const Zlib*> TheZlib() {
  static const absl::StatusOr<Zlib>* const zlib = new absl::StatusOr<Zlib>(OpenZlib());
  if (!zlib->ok()) return zlib->status();
  return &**zlib;
}

// A stream that is closed at the end.
class Inflater {
 public:
  explicit Inflater(const Zlib& zlib) : zlib_(zlib) {}
  ~Inflater() {
    if (is_open_) zlib_.end(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // `bits`: of the window, and which of zlib's formats.
  absl::Status Run(const KernelContext& ctx, int bits, absl::string_view from, std::string& to) {
    if (zlib_.init(&stream_, bits, ZLIB_VERSION, sizeof(stream_)) != Z_OK)
      return absl::InternalError("zlib cannot begin");
    is_open_ = true;
    while (true) {
      GYRE_RETURN_IF_ERROR(ctx.Poll());
      if (stream_.avail_in == 0 && !from.empty()) {
        const size_t size = std::min(from.size(), kChunk);
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));
        stream_.avail_in = static_cast<uInt>(size);
        from.remove_prefix(size);
      }
      const size_t before = to.size();
      GYRE_RETURN_IF_ERROR(CheckStringBytes(ctx, static_cast<int64_t>(before + kChunk)));
      to.resize(before + kChunk);
      stream_.next_out = reinterpret_cast<Bytef*>(to.data() + before);
      stream_.avail_out = static_cast<uInt>(kChunk);
      const int code = zlib_.inflate(&stream_, Z_NO_FLUSH);
      to.resize(to.size() - stream_.avail_out);
      if (code == Z_STREAM_END) return absl::OkStatus();
      const bool is_stuck = stream_.avail_in == 0 && from.empty() && stream_.avail_out > 0;
      if ((code == Z_OK && !is_stuck) || (code == Z_BUF_ERROR && !from.empty())) continue;
      return absl::InvalidArgumentError(
          code == Z_OK || code == Z_BUF_ERROR
              ? "compressed bytes end too early"
              : absl::StrCat("bytes cannot be decompressed: ",
                             stream_.msg != nullptr ? stream_.msg : "they are malformed"));
    }
  }

 private:
  const Zlib& zlib_;
  z_stream stream_ = {};
  bool is_open_ = false;
};

struct DecompressAttrs {
  static absl::StatusOr<DecompressAttrs> Make(const Node& node) {
    const auto& type = NodeAttr<std::string>(node, "compression_type");
    if (type.empty()) return DecompressAttrs{0};
    if (type == "ZLIB") return DecompressAttrs{MAX_WBITS};
    if (type == "GZIP") return DecompressAttrs{MAX_WBITS + 16};
    return absl::InvalidArgumentError(
        absl::StrCat("compression_type must be '', 'ZLIB' or 'GZIP', but is '", type, "'"));
  }
  int bits;  // 0: bytes are as they are
};

absl::Status Decompress(KernelContext& ctx, const DecompressAttrs& attrs) {
  if (attrs.bits == 0) {
    ctx.set_output(0, ctx.input(0));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const Zlib* const zlib, TheZlib());
  return MapTexts(ctx, [&](const std::string& from, std::string& to) {
    return Inflater(*zlib).Run(ctx, attrs.bits, from, to);
  });
}

}  // namespace

void RegisterDecodeCompressed(OpRegistry& ops) {
  ops.Add({.schema = "DecodeCompressed(bytes: string) -> output: string {compression_type: string "
                     "= ''}",
           .doc = "The bytes that ZLIB or GZIP has compressed.",
           .shape = shape::SameAsInput,
           .gradient = NotDifferentiable("bytes have no derivative"),
           .kernel = Compute<&Decompress>()});
}

}  // namespace gyre
