// The harness: what is wrong is found.
#include "grad/check_gradient.h"

#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

// The square of x, whose gradient knows of one factor alone: half of what it is; at 0 that is
// right, but for the second derivative.
const char kHalf[] = R"(graph {
  %x = Placeholder() : float64
  %cut = StopGradient(%x)
  %y = Mul(%x, %cut)
})";

TEST(CheckGradient, FindsAWrongValue) {
  const Feeds feeds = {{"x", Tensor::Scalar(3.0)}};
  EXPECT_NONFATAL_FAILURE(ExpectGradient(kHalf, feeds, {"x"}, "y", 1), "order 1, by x, number 0");
}

TEST(CheckGradient, FindsAWrongSecondDerivative) {
  const Feeds feeds = {{"x", Tensor::Scalar(0.0)}};
  ExpectGradient(kHalf, feeds, {"x"}, "y", 1);
  EXPECT_NONFATAL_FAILURE(ExpectGradient(kHalf, feeds, {"x"}, "y", 2), "order 2, by x, number 0");
}

TEST(CheckGradient, FindsAnXThatIsNotConnected) {
  const std::string text = R"(graph {
    %x = Placeholder() : float64
    %y = Floor(%x)
  })";
  const Feeds feeds = {{"x", Tensor::Scalar(2.5)}};
  EXPECT_NONFATAL_FAILURE(ExpectGradient(text, feeds, {"x"}, "y"), "no derivative comes from 'x'");
}

}  // namespace
}  // namespace gyre::testing
