// UniqueNames: names with the smallest free suffix, in time that does not grow with their number.
#include "passes/edit/unique_names.h"

#include <string>

#include "gtest/gtest.h"

namespace gyre::passes {
namespace {

TEST(UniqueNames, HaveTheSmallestFreeSuffix) {
  UniqueNames names;
  names.Take("body_2");
  EXPECT_EQ(names.Unique("body"), "body");
  EXPECT_EQ(names.Unique("body"), "body_1");
  EXPECT_EQ(names.Unique("body"), "body_3");
  EXPECT_EQ(names.Unique("body_1"), "body_1_1");
  EXPECT_EQ(names.Unique("cond"), "cond");
}

TEST(UniqueNames, AreFreeOnceErased) {
  UniqueNames names;
  for (const char* name : {"f", "f_1", "f_2", "f_3"}) EXPECT_EQ(names.Unique("f"), name);
  names.Free("f_1");
  names.Free("f_x");
  EXPECT_EQ(names.Unique("f"), "f_1");
  EXPECT_EQ(names.Unique("f"), "f_4");
  names.Free("f");
  names.Free("f_2");
  EXPECT_EQ(names.Unique("f"), "f");
  EXPECT_EQ(names.Unique("f"), "f_2");
}

// A loop that Python unrolls asks for 100,000 bodies of one name: in linear time, that is quick.
TEST(UniqueNames, OfManyTakeLinearTime) {
  UniqueNames names;
  std::string last;
  for (int i = 0; i < 300'000; ++i) last = names.Unique("while_body");
  EXPECT_EQ(last, "while_body_299999");
}

}  // namespace
}  // namespace gyre::passes
