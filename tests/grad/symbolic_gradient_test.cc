// SymbolicGradient, by which a graph asks for gradients itself.
#include "grad/symbolic_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

TEST(SymbolicGradientTest, OfAFunctionThatHoldsItNamesTheNode) {
  const auto program = ParseProgram(R"(
graph {
  %x = Placeholder() : float32
  %y = PartitionedCall(%x) f=@f : float32
}
func @f(%x: float32) -> (r: float32) {
  %d = SymbolicGradient(%x, %x) f=@f : float32
  return %d
}
)",
                                    Ops());
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::Status status = ExpandSymbolicGradients(*program).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(),
              HasSubstr("node 'd' (SymbolicGradient) of function 'f' asks for the gradient of 'f', "
                        "which leads back to such a node"));
}

}  // namespace
}  // namespace gyre
