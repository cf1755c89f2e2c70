// ExtractImagePatches: windows of images, side by side in the last dimension; and its adjoint.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/rule_dims.h"
#include "ops/dispatch.h"
#include "ops/image/image_shape.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using image::ImageDims;

constexpr int64_t kGrain = 1 << 15;  // elements

// Windows along one axis.
struct Windows {
  int64_t size, stride, rate;
  bool same;

  // Of the input's samples, how many does a window span.
  int64_t reach() const { return size + (size - 1) * (rate - 1); }
  int64_t Count(int64_t in) const {
    return std::max<int64_t>(0,
                             same ? (in + stride - 1) / stride : (in - reach() + stride) / stride);
  }
  int64_t PadBefore(int64_t in) const {
    if (!same) return 0;
    return std::max<int64_t>(0, (Count(in) - 1) * stride + reach() - in) / 2;
  }
};

struct PatchAttrs {
  static absl::StatusOr<PatchAttrs> Make(const AttrMap& map) {
    const bool same = map.GetOr<std::string>("padding", "VALID") == "SAME";
    PatchAttrs attrs{{0, 0, 0, same}, {0, 0, 0, same}};
    const auto read = [&](absl::string_view name, int64_t Windows::* field) -> absl::Status {
      const auto* values = map.Get<std::vector<int64_t>>(name);
      if (values == nullptr || values->size() != 4 || (*values)[0] != 1 || (*values)[3] != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " must be four numbers, of which the first and the last are 1"));
      }
      constexpr int64_t kMost = int64_t{1} << 31;
      for (int i = 1; i < 3; ++i) {
        if ((*values)[i] < 1 || (*values)[i] >= kMost) {
          return absl::InvalidArgumentError(
              absl::StrCat(name, "[", i, "] = ", (*values)[i], " is not in [1, 2^31)"));
        }
      }
      attrs.rows.*field = (*values)[1];
      attrs.columns.*field = (*values)[2];
      return absl::OkStatus();
    };
    GYRE_RETURN_IF_ERROR(read("ksizes", &Windows::size));
    GYRE_RETURN_IF_ERROR(read("strides", &Windows::stride));
    GYRE_RETURN_IF_ERROR(read("rates", &Windows::rate));
    return attrs;
  }
  static absl::StatusOr<PatchAttrs> Make(const Node& node) { return Make(node.attrs); }

  // Elements of a patch.
  std::optional<int64_t> Depth(int64_t channels) const {
    const auto window = CheckedMul(rows.size, columns.size);
    return window ? CheckedMul(*window, channels) : std::nullopt;
  }

  Windows rows, columns;
};

absl::Status TooLarge() { return absl::InvalidArgumentError("ksizes are too large"); }

// Calls use(place in the patches' pixel, y, x) for all pixels of one window that are within the
// image; others, by outside(place).
template <typename Use, typename Outside>
void ForWindow(const PatchAttrs& attrs, const ImageDims& dims, int64_t oy, int64_t ox,
               const Use& use, const Outside& outside) {
  const int64_t top = oy * attrs.rows.stride - attrs.rows.PadBefore(dims.height);
  const int64_t left = ox * attrs.columns.stride - attrs.columns.PadBefore(dims.width);
  int64_t place = 0;
  for (int64_t i = 0; i < attrs.rows.size; ++i) {
    const int64_t y = top + i * attrs.rows.rate;
    for (int64_t j = 0; j < attrs.columns.size; ++j, place += dims.channels) {
      const int64_t x = left + j * attrs.columns.rate;
      if (y >= 0 && y < dims.height && x >= 0 && x < dims.width) {
        use(place, y, x);
      } else {
        outside(place);
      }
    }
  }
}

absl::Status ExtractPatches(KernelContext& ctx, const PatchAttrs& attrs) {
  const Tensor& images = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const ImageDims dims, image::DimsOf(images, "images"));
  const int64_t height = attrs.rows.Count(dims.height), width = attrs.columns.Count(dims.width);
  const std::optional<int64_t> depth = attrs.Depth(dims.channels);
  if (!depth) return TooLarge();
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({dims.batch, height, width, *depth}));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(images.dtype(), shape));
  if (shape.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(VisitElement(images.dtype(), [&](auto tag) -> absl::Status {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_trivially_copyable_v<T>) {
        const T* from = static_cast<const T*>(images.raw_data());
        T* to = static_cast<T*>(out.mutable_raw_data());
        return ctx.ParallelRun(
            dims.batch * height * width, std::max<int64_t>(1, kGrain / *depth),
            [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i) {
                T* const patch = to + i * *depth;
                const int64_t row = i / width, batch = row / height;
                ForWindow(
                    attrs, dims, row % height, i % width,
                    [&](int64_t place, int64_t y, int64_t x) {
                      std::copy_n(from + batch * dims.plane() + y * dims.row() + x * dims.channels,
                                  dims.channels, patch + place);
                    },
                    [&](int64_t place) { std::fill_n(patch + place, dims.channels, T{}); });
              }
            });
      } else {
        return NoKernelFor(images.dtype());
      }
    }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status PatchShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, 0, 4, "images"));
  GYRE_ASSIGN_OR_RETURN(const PatchAttrs attrs, PatchAttrs::Make(c.node()));
  const int64_t height = image::DimOr(c, 0, 1), width = image::DimOr(c, 0, 2);
  const int64_t channels = image::DimOr(c, 0, 3);
  const std::optional<int64_t> depth = attrs.Depth(std::max<int64_t>(channels, 0));
  if (!depth) return TooLarge();
  c.set_output(0, PartialShape(Dims{
                      image::DimOr(c, 0, 0), height < 0 ? -1 : attrs.rows.Count(height),
                      width < 0 ? -1 : attrs.columns.Count(width), channels < 0 ? -1 : *depth}));
  return absl::OkStatus();
}

// Each pixel of the image gets what came of it in all patches: patches of the pixels' numbers say
// which those are. Padding has the number 0.
void PatchGradient(GradientContext& g) {
  const RuleDims in = RuleDims::OfInput(g, 0);
  const RuleDims out = RuleDims::OfOutput(g, 0);
  const Expr one = g.builder().Int(1);
  const Expr pixels = in.Product(1, 3), channels = in.Part(3, 4), batch = in.Part(0, 1);
  const Expr numbers = Cast(g.op("Range", {one, pixels + one, one}), DType::kInt64);
  const Expr unit = g.builder().Ints({1});
  const Expr image = Reshape(numbers, Joined({unit, in.Part(1, 3), unit}));
  AttrMap attrs;
  for (const char* name : {"ksizes", "strides", "rates"})
    attrs.Set(name, g.attr<std::vector<int64_t>>(name, {}));
  attrs.Set("padding", g.attr<std::string>("padding", "VALID"));
  const Expr ids = Reshape(g.op("ExtractImagePatches", {image}, attrs), g.builder().Ints({-1}));
  const auto ksizes = g.attr<std::vector<int64_t>>("ksizes", {1, 1, 1, 1});
  const Expr windows = g.builder().Ints({static_cast<int32_t>(ksizes[1] * ksizes[2])});
  const Expr parts = Reshape(g.grad(), Joined({batch, out.Part(1, 3), windows, channels}));
  const Expr turned = g.op("Transpose", {parts, g.builder().Ints({1, 2, 3, 0, 4})});
  const Expr flat = Reshape(turned, Joined({g.builder().Ints({-1}), batch * channels}));
  const Expr sums = g.op("UnsortedSegmentSum", {flat, ids, pixels + one});
  const Expr kept = g.op("Slice", {sums, g.builder().Ints({1, 0}), g.builder().Ints({-1, -1})});
  const Expr planes = Reshape(kept, Joined({in.Part(1, 3), batch, channels}));
  g.Add(0, g.op("Transpose", {planes, g.builder().Ints({2, 0, 1, 3})}));
}

}  // namespace

void RegisterExtractPatches(OpRegistry& ops) {
  ops.Add({
      .schema = "ExtractImagePatches(images: T) -> patches: T {ksizes: list(int) >= 4; strides: "
                "list(int) >= 4; rates: list(int) >= 4; T: {bfloat16, half, float, double, int8, "
                "int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128, bool}; "
                "padding: {'SAME', 'VALID'}}",
      .doc = "Windows of images, with the pixels of each one behind the other as channels.",
      .shape = PatchShape,
      .gradient = {PatchGradient},
      .kernel = Compute<&ExtractPatches>(),
  });
}

}  // namespace gyre
