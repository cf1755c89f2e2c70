// Whose predicates decide whether ranks come to a collective.
#include "analysis/collectives.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "ir/text/parser.h"
#include "ops/registry.h"

namespace gyre {
namespace {

std::map<std::string, std::string> Deciders(const std::string& text) {
  const auto program = ParseProgram(text, Ops());
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? DecidersOfCollectives(**program) : std::map<std::string, std::string>();
}

TEST(DecidersOfCollectives, AreThoseOfAllLoopsAndBranchesAround) {
  const auto deciders = Deciders(R"(
graph {
  %x = Placeholder() : float32
  %outside = _CollectiveBroadcast(%x, %one, %one, %one) : float32
  %one = Const() value=int32{1}
  %loop = While(%x) cond=@small body=@step : float32
}
func @small(%x: float32) -> (more: bool) {
  %five = Const() value=float32{5}
  %less = Less(%x, %five)
  return %less
}
func @step(%x: float32) -> (y: float32) {
  %zero = Const() value=float32{0}
  %positive = Greater(%x, %zero)
  %branch = If(%positive, %x) then_branch=@meets else_branch=@same : float32
  return %branch
}
func @meets(%x: float32) -> (y: float32) {
  %one = Const() value=int32{1}
  %inside = _CollectiveBroadcast(%x, %one, %one, %one) : float32
  return %inside
}
func @same(%x: float32) -> (y: float32) {
  return %x
}
)");
  ASSERT_EQ(deciders.size(), 1);
  EXPECT_EQ(deciders.at("inside"),
            "\n  as predicate positive (Greater) of If node branch decides"
            "\n  as predicate less (Less) of While node loop decides");
}

TEST(DecidersOfCollectives, EndWhereFunctionsCallThemselves) {
  const auto deciders = Deciders(R"(
graph {
  %x = Placeholder() : float32
  %y = PartitionedCall(%x) f=@again : float32
}
func @again(%x: float32) -> (y: float32) {
  %zero = Const() value=float32{0}
  %positive = Greater(%x, %zero)
  %branch = If(%positive, %x) then_branch=@again else_branch=@meets : float32
  return %branch
}
func @meets(%x: float32) -> (y: float32) {
  %one = Const() value=int32{1}
  %inside = _CollectiveBroadcast(%x, %one, %one, %one) : float32
  return %inside
}
)");
  ASSERT_EQ(deciders.size(), 1);
  EXPECT_EQ(deciders.at("inside"), "\n  as predicate positive (Greater) of If node branch decides");
}

}  // namespace
}  // namespace gyre
