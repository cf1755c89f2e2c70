// Fourier transforms of complex numbers along the last one, two or three axes, or along any.
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

template <typename T, int kAxes, bool kInverse>
absl::Status Transform(KernelContext& ctx) {
  using R = typename T::value_type;
  const Tensor input = ctx.input(0);
  const Shape& shape = input.shape();
  if (shape.rank() < kAxes) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input must have rank of at least ", kAxes, " but got: ", shape.ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
  T* to = out.mutable_values<T>().data();
  GYRE_RETURN_IF_ERROR(CopyCorner<T>(ctx, input.values<T>().data(), shape, to, shape));
  for (int i = 1; i <= kAxes; ++i) {
    GYRE_RETURN_IF_ERROR(TransformAxis<R>(ctx, to, shape, shape.rank() - i, kInverse));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <typename T, bool kInverse>
absl::Status TransformMany(KernelContext& ctx) {
  using R = typename T::value_type;
  GYRE_ASSIGN_OR_RETURN(const SpectrumAxes axes, AxesInputs(ctx));
  const Tensor input = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const Shape shape, axes.Resized(input.shape(), axes.lengths.back()));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
  T* to = out.mutable_values<T>().data();
  GYRE_RETURN_IF_ERROR(CopyCorner<T>(ctx, input.values<T>().data(), input.shape(), to, shape));
  for (const int axis : axes.axes) {
    GYRE_RETURN_IF_ERROR(TransformAxis<R>(ctx, to, shape, axis, kInverse));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <int kAxes, bool kInverse>
KernelFactory ForComplex(absl::string_view attr) {
  return [attr](const Node& node) -> absl::StatusOr<Kernel> {
    if (NodeAttr<DType>(node, attr) == DType::kComplex64)
      return Compute<&Transform<complex64, kAxes, kInverse>>()(node);
    return Compute<&Transform<complex128, kAxes, kInverse>>()(node);
  };
}

template <bool kInverse>
absl::StatusOr<Kernel> ManyKernel(const Node& node) {
  if (NodeAttr<DType>(node, "Tcomplex") == DType::kComplex64)
    return Compute<&TransformMany<complex64, kInverse>>()(node);
  return Compute<&TransformMany<complex128, kInverse>>()(node);
}

template <int kAxes>
absl::Status TransformShape(ShapeContext& c) {
  const PartialShape& shape = c.input(0);
  if (shape.has_rank() && shape.rank() < kAxes) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input must have rank of at least ", kAxes, " but got: ", shape.ToString()));
  }
  c.set_output(0, shape);
  return absl::OkStatus();
}

// The adjoint of a transform is its inverse, but for the factor of the inverse.
template <int kAxes, bool kInverse>
void TransformGradient(GradientContext& g) {
  static constexpr absl::string_view kForward[] = {"FFT", "FFT2D", "FFT3D"};
  static constexpr absl::string_view kBackward[] = {"IFFT", "IFFT2D", "IFFT3D"};
  const Expr turned = g.op((kInverse ? kForward : kBackward)[kAxes - 1], {g.grad()});
  const Expr size = Cast(LastSizes(g, g.input_dims(0), kAxes), g.input_dtype(0));
  g.Add(0, kInverse ? turned / size : turned * size);
}

template <int kAxes, bool kInverse>
void AddTransform(OpRegistry& ops, absl::string_view name, std::vector<absl::string_view> api,
                  absl::string_view doc) {
  ops.Add({
      .schema = absl::StrCat(name,
                             "(input: Tcomplex) -> output: Tcomplex "
                             "{Tcomplex: {complex64, complex128} = complex64}"),
      .doc = doc,
      .api = std::move(api),
      .shape = TransformShape<kAxes>,
      .gradient = {TransformGradient<kAxes, kInverse>},
      .batch = {batch::Stacked},
      .kernel = ForComplex<kAxes, kInverse>("Tcomplex"),
  });
}

template <int kAxes, bool kInverse>
void AddOldTransform(OpRegistry& ops, absl::string_view name) {
  ops.Add({
      .schema = absl::StrCat(name, "(input: complex64) -> output: complex64"),
      .doc = "The Fourier transform, or its inverse, along the last axes.",
      .shape = TransformShape<kAxes>,
      .gradient = {TransformGradient<kAxes, kInverse>},
      .batch = {batch::Stacked},
      .kernel = Compute<&Transform<complex64, kAxes, kInverse>>(),
  });
}

template <bool kInverse>
void AddMany(OpRegistry& ops, absl::string_view name, absl::string_view doc) {
  ops.Add({
      .schema =
          absl::StrCat(name,
                       "(input: Tcomplex, fft_length: int32, axes: int32) -> output: Tcomplex "
                       "{Tcomplex: {complex64, complex128} = complex64}"),
      .doc = doc,
      .shape = ManyShape<SpectrumEnd::kWhole>,
      .gradient = RefusesGradient("FFT, FFT2D and FFT3D have one"),
      .kernel = ManyKernel<kInverse>,
  });
}

}  // namespace

void RegisterFft(OpRegistry& ops) {
  AddTransform<1, false>(ops, "FFT", {"signal.fft", "compat.v1.fft"},
                         "The Fourier transform along the last axis.");
  AddTransform<1, true>(ops, "IFFT", {"signal.ifft", "compat.v1.ifft"},
                        "The inverse Fourier transform along the last axis.");
  AddTransform<2, false>(ops, "FFT2D", {"signal.fft2d", "compat.v1.fft2d"},
                         "The Fourier transform along the last two axes.");
  AddTransform<2, true>(ops, "IFFT2D", {"signal.ifft2d", "compat.v1.ifft2d"},
                        "The inverse Fourier transform along the last two axes.");
  AddTransform<3, false>(ops, "FFT3D", {"signal.fft3d", "compat.v1.fft3d"},
                         "The Fourier transform along the last three axes.");
  AddTransform<3, true>(ops, "IFFT3D", {"signal.ifft3d", "compat.v1.ifft3d"},
                        "The inverse Fourier transform along the last three axes.");
  AddMany<false>(ops, "FFTND", "The Fourier transform along axes, each cut or padded to a length.");
  AddMany<true>(ops, "IFFTND",
                "The inverse Fourier transform along axes, each cut or padded to a length.");
  AddOldTransform<1, false>(ops, "BatchFFT");
  AddOldTransform<1, true>(ops, "BatchIFFT");
  AddOldTransform<2, false>(ops, "BatchFFT2D");
  AddOldTransform<2, true>(ops, "BatchIFFT2D");
  AddOldTransform<3, false>(ops, "BatchFFT3D");
  AddOldTransform<3, true>(ops, "BatchIFFT3D");
}

}  // namespace gyre
