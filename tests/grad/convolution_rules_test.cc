// Gradient rules of convolutions and poolings.
#include "gmock/gmock.h"
#include "grad/check_gradient.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

Tensor Sizes(std::initializer_list<int32_t> sizes) { return Tensor::Vector<int32_t>(sizes); }

TEST(ConvolutionRules, Conv2D) {
  Draw draw;
  const std::string attrs = "strides=[1, 2, 1, 1] padding=\"SAME\"";
  const Tensor x = draw({2, 4, 3, 2}), w = draw({3, 2, 2, 3}), y = draw({2, 2, 3, 3});
  ExpectOpGradient(OpCase{"Conv2D", {x, w}, attrs}.Order(3));
  ExpectOpGradient(OpCase{"Conv2DBackpropInput", {Sizes({2, 4, 3, 2}), w, y}, attrs}.Order(3));
  ExpectOpGradient(OpCase{"Conv2DBackpropFilter", {x, Sizes({3, 2, 2, 3}), y}, attrs}.Order(3));
  ExpectOpGradient({"Conv2D",
                    {draw({1, 4, 4, 4}), draw({2, 2, 2, 2})},
                    "strides=[1, 1, 1, 1] padding=\"EXPLICIT\" dilations=[1, 2, 1, 1] "
                    "explicit_paddings=[0, 0, 1, 0, 2, 1, 0, 0]"});
  ExpectOpGradient({"Conv2D",
                    {draw({1, 2, 4, 3}), draw({2, 2, 2, 2})},
                    "strides=[1, 1, 1, 2] padding=\"VALID\" data_format=\"NCHW\""});
}

TEST(ConvolutionRules, Conv3D) {
  Draw draw;
  ExpectOpGradient({"Conv3D",
                    {draw({1, 3, 2, 4, 2}), draw({2, 2, 2, 2, 2})},
                    "strides=[1, 1, 1, 2, 1] padding=\"SAME\""});
}

TEST(ConvolutionRules, Depthwise) {
  Draw draw;
  const std::string attrs = "strides=[1, 2, 2, 1] padding=\"SAME\"";
  ExpectOpGradient(
      OpCase{"DepthwiseConv2dNative", {draw({2, 3, 4, 2}), draw({2, 3, 2, 2})}, attrs}.Order(3));
}

TEST(PoolRules, MeansAndMaxima) {
  Draw draw;
  for (const std::string op : {"AvgPool", "MaxPool"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient(
        OpCase{op, {draw({2, 4, 5, 2})}, "ksize=[1, 3, 2, 1] strides=[1, 2, 1, 1] padding=\"SAME\""}
            .Order(3));
    ExpectOpGradient({op,
                      {draw({2, 2, 4, 4})},
                      "ksize=[1, 1, 2, 2] strides=[1, 1, 1, 2] padding=\"VALID\" "
                      "data_format=\"NCHW\""});
  }
  ExpectOpGradient({"AvgPool3D",
                    {draw({1, 3, 4, 3, 2})},
                    "ksize=[1, 2, 2, 2, 1] strides=[1, 1, 2, 1, 1] padding=\"SAME\""});
  ExpectOpGradient({"MaxPool",
                    {draw({1, 3, 3, 4})},
                    "ksize=[1, 2, 2, 1] strides=[1, 2, 2, 1] padding=\"EXPLICIT\" "
                    "explicit_paddings=[0, 0, 1, 0, 0, 1, 0, 0]"});
  ExpectOpGradient({"MaxPoolV2",
                    {draw({1, 4, 4, 2}), Sizes({1, 2, 3, 1}), Sizes({1, 1, 2, 1})},
                    "padding=\"VALID\""});
  ExpectOpGradient({"MaxPoolWithArgmax",
                    {draw({2, 4, 4, 2})},
                    "ksize=[1, 3, 3, 1] strides=[1, 1, 2, 1] padding=\"SAME\""});
}

TEST(BlockRules, PixelsMove) {
  Draw draw;
  ExpectOpGradient({"SpaceToDepth", {draw({1, 4, 2, 3})}, "block_size=2"});
  ExpectOpGradient({"DepthToSpace", {draw({1, 8, 2, 1})}, "block_size=2 data_format=\"NCHW\""});
  const Tensor edges =
      Tensor::FromValues<int32_t>(std::vector<int32_t>{1, 0, 0, 1}, Shape::Trusted({2, 2}));
  ExpectOpGradient({"SpaceToBatchND", {draw({2, 3, 2, 2}), Sizes({2, 3}), edges}});
  ExpectOpGradient({"BatchToSpaceND", {draw({12, 2, 1, 2}), Sizes({2, 3}), edges}});
  ExpectOpGradient({"SpaceToBatch", {draw({2, 3, 3, 1}), edges}, "block_size=2"});
  ExpectOpGradient({"BatchToSpace", {draw({4, 2, 2, 1}), edges}, "block_size=2"});
}

TEST(PoolRules, Dilation) {
  Draw draw;
  const OpCase same{"Dilation2D",
                    {draw({2, 4, 3, 2}), draw({2, 2, 2})},
                    "strides=[1, 1, 2, 1] rates=[1, 2, 1, 1] padding=\"SAME\""};
  ExpectOpGradient(same.Order(1));
  ExpectOpGradient(OpCase{"Dilation2D",
                          {draw({1, 5, 5, 1}), draw({3, 2, 1})},
                          "strides=[1, 2, 1, 1] rates=[1, 1, 2, 1] padding=\"VALID\""}
                       .Order(1));
}

}  // namespace
}  // namespace gyre::testing
