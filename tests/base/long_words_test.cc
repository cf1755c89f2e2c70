// Words of messages that are too long to be read.
#include "base/long_words.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

TEST(LongWords, AreCut) {
  const std::string name(5'000'000, 'a');
  EXPECT_EQ(CutLongWords(absl::StrCat("at node '", name, "' (Mul),\n  there")),
            absl::StrCat("at node '", std::string(199, 'a'), "… (Mul),\n  there"));
}

TEST(LongWords, OtherWordsStayHoweverMany) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) absl::StrAppend(&text, std::string(i % 1001, 'b'), " \n");
  EXPECT_EQ(CutLongWords(text), text);
  EXPECT_EQ(CutLongWords(""), "");
}

TEST(LongWords, AreCutBetweenCharacters) {
  std::string name = "a";
  for (int i = 0; i < 1000; ++i) name += "é";
  EXPECT_EQ(CutLongWords(name), absl::StrCat(name.substr(0, 199), "…"));
}

}  // namespace
}  // namespace gyre
