// Gradient rules of images' ops that are computed in double. (Of those in float,
// tests/ops/image_test.cc shows that they are adjoints.)
#include "grad/check_gradient.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

TEST(ImageRules, ColorSpaces) {
  // No two channels alike, where the derivative jumps.
  const Tensor colors =
      Tensor::FromValues<double>(std::vector<double>{0.9, 0.5, 0.2, 0.1, 0.8, 0.4, 0.3, 0.2, 0.7,
                                                     0.6, 0.1, 0.5, 0.2, 0.6, 0.9, 0.3, 0.7, 0.1},
                                 Shape::Trusted({2, 3, 3}));
  ExpectOpGradient(OpCase{"RGBToHSV", {colors}});
  ExpectOpGradient(OpCase{"HSVToRGB", {colors}});
}

TEST(ImageRules, Patches) {
  Draw draw;
  const std::string windows = "ksizes=[1, 2, 3, 1] strides=[1, 2, 1, 1] rates=[1, 1, 2, 1]";
  for (const std::string padding : {"\"SAME\"", "\"VALID\""}) {
    ExpectOpGradient(
        {"ExtractImagePatches", {draw({2, 4, 6, 2})}, windows + " padding=" + padding});
  }
}

TEST(ImageRules, SequencesLoss) {
  Draw draw;
  const Tensor indices =
      Tensor::FromValues<int64_t>(std::vector<int64_t>{0, 0, 0, 1, 1, 0}, Shape::Trusted({3, 2}));
  ExpectOpGradient(OpCase{"CTCLoss",
                          {draw({4, 2, 3}), indices, Tensor::Vector<int32_t>({1, 0, 1}),
                           Tensor::Vector<int32_t>({4, 3})}}
                       .Order(1));
}

}  // namespace
}  // namespace gyre::testing
