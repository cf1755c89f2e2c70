// Gradient rules of special functions and of Fourier transforms.
#include "grad/check_gradient.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

TEST(SpecialRules, OfOneNumber) {
  Draw draw;
  for (const std::string op :
       {"Lgamma", "Digamma", "BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselK0",
        "BesselK0e", "BesselK1", "BesselK1e", "BesselJ0", "BesselJ1", "BesselY0", "BesselY1",
        "Dawsn", "Expint", "FresnelCos", "FresnelSin", "Spence"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {draw({4}, 0.6, 2.5)}});
  }
  for (const std::string op :
       {"BesselI0e", "BesselI1e", "BesselJ0", "BesselJ1", "Dawsn", "FresnelCos"})
    ExpectOpGradient({op, {draw({4}, -2, -0.5)}});
  ExpectOpGradient({"Erfinv", {draw({4}, -0.8, 0.8)}});
  ExpectOpGradient({"Ndtri", {draw({4}, 0.1, 0.9)}});
}

TEST(SpecialRules, OfSeveral) {
  Draw draw;
  const auto above = [&](const Dims& dims) { return draw(dims, 1.2, 3); };
  ExpectOpGradient(OpCase{"Zeta", {above({2, 1}), above({3})}}.Fixed({0}));
  ExpectOpGradient(OpCase{"Polygamma", {Tensor::Vector<double>({1, 2}), above({2, 1})}}.Fixed({0}));
  for (const std::string op : {"Igamma", "Igammac"}) {
    ExpectOpGradient(OpCase{op, {above({2, 1}), above({3})}}.Fixed({0}));
    ExpectOpGradient(OpCase{op, {above({2}), above({2})}}.Order(1));
  }
  ExpectOpGradient(
      OpCase{"Betainc", {above({3}), Tensor::Scalar(1.7), draw({3}, 0.2, 0.8)}}.Fixed({0, 1}));
  for (const std::string op : {"Xlogy", "Xlog1py", "Xdivy", "MulNoNan"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {draw({2, 1}, 0.5, 1), above({3})}});
    ExpectOpGradient({op, {draw.Complex({2}, 0.5, 1), draw.Complex({2}, 0.5, 1)}});
  }
}

TEST(SpecialRules, FourierTransforms) {
  Draw draw;
  for (const std::string op : {"FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {draw.Complex({2, 2, 3})}});
  }
  const std::string types = "Treal=float64 Tcomplex=complex128";
  const auto lengths = [](std::vector<int32_t> values) {
    return Tensor::FromValues<int32_t>(values, Shape::Vector(static_cast<int64_t>(values.size())));
  };
  for (const int32_t n : {3, 4}) {
    ExpectOpGradient({"RFFT", {draw({2, 5}), lengths({n})}, types});
    ExpectOpGradient({"IRFFT", {draw.Complex({2, 4}), lengths({n})}, types});
    ExpectOpGradient({"RFFT2D", {draw({3, 4}), lengths({2, n})}, types});
    ExpectOpGradient({"IRFFT2D", {draw.Complex({3, 3}), lengths({2, n})}, types});
    ExpectOpGradient({"RFFT3D", {draw({2, 2, 4}), lengths({2, 2, n})}, types});
    ExpectOpGradient({"IRFFT3D", {draw.Complex({2, 2, 3}), lengths({2, 2, n})}, types});
  }
}

}  // namespace
}  // namespace gyre::testing
