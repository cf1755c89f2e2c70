// What is said of ops that nobody has registered.
#include "analysis/refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "support/run_text.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A branch that a run may never come to needs two of them, what nobody wants a fourth.
constexpr char kText[] = R"(
graph {
  %x = Placeholder() shape=() : float32
  %go = Const() value=bool{false} : bool
  %a = Strange(%x) : float32
  %b = Strange(%a) : float32
  %y = If(%go, %b) then_branch=@then else_branch=@otherwise : float32
  %z = If(%go, %x) then_branch=@then else_branch=@otherwise : float32
  %same = If(%go, %x) then_branch=@otherwise else_branch=@otherwise : float32
  %unused = Unheard(%x) : float32
}
func @then(%x: float32) -> (y: float32) {
  %first = Odd(%x) : float32
  %second = Strange(%first) : float32
  return %second
}
func @otherwise(%x: float32) -> (y: float32) {
  %aside = Unheard(%x) : float32
  %y = Neg(%x) : float32
  return %y
}
)";

std::string WhyNot(const std::string& fetch, const char* engine) {
  SessionOptions options;
  options.engine = *ParseEngineKind(engine);
  const auto session = testing::SessionFor(kText, options);
  const absl::Status status = session->Prepare({"x"}, {fetch}).status();
  EXPECT_TRUE(status.ok() || absl::IsNotFound(status)) << status;
  return std::string(status.message());
}

TEST(UnregisteredOps, AreToldAllAtOnceBeforeARun) {
  for (const char* engine : {"dataflow", "reference"}) {
    EXPECT_EQ(WhyNot("y", engine),
              "4 nodes need 2 ops that nobody has registered: Strange (a, b, second of function "
              "then), Odd (first of function then); load the plug-ins that have them (--plugin "
              "FILE, load_plugin)");
    EXPECT_THAT(WhyNot("z", engine),
                AllOf(HasSubstr("2 nodes need 2 ops"), HasSubstr("Odd (first of function then)"),
                      Not(HasSubstr("Unheard"))));
    EXPECT_EQ(WhyNot("same", engine), "");
    EXPECT_THAT(WhyNot("unused", engine),
                HasSubstr("node unused needs the op Unheard, which is not registered: load the"));
  }
}

TEST(UnregisteredOps, AreCountedWhereThereAreMany) {
  std::string text = "graph {\n  %x = Placeholder() shape=() : float32\n  %n0 = Strange(%x)\n";
  for (int i = 1; i < 100; ++i)
    absl::StrAppend(&text, "  %n", i, " = Strange", i, "(%n", i - 1, ")\n");
  absl::StrAppend(&text, "  %y = Strange(%n99, ^%n0) : float32\n}\n");
  const auto session = testing::SessionFor(text);
  EXPECT_THAT(session->Prepare({"x"}, {"y"}).status().message(),
              AllOf(HasSubstr("101 nodes need 100 ops that nobody has registered: Strange (n0, y), "
                              "Strange1 (n1), "),
                    HasSubstr(" and 50 more; load the plug-ins")));
}

}  // namespace
}  // namespace gyre
