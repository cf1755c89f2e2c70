// Where the tensors of a graph are once it is raised.
#include "passes/raise/raise.h"
#include "passes/staged_text.h"

namespace gyre::testing {
namespace {

// Who holds on to a tensor of the old graph finds it in the new one, if it is there whatever
// happens.
TEST(RaiseValues, TensorsOfTheOldGraphAreFound) {
  const std::string text = R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=float32
      %before = Square(%x)
      %s = Switch(%before, %p)
      %neg = Neg(%s)
      %y = Merge(%neg, %s:1)
      %after = Square(%y)
    })";
  const auto old_main = Parse(text)->main_ptr();
  const auto raised = Raise(StagedText(text, {}, {"after:0"}));
  ASSERT_TRUE(raised.ok()) << raised.status();
  const Function& main = raised->program->main();
  const auto name_now = [&](const std::string& node, int slot) -> std::string {
    const auto found = raised->values.find({old_main->FindNode(node)->id, slot});
    return found == raised->values.end() ? "gone" : main.EndpointName(found->second);
  };
  EXPECT_EQ(name_now("before", 0), "before");
  EXPECT_EQ(name_now("y", 0), "y");
  EXPECT_EQ(name_now("after", 0), "after");
  EXPECT_EQ(name_now("neg", 0), "gone") << "it is there on one path only";
}

}  // namespace
}  // namespace gyre::testing
