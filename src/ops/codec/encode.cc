// EncodeJpeg, EncodePng: pixels as image files. ExtractJpegShape: the size of one.
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/codec/codec.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using codec::JpegQuality;

absl::Status CheckQuality(int64_t quality) {
  if (quality >= 0 && quality <= 100) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("quality must be in [0,100], got ", quality));
}

struct JpegAttrs {
  static absl::StatusOr<JpegAttrs> Make(const Node& node) {
    JpegAttrs attrs;
    attrs.format = node.attrs.GetOr<std::string>("format", "");
    JpegQuality& how = attrs.how;
    how.quality = node.attrs.GetOr<int64_t>("quality", 95);
    how.progressive = node.attrs.GetOr<bool>("progressive", false);
    how.optimize_size = node.attrs.GetOr<bool>("optimize_size", false);
    how.chroma_downsampling = node.attrs.GetOr<bool>("chroma_downsampling", true);
    how.per_inch = node.attrs.GetOr<std::string>("density_unit", "in") == "in";
    how.x_density = node.attrs.GetOr<int64_t>("x_density", 300);
    how.y_density = node.attrs.GetOr<int64_t>("y_density", 300);
    how.xmp_metadata = node.attrs.GetOr<std::string>("xmp_metadata", "");
    GYRE_RETURN_IF_ERROR(CheckQuality(how.quality));
    constexpr int64_t kMost = std::numeric_limits<uint16_t>::max();
    if (how.x_density < 0 || how.x_density > kMost || how.y_density < 0 || how.y_density > kMost) {
      return absl::InvalidArgumentError(absl::StrCat("x_density and y_density must be in [0, ",
                                                     kMost, "], got ", how.x_density, " and ",
                                                     how.y_density));
    }
    return attrs;
  }
  std::string format;
  JpegQuality how;
};

absl::Status SetText(KernelContext& ctx, const Shape& shape, std::vector<std::string> texts) {
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, shape));
  int64_t bytes = 0;
  for (const std::string& text : texts) bytes += HeapBytes(text.size());
  GYRE_RETURN_IF_ERROR(ChargeTextOf(ctx, out, bytes));
  std::move(texts.begin(), texts.end(), out.mutable_values<std::string>().begin());
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status EncodeJpegFile(KernelContext& ctx, const JpegAttrs& attrs) {
  const Tensor& image = ctx.input(0);
  if (image.rank() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("image must be 3-dimensional [height, width, channels], but the shape is ",
                     image.shape().ToString()));
  }
  JpegQuality how = attrs.how;
  if (ctx.num_inputs() > 1) {
    GYRE_ASSIGN_OR_RETURN(how.quality, IntegerScalar(ctx.input(1), "quality"));
    GYRE_RETURN_IF_ERROR(CheckQuality(how.quality));
  }
  const int64_t channels = image.dim(2);
  const bool fits = attrs.format == "grayscale" ? channels == 1
                    : attrs.format == "rgb"     ? channels == 3
                                                : channels == 1 || channels == 3;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("format '", attrs.format, "' expects ",
                                                   attrs.format == "grayscale" ? "1 channel"
                                                   : attrs.format == "rgb"     ? "3 channels"
                                                                               : "1 or 3 channels",
                                                   ", got ", channels));
  }
  GYRE_ASSIGN_OR_RETURN(std::string text,
                        codec::EncodeJpeg(ctx, image.values<uint8_t>().data(), image.dim(0),
                                          image.dim(1), channels, how));
  return SetText(ctx, Shape(), {std::move(text)});
}

struct PngAttrs {
  static absl::StatusOr<PngAttrs> Make(const Node& node) {
    const PngAttrs attrs{NodeAttr<int64_t>(node, "compression")};
    if (attrs.compression < -1 || attrs.compression > 9) {
      return absl::InvalidArgumentError(
          absl::StrCat("compression should be in [-1,9], got ", attrs.compression));
    }
    return attrs;
  }
  int64_t compression;
};

// All images of a batch.
absl::Status EncodePngFile(KernelContext& ctx, const PngAttrs& attrs) {
  const Tensor& image = ctx.input(0);
  const int rank = image.rank();
  if (rank < 3 || image.num_elements() == 0 || image.dim(rank - 1) < 1 || image.dim(rank - 1) > 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        "image must be [..., height, width, channels] with 1 to 4 channels and at least one pixel, "
        "but the shape is ",
        image.shape().ToString()));
  }
  const int64_t height = image.dim(rank - 3), width = image.dim(rank - 2);
  const int64_t channels = image.dim(rank - 1);
  const bool wide = image.dtype() == DType::kUint16;
  const int64_t bytes = height * width * channels * (wide ? 2 : 1);
  const Dims batch(image.shape().dims().begin(), image.shape().dims().end() - 3);
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(batch));
  std::vector<std::string> texts(shape.num_elements());
  const auto* from = static_cast<const uint8_t*>(image.raw_data());
  for (size_t i = 0; i < texts.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(
        texts[i], codec::EncodePng(ctx, from + static_cast<int64_t>(i) * bytes, wide, height, width,
                                   channels, attrs.compression));
  }
  return SetText(ctx, shape, std::move(texts));
}

absl::Status ExtractShape(KernelContext& ctx) {
  const Tensor& contents = ctx.input(0);
  if (contents.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("contents must be a scalar, but the shape is ", contents.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const auto shape, codec::JpegShape(ctx, contents.scalar<std::string>()));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), Shape::Vector(3)));
  for (int i = 0; i < 3; ++i) {
    if (out.dtype() == DType::kInt64) {
      out.mutable_values<int64_t>()[i] = shape[i];
    } else {
      out.mutable_values<int32_t>()[i] = static_cast<int32_t>(shape[i]);
    }
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status EncodeShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 3));
  if (c.num_inputs() > 1) GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  c.set_output(0, PartialShape::Scalar());
  return absl::OkStatus();
}

absl::Status EncodePngShape(ShapeContext& c) {
  const PartialShape& image = c.input(0);
  if (!image.has_rank()) {
    c.set_output(0, PartialShape::Unknown());
    return absl::OkStatus();
  }
  if (image.rank() < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("image must be at least 3-D, but the shape is ", image.ToString()));
  }
  c.set_output(0, PartialShape(Dims(image.dims().begin(), image.dims().end() - 3)));
  return absl::OkStatus();
}

absl::Status ThreeNumbers(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  c.set_output(0, Shape::Vector(3));
  return absl::OkStatus();
}

constexpr absl::string_view kNoGradient = "its result is text";

}  // namespace

void RegisterEncode(OpRegistry& ops) {
  ops.Add({
      .schema = "EncodeJpeg(image: uint8) -> contents: string {format: {'', 'grayscale', 'rgb'} = "
                "''; quality: int = 95; progressive: bool = false; optimize_size: bool = false; "
                "chroma_downsampling: bool = true; density_unit: {'in', 'cm'} = 'in'; x_density: "
                "int = 300; y_density: int = 300; xmp_metadata: string = ''}",
      .doc = "Pixels, [height, width, 1 or 3], as a JPEG file.",
      .shape = EncodeShape,
      .gradient = NotDifferentiable(kNoGradient),
      .kernel = Compute<&EncodeJpegFile>(),
  });
  ops.Add({
      .schema = "EncodeJpegVariableQuality(images: uint8, quality: int32) -> contents: string {}",
      .doc = "Pixels, [height, width, 1 or 3], as a JPEG file of some quality in [0, 100].",
      .shape = EncodeShape,
      .gradient = NotDifferentiable(kNoGradient),
      .kernel = Compute<&EncodeJpegFile>(),
  });
  ops.Add({
      .schema = "EncodePng(image: T) -> contents: string {compression: int = -1; T: {uint8, "
                "uint16} = uint8}",
      .doc = "Pixels, [..., height, width, 1 to 4], as PNG files.",
      .shape = EncodePngShape,
      .gradient = NotDifferentiable(kNoGradient),
      .kernel = Compute<&EncodePngFile>(),
  });
  ops.Add({
      .schema = "ExtractJpegShape(contents: string) -> image_shape: output_type {output_type: "
                "{int32, int64} = int32}",
      .doc = "Height, width and channels of a JPEG file.",
      .shape = ThreeNumbers,
      .gradient = NotDifferentiable("its result is integers"),
      .kernel = Compute<&ExtractShape>(),
  });
}

}  // namespace gyre
