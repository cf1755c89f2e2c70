// Names of tensors and ops, and what is said of those that lead nowhere.
#include "session/names.h"

#include <gmock/gmock.h>

#include "ir/parse.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] = R"(
graph {
  %x = Placeholder() dtype=float32
  %split = Unpack(%x) num=2 : (float32, float32)
  %sum = AddV2(%split, %split:1)
  %init = NoOp()
})";

class Names : public ::testing::Test {
 protected:
  std::string ErrorOf(absl::string_view name) const {
    return names_.FindEndpoint(name).status().ToString();
  }
  Endpoint At(absl::string_view node, int32_t slot) const {
    return {Id(program_->main(), node), slot};
  }

  const std::shared_ptr<const Program> program_ = Parse(kText);
  const MainNames names_{*program_};
};

TEST_F(Names, AreOfTensorsAndOfNodes) {
  EXPECT_EQ(*names_.FindEndpoint("split:1"), At("split", 1));
  EXPECT_EQ(*names_.FindEndpoint("split"), At("split", 0));
  EXPECT_EQ(*names_.FindTarget("init"), At("init", 0).node);
  EXPECT_EQ(*names_.FindTarget("split:1"), At("split", 0).node);
}

TEST_F(Names, ThatLeadNowhereAreHelpedWith) {
  EXPECT_EQ(ErrorOf("spilt:1"), "NOT_FOUND: the graph has no op 'spilt'; did you mean 'split'?");
  EXPECT_EQ(ErrorOf("split:2"),
            "INVALID_ARGUMENT: 'split' (Unpack) has no output 2, its last one is 1");
  EXPECT_EQ(ErrorOf("init"),
            "INVALID_ARGUMENT: 'init' (NoOp) has no outputs; it can only be a target");
  EXPECT_EQ(ErrorOf("split:one"),
            "INVALID_ARGUMENT: 'split:one' is no name of a tensor, such as split:0");
  EXPECT_EQ(ErrorOf("split:-1"),
            "INVALID_ARGUMENT: 'split:-1' is no name of a tensor, such as split:0");
}

TEST_F(Names, MakeASignatureInTheirOrder) {
  const auto signature = names_.FindSignature({"x"}, {"sum", "split:1"}, {"init", "sum:0"});
  ASSERT_TRUE(signature.ok()) << signature.status();
  EXPECT_THAT(signature->feeds, ::testing::ElementsAre(At("x", 0)));
  EXPECT_THAT(signature->fetches, ::testing::ElementsAre(At("sum", 0), At("split", 1)));
  EXPECT_THAT(signature->targets, ::testing::ElementsAre(At("init", 0).node, At("sum", 0).node));
  EXPECT_THAT(std::string(names_.FindSignature({"y"}, {}, {}).status().message()),
              HasSubstr("no op 'y'"));
}

}  // namespace
}  // namespace gyre
