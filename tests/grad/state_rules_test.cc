// Rules of the ops that read variables.
#include "absl/strings/str_cat.h"
#include "grad/check_gradient.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

// A variable %h that holds %v; `body` reads it, after %set.
std::string VariableText(const std::string& body, const std::string& shape) {
  return absl::StrCat("graph {\n  %h = VarHandleOp() dtype=float64 shape=", shape,
                      " shared_name=\"v\"\n"
                      "  %v = Placeholder() shape=(3,2) : float64\n"
                      "  %set = AssignVariableOp(%h, %v)\n",
                      body, "\n  %z = Mul(%y, %y)\n}\n");
}

// The gradient by the variable is that by a tensor that is read the same way.
void ExpectLikeTensor(const std::string& read, const std::string& of_tensor) {
  Draw draw;
  const Tensor v = draw({3, 2});
  const Tensor want = GradientsAt(VariableText(of_tensor, "(3,2)"), {{"v", v}}, {"v"}, "z")[0];
  const Tensor got = GradientsAt(VariableText(read, "(3,2)"), {{"v", v}}, {"h"}, "z")[0];
  ASSERT_TRUE(want.has_value() && got.has_value());
  EXPECT_EQ(got.shape(), want.shape());
  EXPECT_EQ(got.values<double>(), want.values<double>());
}

TEST(StateRules, ReadingAVariable) {
  ExpectLikeTensor("  %y = ReadVariableOp(%h, ^%set) dtype=float64", "  %y = Identity(%v)");
  ExpectLikeTensor("  %r = _ReadVariablesOp(%h, ^%set) dtypes=[float64] N=1\n  %y = Mul(%r, %r)",
                   "  %y = Mul(%v, %v)");
}

TEST(StateRules, GatheringFromAVariable) {
  const std::string at = "  %at = Const() value=int32[3]{2, 0, 2} : int32\n";
  const std::string table = "  %at = Const() value=int32[3,1]{1, 0, 1} : int32\n";
  const std::string axis = "  %axis = Const() value=int32{1} : int32\n";
  ExpectLikeTensor(at + "  %y = ResourceGather(%h, %at, ^%set) dtype=float64",
                   at + "  %y = Gather(%v, %at)");
  ExpectLikeTensor(table + "  %y = ResourceGather(%h, %at, ^%set) dtype=float64",
                   table + "  %y = Gather(%v, %at)");
  ExpectLikeTensor(table + "  %y = ResourceGather(%h, %at, ^%set) dtype=float64 batch_dims=1",
                   table + axis + "  %y = GatherV2(%v, %at, %axis) batch_dims=1");
  ExpectLikeTensor(table + "  %y = ResourceGatherNd(%h, %at, ^%set) dtype=float64",
                   table + "  %y = GatherNd(%v, %at)");
  const std::string pairs = "  %at = Const() value=int32[2,2]{1, 0, 1, 1} : int32\n";
  ExpectLikeTensor(pairs + "  %y = ResourceGatherNd(%h, %at, ^%set) dtype=float64",
                   pairs + "  %y = GatherNd(%v, %at)");
}

TEST(StateRules, ReferencesAreReadThroughIdentities) {
  Draw draw;
  const std::string text = R"(graph {
  %h = VariableV2() dtype=float64 shape=(3,2) shared_name="v"
  %v = Placeholder() shape=(3,2) : float64
  %set = Assign(%h, %v)
  %ref = RefIdentity(%h)
  %y = Identity(%ref, ^%set)
  %z = Mul(%y, %y)
})";
  const Tensor v = draw({3, 2});
  const Tensor got = GradientsAt(text, {{"v", v}}, {"h"}, "z")[0];
  ASSERT_TRUE(got.has_value());
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(got.values<double>()[i], 2 * v.values<double>()[i]);
}

}  // namespace
}  // namespace gyre::testing
