// Fourier transforms of real numbers, of which one half of the spectrum tells the other, and their
// inverses.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/registry.h"
#include "ops/signal/spectrum.h"
#include "ops/signal/spectrum_shape.h"

namespace gyre {
namespace {

int64_t HalfOf(int64_t n) { return n == 0 ? 0 : n / 2 + 1; }

// Rows along one axis of a tensor: element i of a row lies i * step behind its first one.
struct AxisRows {
  int64_t count;
  int64_t step;
  int64_t length;

  AxisRows(const Shape& shape, int axis) : step(1), length(shape.dim(axis)) {
    for (int i = axis + 1; i < shape.rank(); ++i) step *= shape.dim(i);
    count = length == 0 ? 0 : shape.num_elements() / length;
  }
  int64_t Start(int64_t row) const { return row / step * step * length + row % step; }
};

// Each axis of the input must be at least as long as it is made.
absl::Status CheckLengths(const Shape& input, const SpectrumAxes& axes, int64_t last) {
  for (size_t i = 0; i < axes.axes.size(); ++i) {
    const int64_t wanted = i + 1 == axes.axes.size() ? last : axes.lengths[i];
    const int64_t got = input.dim(axes.axes[i]);
    if (got < wanted) {
      return absl::InvalidArgumentError(absl::StrCat("Input dimension ", axes.axes[i],
                                                     " must have length of at least ", wanted,
                                                     " but got: ", got));
    }
  }
  return absl::OkStatus();
}

template <typename R>
absl::Status RealToHalf(KernelContext& ctx, const SpectrumAxes& axes) {
  using C = std::complex<R>;
  const Tensor input = ctx.input(0);
  const int axis = axes.axes.back();
  const int64_t n = axes.lengths.back();
  GYRE_ASSIGN_OR_RETURN(const Shape real_shape, axes.Resized(input.shape(), n));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, axes.Resized(input.shape(), HalfOf(n)));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<C>, shape));
  if (out.num_elements() > 0) {
    Tensor real = input;
    if (input.shape() != real_shape) {
      GYRE_ASSIGN_OR_RETURN(real, ctx.Allocate(DTypeOf<R>, real_shape));
      GYRE_RETURN_IF_ERROR(CopyCorner<R>(ctx, input.values<R>().data(), input.shape(),
                                         real.mutable_values<R>().data(), real_shape));
    }
    const AxisRows from(real_shape, axis), to(shape, axis);
    const R* x = real.values<R>().data();
    C* y = out.mutable_values<C>().data();
    GYRE_RETURN_IF_ERROR(TransformRows<R>(
        ctx, to.count, n,
        [&](int64_t row, FftParts<R> parts) {
          const R* own = x + from.Start(row);
          for (int64_t i = 0; i < n; ++i) parts.re[i] = own[i * from.step];
          std::fill_n(parts.im, n, R(0));
        },
        [&](int64_t row, FftParts<R> parts) {
          C* own = y + to.Start(row);
          for (int64_t i = 0; i < to.length; ++i) own[i * to.step] = {parts.re[i], parts.im[i]};
        }));
    for (size_t i = 0; i + 1 < axes.axes.size(); ++i) {
      GYRE_RETURN_IF_ERROR(TransformAxis<R>(ctx, y, shape, axes.axes[i], /*inverse=*/false));
    }
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <typename R>
absl::Status HalfToReal(KernelContext& ctx, const SpectrumAxes& axes) {
  using C = std::complex<R>;
  const Tensor input = ctx.input(0);
  const int axis = axes.axes.back();
  const int64_t n = axes.lengths.back();
  GYRE_ASSIGN_OR_RETURN(const Shape half_shape, axes.Resized(input.shape(), HalfOf(n)));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, axes.Resized(input.shape(), n));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<R>, shape));
  if (out.num_elements() > 0) {
    GYRE_ASSIGN_OR_RETURN(Tensor half, ctx.Allocate(DTypeOf<C>, half_shape));
    C* x = half.mutable_values<C>().data();
    GYRE_RETURN_IF_ERROR(
        CopyCorner<C>(ctx, input.values<C>().data(), input.shape(), x, half_shape));
    for (size_t i = 0; i + 1 < axes.axes.size(); ++i) {
      GYRE_RETURN_IF_ERROR(TransformAxis<R>(ctx, x, half_shape, axes.axes[i], /*inverse=*/true));
    }
    const AxisRows from(half_shape, axis), to(shape, axis);
    R* y = out.mutable_values<R>().data();
    const R scale = static_cast<R>(1.0 / static_cast<double>(n));
    GYRE_RETURN_IF_ERROR(TransformRows<R>(
        ctx, to.count, n,
        [&](int64_t row, FftParts<R> parts) {
          // The inverse transform is that of swapped parts. The other half is the conjugate.
          const C* own = x + from.Start(row);
          for (int64_t i = 0; i < from.length; ++i) {
            const C value = own[i * from.step];
            const int64_t mirrored = i == 0 ? 0 : n - i;
            parts.im[mirrored] = value.real();
            parts.re[mirrored] = -value.imag();
            parts.im[i] = value.real();
            parts.re[i] = value.imag();
          }
        },
        [&](int64_t row, FftParts<R> parts) {
          R* own = y + to.Start(row);
          for (int64_t i = 0; i < n; ++i) own[i * to.step] = parts.im[i] * scale;
        }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <typename R, int kAxes>
absl::Status Forward(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const SpectrumAxes axes, LastAxes(ctx, kAxes));
  GYRE_RETURN_IF_ERROR(CheckLengths(ctx.input(0).shape(), axes, axes.lengths.back()));
  return RealToHalf<R>(ctx, axes);
}
template <typename R, int kAxes>
absl::Status Backward(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const SpectrumAxes axes, LastAxes(ctx, kAxes));
  GYRE_RETURN_IF_ERROR(CheckLengths(ctx.input(0).shape(), axes, HalfOf(axes.lengths.back())));
  return HalfToReal<R>(ctx, axes);
}
template <typename R>
absl::Status ForwardMany(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const SpectrumAxes axes, AxesInputs(ctx));
  return RealToHalf<R>(ctx, axes);
}
template <typename R>
absl::Status BackwardMany(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const SpectrumAxes axes, AxesInputs(ctx));
  return HalfToReal<R>(ctx, axes);
}

template <auto kSingle, auto kDouble>
absl::StatusOr<Kernel> KernelFor(const Node& node) {
  const DType real = NodeAttr<DType>(node, "Treal");
  const DType complex = NodeAttr<DType>(node, "Tcomplex");
  if (real == DType::kFloat && complex == DType::kComplex64) return Compute<kSingle>()(node);
  if (real == DType::kDouble && complex == DType::kComplex128) return Compute<kDouble>()(node);
  return absl::UnimplementedError(absl::StrCat("op ", node.op_name,
                                               " has no kernel for Treal = ", DTypeName(real),
                                               " with Tcomplex = ", DTypeName(complex)));
}

// `x` with zeros at the end of axes until it has the dimensions of input 0.
Expr PaddedToInput(GradientContext& g, Expr x) {
  const Expr missing = g.input_dims(0) - ShapeOf(x);
  return g.op("Pad", {x, g.op("Pack", {ZerosLike(missing), missing}, {{"axis", int64_t{1}}})});
}

// The real part of the adjoint transform, which is the inverse one times its size, of the spectrum
// whose other half is zero.
template <int kAxes>
void ForwardGradient(GradientContext& g) {
  static constexpr absl::string_view kInverse[] = {"IFFT", "IFFT2D", "IFFT3D"};
  ExprBuilder& b = g.builder();
  const Expr lengths = g.input(1);
  const Expr n = g.op("StridedSlice", {lengths, b.Ints({-1}), b.Ints({0}), b.Ints({1})},
                      {{"shrink_axis_mask", int64_t{1}}});
  const Expr dims = ShapeOf(g.grad());
  const Expr half = g.op("StridedSlice", {dims, b.Ints({-1}), b.Ints({0}), b.Ints({1})},
                         {{"shrink_axis_mask", int64_t{1}}});
  const Expr rest =
      g.op("ConcatV2", {g.op("StridedSlice", {dims, b.Ints({0}), b.Ints({-1}), b.Ints({1})}),
                        Reshape(n - half, b.Ints({1})), b.Int(0)});
  const Expr zeros = Fill(rest, b.Zero(g.output_dtype(0)));
  const Expr whole = g.op("ConcatV2", {g.grad(), zeros, b.Int(-1)});
  const Expr turned = RealPart(g.op(kInverse[kAxes - 1], {whole}));
  const Expr size = Cast(g.op("Prod", {lengths, b.Int(0)}), g.input_dtype(0));
  g.Add(0, PaddedToInput(g, turned * size));
}

// Of the inner numbers of the half spectrum the conjugates count, too.
template <int kAxes>
void BackwardGradient(GradientContext& g) {
  static constexpr absl::string_view kForward[] = {"RFFT", "RFFT2D", "RFFT3D"};
  ExprBuilder& b = g.builder();
  const DType complex = g.input_dtype(0), real = g.output_dtype(0);
  const Expr lengths = g.input(1);
  const Expr turned =
      g.op(kForward[kAxes - 1], {g.grad(), lengths}, {{"Treal", real}, {"Tcomplex", complex}});
  const Expr n = g.op("StridedSlice", {lengths, b.Ints({-1}), b.Ints({0}), b.Ints({1})},
                      {{"shrink_axis_mask", int64_t{1}}});
  const Expr half = g.op("StridedSlice", {ShapeOf(turned), b.Ints({-1}), b.Ints({0}), b.Ints({1})},
                         {{"shrink_axis_mask", int64_t{1}}});
  const Expr places = g.op("Range", {b.Int(0), half, b.Int(1)});
  const Expr at_ends =
      g.op("LogicalOr", {g.op("Equal", {places, b.Int(0)}), g.op("Equal", {places + places, n})});
  const Expr weights = 2.0 - Cast(at_ends, real);
  const Expr size = Cast(g.op("Prod", {lengths, b.Int(0)}), real);
  g.Add(0, PaddedToInput(g, turned * Cast(weights / size, complex)));
}

constexpr absl::string_view kTypes =
    "{Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64}";

template <int kAxes>
void AddPair(OpRegistry& ops, absl::string_view forward, absl::string_view backward) {
  ops.Add({
      .schema =
          absl::StrCat(forward, "(input: Treal, fft_length: int32) -> output: Tcomplex ", kTypes),
      .doc = "The Fourier transform of real numbers along the last axes, cut to fft_length: of the "
             "last axis the first half.",
      .shape = [](ShapeContext& c) { return LastShape(c, kAxes, SpectrumEnd::kHalf); },
      .gradient = {ForwardGradient<kAxes>},
      .batch = {batch::FirstStacked},
      .kernel = KernelFor<&Forward<float, kAxes>, &Forward<double, kAxes>>,
  });
  ops.Add({
      .schema =
          absl::StrCat(backward, "(input: Tcomplex, fft_length: int32) -> output: Treal ", kTypes),
      .doc = "The real numbers whose Fourier transform along the last axes, of lengths fft_length, "
             "this is; of the last axis the first half is read.",
      .shape = [](ShapeContext& c) { return LastShape(c, kAxes, SpectrumEnd::kWhole); },
      .gradient = {BackwardGradient<kAxes>},
      .batch = {batch::FirstStacked},
      .kernel = KernelFor<&Backward<float, kAxes>, &Backward<double, kAxes>>,
  });
}

}  // namespace

void RegisterRfft(OpRegistry& ops) {
  AddPair<1>(ops, "RFFT", "IRFFT");
  AddPair<2>(ops, "RFFT2D", "IRFFT2D");
  AddPair<3>(ops, "RFFT3D", "IRFFT3D");
  ops.Add({
      .schema = absl::StrCat(
          "RFFTND(input: Treal, fft_length: int32, axes: int32) -> output: Tcomplex ", kTypes),
      .doc = "The Fourier transform of real numbers along axes, each cut or padded to a length: of "
             "the last one the first half.",
      .shape = ManyShape<SpectrumEnd::kHalf>,
      .gradient = RefusesGradient("RFFT, RFFT2D and RFFT3D have one"),
      .kernel = KernelFor<&ForwardMany<float>, &ForwardMany<double>>,
  });
  ops.Add({
      .schema = absl::StrCat(
          "IRFFTND(input: Tcomplex, fft_length: int32, axes: int32) -> output: Treal ", kTypes),
      .doc = "The real numbers whose Fourier transform along axes this is; of the last one the "
             "first half is read.",
      .shape = ManyShape<SpectrumEnd::kWhole>,
      .gradient = RefusesGradient("IRFFT, IRFFT2D and IRFFT3D have one"),
      .kernel = KernelFor<&BackwardMany<float>, &BackwardMany<double>>,
  });
}

}  // namespace gyre
