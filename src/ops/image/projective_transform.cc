// ImageProjectiveTransform: images seen through projections of their plane.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/rule_dims.h"
#include "ops/dispatch.h"
#include "ops/image/image_shape.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using image::ImageDims;

constexpr int64_t kGrain = 1 << 14;  // elements

enum class Fill { kReflect, kWrap, kConstant, kNearest };

struct TransformAttrs {
  static absl::StatusOr<TransformAttrs> Make(const Node& node) {
    TransformAttrs attrs;
    const std::string& kind = NodeAttr<std::string>(node, "interpolation");
    const std::string& fill = NodeAttr<std::string>(node, "fill_mode");
    if (kind != "NEAREST" && kind != "BILINEAR") {
      return absl::InvalidArgumentError(
          absl::StrCat("interpolation must be 'NEAREST' or 'BILINEAR', got '", kind, "'"));
    }
    attrs.bilinear = kind == "BILINEAR";
    if (fill == "REFLECT") {
      attrs.fill = Fill::kReflect;
    } else if (fill == "WRAP") {
      attrs.fill = Fill::kWrap;
    } else if (fill == "CONSTANT") {
      attrs.fill = Fill::kConstant;
    } else if (fill == "NEAREST") {
      attrs.fill = Fill::kNearest;
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "fill_mode must be 'REFLECT', 'WRAP', 'CONSTANT' or 'NEAREST', got '", fill, "'"));
    }
    return attrs;
  }
  bool bilinear = false;
  Fill fill = Fill::kConstant;
};

// Where a coordinate outside of [0, size - 1] is taken from; NaN stays what it is.
float Inside(Fill fill, float at, int64_t size) {
  const auto last = static_cast<float>(size - 1), count = static_cast<float>(size);
  const auto clamp = [&](float x) { return std::min(std::max(x, 0.0f), last); };
  switch (fill) {
    case Fill::kConstant:
      return at;
    case Fill::kNearest:
      return std::isnan(at) ? at : clamp(at);
    case Fill::kReflect: {  // [dcba|abcd|dcba]
      if (std::isnan(at) || (at >= 0 && at <= last)) return at;
      if (size <= 1) return 0;
      const float twice = 2 * count;
      if (at < 0) {
        at = twice * std::trunc(-at / twice) + at;
        at = at < -count ? at + twice : -at - 1;
      } else {
        at -= twice * std::trunc(at / twice);
        if (at >= count) at = twice - at - 1;
      }
      return clamp(at);
    }
    case Fill::kWrap: {  // [abcd|abcd|abcd]
      if (std::isnan(at) || (at >= 0 && at <= last)) return at;
      if (size <= 1) return 0;
      if (at < 0) {
        at += count * (std::trunc(-at / last) + 1);
      } else {
        at -= count * std::trunc(at / last);
      }
      return clamp(at);
    }
  }
  return at;
}

// What a pixel is computed in.
template <typename T>
struct Sampler {
  const T* image;  // one of the batch
  ImageDims dims;
  T fill;

  // `y` and `x` may be any numbers.
  T Read(float y, float x, int64_t c) const {
    if (!(y >= 0 && y < static_cast<float>(dims.height) && x >= 0 &&
          x < static_cast<float>(dims.width)))
      return fill;
    return image[static_cast<int64_t>(y) * dims.row() + static_cast<int64_t>(x) * dims.channels +
                 c];
  }
  T Nearest(float y, float x, int64_t c) const { return Read(std::round(y), std::round(x), c); }
  T Bilinear(float y, float x, int64_t c) const {
    const float top = std::floor(y), left = std::floor(x);
    const float bottom = top + 1, right = left + 1;
    const auto read = [&](float row, float column) {
      return static_cast<float>(Read(row, column, c));
    };
    const float above = (right - x) * read(top, left) + (x - left) * read(top, right);
    const float below = (right - x) * read(bottom, left) + (x - left) * read(bottom, right);
    const float value = (bottom - y) * above + (y - top) * below;
    if constexpr (std::is_integral_v<T>) {
      // Between values of the type, or NaN where the place is none.
      return std::isnan(value) ? fill
                               : static_cast<T>(std::min(std::max(value, Lowest()), Highest()));
    } else {
      return static_cast<T>(value);
    }
  }

 private:
  static float Lowest() { return static_cast<float>(std::numeric_limits<T>::lowest()); }
  // The largest float that the type can hold.
  static float Highest() {
    const auto most = static_cast<float>(std::numeric_limits<T>::max());
    return sizeof(T) < 3 ? most : std::nextafter(most, 0.0f);
  }
};

template <typename T>
T FillOf(float value) {
  if constexpr (std::is_integral_v<T>) {
    constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::lowest());
    constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
    if (std::isnan(value)) return 0;
    if (value <= kLow) return std::numeric_limits<T>::lowest();
    if (value >= kHigh) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(value);
}

template <typename T>
struct TransformKernel {
  static absl::Status Run(KernelContext& ctx, const TransformAttrs& attrs) {
    const Tensor& images = ctx.input(0);
    const Tensor& transforms = ctx.input(1);
    GYRE_ASSIGN_OR_RETURN(const ImageDims dims, image::DimsOf(images, "images"));
    if (transforms.rank() != 2 || transforms.dim(1) != 8 ||
        (transforms.dim(0) != 1 && transforms.dim(0) != dims.batch)) {
      return absl::InvalidArgumentError(absl::StrCat("transforms must be [1 or ", dims.batch,
                                                     ", 8], but the shape is ",
                                                     transforms.shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(const auto size, image::SizeInput(ctx, 2, "output_shape"));
    T fill = T(0);
    if (ctx.num_inputs() > 3) {
      if (ctx.input(3).rank() != 0)
        return absl::InvalidArgumentError("fill_value must be a scalar");
      fill = FillOf<T>(ctx.input(3).scalar<float>());
    }
    GYRE_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::Make({dims.batch, size[0], size[1], dims.channels}));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(images.dtype(), shape));
    if (shape.num_elements() > 0) {
      const T* from = images.values<T>().data();
      T* to = out.mutable_values<T>().data();
      const float* all = transforms.values<float>().data();
      const int64_t step = transforms.dim(0) == 1 ? 0 : 8;
      GYRE_RETURN_IF_ERROR(ctx.ParallelRun(
          dims.batch * size[0] * size[1], std::max<int64_t>(1, kGrain / dims.channels),
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t x = i % size[1], row = i / size[1];
              const int64_t y = row % size[0], batch = row / size[0];
              MakePixel(attrs, {from + batch * dims.plane(), dims, fill}, all + batch * step, y, x,
                        to + i * dims.channels);
            }
          }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

  static void MakePixel(const TransformAttrs& attrs, const Sampler<T>& sampler,
                        const float* transform, int64_t row, int64_t column, T* out) {
    const ImageDims& dims = sampler.dims;
    const auto at_y = static_cast<float>(row), at_x = static_cast<float>(column);
    const float projection = transform[6] * at_x + transform[7] * at_y + 1.0f;
    if (projection == 0 || dims.height == 0 || dims.width == 0) {  // nowhere
      std::fill_n(out, dims.channels, sampler.fill);
      return;
    }
    const float x =
        Inside(attrs.fill, (transform[0] * at_x + transform[1] * at_y + transform[2]) / projection,
               dims.width);
    const float y =
        Inside(attrs.fill, (transform[3] * at_x + transform[4] * at_y + transform[5]) / projection,
               dims.height);
    for (int64_t c = 0; c < dims.channels; ++c)
      out[c] = attrs.bilinear ? sampler.Bilinear(y, x, c) : sampler.Nearest(y, x, c);
  }
};

absl::Status TransformShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, 0, 4, "images"));
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, 1, 2, "transforms"));
  if (c.num_inputs() > 3) GYRE_RETURN_IF_ERROR(c.RequireScalar(3));
  int64_t height = -1, width = -1;
  if (const auto size = c.input_ints(2)) {
    if (size->size() != 2 || (*size)[0] < 1 || (*size)[1] < 1)
      return absl::InvalidArgumentError("output_shape must be two positive numbers");
    height = (*size)[0];
    width = (*size)[1];
  }
  c.set_output(0, PartialShape(Dims{image::DimOr(c, 0, 0), height, width, image::DimOr(c, 0, 3)}));
  return absl::OkStatus();
}

// The adjoint is taken to be the inverse projection, as in TensorFlow: it is that where pixels are
// only moved.
void TransformGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  // The inverse of [a b c; d e f; g h 1], but for a factor, is its matrix of cofactors, turned.
  const std::vector<Expr> m =
      g.builder().Ops("Unpack", {g.input(1)}, {{"num", int64_t{8}}, {"axis", int64_t{1}}}, 8);
  const std::vector<Expr> turned = {m[4] - m[5] * m[7],        m[2] * m[7] - m[1],
                                    m[1] * m[5] - m[2] * m[4], m[5] * m[6] - m[3],
                                    m[0] - m[2] * m[6],        m[2] * m[3] - m[0] * m[5],
                                    m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7]};
  const Expr last = m[0] * m[4] - m[1] * m[3];
  const Expr back =
      g.op("Pack", turned, {{"axis", int64_t{1}}}) / g.op("ExpandDims", {last, g.builder().Int(1)});
  const Expr size = RuleDims::OfInput(g, 0).Part(1, 3);
  const AttrMap attrs = {{"interpolation", g.attr<std::string>("interpolation", "NEAREST")},
                         {"fill_mode", g.attr<std::string>("fill_mode", "CONSTANT")}};
  std::vector<Expr> inputs = {g.grad(), back, size};
  if (g.num_inputs() > 3) {
    inputs.push_back(g.builder().Scalar(DType::kFloat, 0));
    g.Add(0, g.op("ImageProjectiveTransformV3", inputs, attrs));
  } else {
    g.Add(0, g.op("ImageProjectiveTransformV2", inputs, attrs));
  }
}

using TransformTypes = Types<uint8_t, int32_t, int64_t, Half, BFloat16, float, double>;

constexpr absl::string_view kAttrs =
    "-> transformed_images: dtype {dtype: {uint8, int32, int64, half, bfloat16, float, double}; "
    "interpolation: string; fill_mode: string = 'CONSTANT'}";

}  // namespace

void RegisterProjectiveTransform(OpRegistry& ops) {
  const auto add = [&](absl::string_view signature) {
    const std::string schema = absl::StrCat(signature, kAttrs);
    ops.Add({
        .schema = schema,
        .doc = "Images whose pixel (x, y) is that at ((a x + b y + c) / k, (d x + e y + f) / k), "
               "where k = g x + h y + 1, of the input.",
        .shape = TransformShape,
        .gradient = {TransformGradient},
        .kernel = ForTypes<TransformKernel, TransformTypes>("dtype"),
    });
  };
  add("ImageProjectiveTransformV2(images: dtype, transforms: float, output_shape: int32) ");
  add("ImageProjectiveTransformV3(images: dtype, transforms: float, output_shape: int32, "
      "fill_value: float) ");
}

}  // namespace gyre
