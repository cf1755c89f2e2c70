// Which functions lead to which.
#include "analysis/call_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ops/registry.h"
#include "support/large_programs.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// main → a → b → c → b, and d, which nobody calls, → c.
std::shared_ptr<const Program> Example() {
  const auto call = [](const char* from, const char* to) {
    return absl::StrCat("func @", from, "(%x: float32) -> (r: float32) {\n",
                        "  %y = PartitionedCall(%x) f=@", to, " : float32\n  return %y\n}\n");
  };
  const auto program =
      ParseProgram(absl::StrCat("graph {\n  %x = Placeholder() : float32\n",
                                "  %y = PartitionedCall(%x) f=@a : float32\n}\n", call("a", "b"),
                                call("b", "c"), call("c", "b"), call("d", "c")),
                   Ops());
  EXPECT_TRUE(program.ok()) << program.status();
  return *program;
}

TEST(CallGraphTest, KnowsCallersAndWhatLeadsToThem) {
  const auto program = Example();
  const CallGraph calls(*program);
  EXPECT_THAT(calls.Callers("a"), ElementsAre(""));
  EXPECT_THAT(calls.Callers("c"), ElementsAre("b", "d"));
  EXPECT_THAT(calls.Callers("d"), IsEmpty());
  EXPECT_THAT(calls.Callers("nobody"), IsEmpty());
  EXPECT_THAT(calls.Reaching({"a"}), ElementsAre("", "a"));
  EXPECT_THAT(calls.Reaching({"c"}), ElementsAre("", "a", "b", "c", "d"));
}

TEST(CallGraphTest, OrdersWhatTheMainGraphUses) {
  EXPECT_THAT(CalleesFirst(*Example()), ElementsAre("c", "b", "a"));
}

// What changes in b is news for a, which is still to come, and for c, which has been.
TEST(CallGraphTest, UpdatesUntilNothingChanges) {
  const auto program = Example();
  std::map<std::string, int> rounds;
  CallGraph(*program).UpdateUntilStable([&](const std::string& name) {
    EXPECT_NE(name, "");
    return ++rounds[name] == 1 && name == "b";
  });
  EXPECT_EQ(rounds, (std::map<std::string, int>{{"a", 1}, {"b", 1}, {"c", 2}, {"d", 1}}));
}

TEST(CallGraphTest, GoesAsDeepAsCallsAreNested) {
  const auto program = ParseProgram(gyre::testing::DeepCalls(100'000), Ops());
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(CalleesFirst(**program).size(), 100'001u);
  EXPECT_EQ(CallGraph(**program).Reaching({"f100000"}).size(), 100'002u);
}

}  // namespace
}  // namespace gyre
