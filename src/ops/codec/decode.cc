// DecodeJpeg, DecodePng, DecodeGif, DecodeBmp, DecodeImage: the pixels of image files. As in
// TensorFlow, all but DecodeBmp read any of JPEG, PNG and GIF.
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/codec/codec.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using codec::Format;
using codec::JpegOptions;

constexpr int64_t kGrain = 1 << 15;  // elements

enum class Op { kJpeg, kCroppedJpeg, kPng, kGif, kBmp, kImage };

Op OpOf(absl::string_view name) {
  return name == "DecodeJpeg"          ? Op::kJpeg
         : name == "DecodeAndCropJpeg" ? Op::kCroppedJpeg
         : name == "DecodePng"         ? Op::kPng
         : name == "DecodeGif"         ? Op::kGif
         : name == "DecodeBmp"         ? Op::kBmp
                                       : Op::kImage;
}

struct DecodeAttrs {
  static absl::StatusOr<DecodeAttrs> Make(const Node& node) {
    DecodeAttrs attrs;
    attrs.op = OpOf(node.op_name);
    attrs.dtype = node.attrs.GetOr<DType>("dtype", DType::kUint8);
    attrs.expand = node.attrs.GetOr<bool>("expand_animations", true);
    attrs.channels = node.attrs.GetOr<int64_t>("channels", 0);
    if (attrs.channels != 0 && attrs.channels != 1 && attrs.channels != 3 && attrs.channels != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("channels must be 0, 1, 3 or 4, got ", attrs.channels));
    }
    JpegOptions& jpeg = attrs.jpeg;
    jpeg.channels = attrs.channels;
    jpeg.ratio = node.attrs.GetOr<int64_t>("ratio", 1);
    jpeg.fancy_upscaling = node.attrs.GetOr<bool>("fancy_upscaling", true);
    jpeg.recover_truncated = node.attrs.GetOr<bool>("try_recover_truncated", false);
    jpeg.acceptable_fraction = node.attrs.GetOr<float>("acceptable_fraction", 1.0f);
    const std::string dct = node.attrs.GetOr<std::string>("dct_method", "");
    if (jpeg.ratio != 1 && jpeg.ratio != 2 && jpeg.ratio != 4 && jpeg.ratio != 8) {
      return absl::InvalidArgumentError(
          absl::StrCat("ratio must be 1, 2, 4, or 8, got ", jpeg.ratio));
    }
    if (!dct.empty() && dct != "INTEGER_FAST" && dct != "INTEGER_ACCURATE") {
      return absl::InvalidArgumentError(absl::StrCat(
          "dct_method must be '', 'INTEGER_FAST' or 'INTEGER_ACCURATE', got '", dct, "'"));
    }
    jpeg.fast_dct = dct != "INTEGER_ACCURATE";
    return attrs;
  }

  Op op = Op::kImage;
  DType dtype = DType::kUint8;
  bool expand = true;
  int64_t channels = 0;
  JpegOptions jpeg;
};

absl::Status WrongFormat(const KernelContext& ctx, absl::string_view format,
                         absl::string_view use) {
  return absl::InvalidArgumentError(absl::StrCat("Trying to decode ", format, " format using ",
                                                 ctx.node().op_name, " op. Use ", use,
                                                 " instead."));
}

absl::StatusOr<Tensor> DecodeAnyJpeg(const KernelContext& ctx, absl::string_view bytes,
                                     const DecodeAttrs& attrs) {
  if (attrs.op == Op::kBmp) return WrongFormat(ctx, "JPEG", "`decode_jpeg` or `decode_image`");
  if (attrs.channels == 4) return absl::InvalidArgumentError("JPEG does not support 4 channels");
  JpegOptions options = attrs.jpeg;
  if (attrs.op == Op::kCroppedJpeg) {
    const Tensor& window = ctx.input(1);
    if (window.rank() != 1 || window.dim(0) != 4) {
      return absl::InvalidArgumentError(absl::StrCat(
          "crop_window must have four elements, but its shape is ", window.shape().ToString()));
    }
    const auto values = window.values<int32_t>();
    options.crop = {values[0], values[1], values[2], values[3]};
  }
  return codec::DecodeJpeg(ctx, bytes, options);
}

// Into one of uint8, or, where PNG is the format, perhaps uint16.
absl::StatusOr<Tensor> DecodeBytes(const KernelContext& ctx, absl::string_view bytes,
                                   const DecodeAttrs& attrs) {
  switch (codec::FormatOf(bytes)) {
    case Format::kJpeg:
      return DecodeAnyJpeg(ctx, bytes, attrs);
    case Format::kPng:
      if (attrs.op == Op::kBmp) return WrongFormat(ctx, "PNG", "`decode_png` or `decode_image`");
      if (attrs.op == Op::kCroppedJpeg) return WrongFormat(ctx, "PNG", "`decode_png`");
      return codec::DecodePng(ctx, bytes, attrs.op == Op::kGif ? 3 : attrs.channels,
                              attrs.dtype == DType::kUint8 ? DType::kUint8 : DType::kUint16);
    case Format::kGif: {
      if (attrs.op == Op::kBmp) return WrongFormat(ctx, "GIF", "`decode_gif` or `decode_image`");
      if (attrs.op == Op::kCroppedJpeg) return WrongFormat(ctx, "GIF", "`decode_gif`");
      if (attrs.channels != 0 && attrs.channels != 3) {
        return absl::InvalidArgumentError(
            absl::StrCat("channels must be 0 or 3 for GIF, got ", attrs.channels));
      }
      GYRE_ASSIGN_OR_RETURN(Tensor frames, codec::DecodeGif(ctx, bytes, !attrs.expand));
      if ((attrs.op == Op::kJpeg || attrs.op == Op::kPng) && frames.dim(0) != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("Got ", frames.dim(0),
                         " frames, but animated gifs can only be decoded by "
                         "io.decode_gif or io.decode_image"));
      }
      return frames;
    }
    case Format::kBmp:
      if (attrs.op != Op::kBmp && attrs.op != Op::kImage)
        return WrongFormat(ctx, "BMP", "`decode_bmp` or `decode_image`");
      if (attrs.channels == 1) {
        return absl::InvalidArgumentError("`channels` must be 0, 3 or 4 for BMP, but got 1");
      }
      return codec::DecodeBmp(ctx, bytes, attrs.channels);
    case Format::kUnknown:
      break;
  }
  return absl::InvalidArgumentError(
      "Unknown image file format. One of JPEG, PNG, GIF, BMP required.");
}

// The pixels as another type: all of its range, or [0, 1].
template <typename From>
absl::StatusOr<Tensor> Convert(const KernelContext& ctx, const Tensor& image, DType dtype) {
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype, image.shape()));
  const From* from = image.values<From>().data();
  const auto run = [&](auto* to, auto factor) {
    return ctx.ParallelRun(image.num_elements(), kGrain, [=](int64_t begin, int64_t end) {
      using To = std::remove_reference_t<decltype(*to)>;
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<To>(from[i] * factor);
    });
  };
  if (dtype == DType::kUint16) {
    GYRE_RETURN_IF_ERROR(run(out.mutable_values<uint16_t>().data(), 256));
  } else {
    constexpr auto kMost = static_cast<double>(std::numeric_limits<From>::max());
    GYRE_RETURN_IF_ERROR(run(out.mutable_values<float>().data(), static_cast<float>(1.0 / kMost)));
  }
  return out;
}

absl::Status Decode(KernelContext& ctx, const DecodeAttrs& attrs) {
  const Tensor& contents = ctx.input(0);
  if (contents.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("contents must be a scalar, but the shape is ", contents.shape().ToString()));
  }
  const std::string& bytes = contents.scalar<std::string>();
  if (bytes.empty()) return absl::InvalidArgumentError("Input is empty.");
  GYRE_ASSIGN_OR_RETURN(Tensor image, DecodeBytes(ctx, bytes, attrs));
  if (image.dtype() != attrs.dtype) {
    GYRE_ASSIGN_OR_RETURN(image, image.dtype() == DType::kUint8
                                     ? Convert<uint8_t>(ctx, image, attrs.dtype)
                                     : Convert<uint16_t>(ctx, image, attrs.dtype));
  }
  // Frames, or one image.
  const bool wants_frames = attrs.op == Op::kGif;
  const bool wants_image = attrs.op == Op::kJpeg || attrs.op == Op::kPng || !attrs.expand;
  const int rank = image.rank();
  if (rank == 3 && wants_frames) {
    GYRE_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::Make({1, image.dim(0), image.dim(1), image.dim(2)}));
    image = image.Reshaped(shape);
  } else if (rank == 4 && wants_image) {
    GYRE_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::Make({image.dim(1), image.dim(2), image.dim(3)}));
    image = image.Reshaped(shape);
  }
  ctx.set_output(0, std::move(image));
  return absl::OkStatus();
}

absl::Status DecodeShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  if (c.num_inputs() > 1) GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  const Op op = OpOf(c.node().op_name);
  const int64_t channels = c.attrs().GetOr<int64_t>("channels", 0);
  const int64_t known = channels == 0 ? -1 : channels;
  if (op == Op::kGif) {
    c.set_output(0, PartialShape(Dims{-1, -1, -1, 3}));
  } else if (op == Op::kImage && c.attrs().GetOr<bool>("expand_animations", true)) {
    c.set_output(0, PartialShape::Unknown());
  } else {
    c.set_output(0, PartialShape(Dims{-1, -1, known}));
  }
  return absl::OkStatus();
}

void AddDecoder(OpRegistry& ops, absl::string_view schema, absl::string_view doc) {
  ops.Add({
      .schema = schema,
      .doc = doc,
      .shape = DecodeShape,
      .gradient = NotDifferentiable("bytes of files cannot be differentiated"),
      .kernel = Compute<&Decode>(),
  });
}

}  // namespace

void RegisterDecode(OpRegistry& ops) {
  AddDecoder(ops,
             "DecodeJpeg(contents: string) -> image: uint8 {channels: int = 0; ratio: int = 1; "
             "fancy_upscaling: bool = true; try_recover_truncated: bool = false; "
             "acceptable_fraction: float = 1.0; dct_method: string = ''}",
             "The pixels of a JPEG file (or PNG, or GIF of one frame), [height, width, channels].");
  AddDecoder(ops,
             "DecodeAndCropJpeg(contents: string, crop_window: int32) -> image: uint8 {channels: "
             "int = 0; ratio: int = 1; fancy_upscaling: bool = true; try_recover_truncated: bool = "
             "false; acceptable_fraction: float = 1.0; dct_method: string = ''}",
             "A window (y, x, height, width) of the pixels of a JPEG file.");
  AddDecoder(ops,
             "DecodePng(contents: string) -> image: dtype {channels: int = 0; dtype: {uint8, "
             "uint16} = uint8}",
             "The pixels of a PNG file (or JPEG, or GIF of one frame), [height, width, channels].");
  AddDecoder(
      ops, "DecodeGif(contents: string) -> image: uint8 {}",
      "The frames of a GIF file, each drawn over the one before: [frames, height, width, 3].");
  AddDecoder(ops, "DecodeBmp(contents: string) -> image: uint8 {channels: int = 0}",
             "The pixels of a BMP file, [height, width, channels].");
  AddDecoder(ops,
             "DecodeImage(contents: string) -> image: dtype {channels: int = 0; dtype: {uint8, "
             "uint16, float32} = uint8; expand_animations: bool = true}",
             "The pixels of a JPEG, PNG, GIF or BMP file, [height, width, channels]; of a GIF its "
             "frames, unless expand_animations is false.");
}

}  // namespace gyre
