// Reading a command line.
#include "cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gyre::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Option kOptions[] = {{"--fetch", "NAME", "", 'y', true},
                               {"--limit", "BYTES", ""},
                               {"--count", "N", ""},
                               {"--dot", "", "", 'd'}};

Arguments Parse(const std::vector<std::string>& words) {
  const auto arguments = ParseArguments(kOptions, words);
  EXPECT_TRUE(arguments.ok()) << arguments.status();
  return arguments.ok() ? *arguments : Arguments();
}

std::string Mistake(const std::vector<std::string>& words) {
  const auto arguments = ParseArguments(kOptions, words);
  EXPECT_EQ(arguments.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(arguments.status().message());
}

TEST(Arguments, OptionsStandAnywhere) {
  const Arguments arguments = Parse({"--fetch", "a", "graph.pb", "--fetch=b,c", "-y", "d", "-d"});
  EXPECT_THAT(arguments.positional(), ElementsAre("graph.pb"));
  EXPECT_THAT(arguments.All("--fetch"), ElementsAre("a", "b,c", "d"));
  EXPECT_THAT(arguments.List("--fetch"), ElementsAre("a", "b", "c", "d"));
  EXPECT_TRUE(arguments.Has("--dot"));
  EXPECT_FALSE(arguments.Has("--limit"));
  EXPECT_EQ(arguments.Get("--limit"), std::nullopt);
}

TEST(Arguments, ValuesMayHoldEqualsSignsAndDashes) {
  EXPECT_THAT(Parse({"--fetch=x=-3"}).All("--fetch"), ElementsAre("x=-3"));
  EXPECT_THAT(Parse({"--fetch", "-3"}).All("--fetch"), ElementsAre("-3"));
  EXPECT_THAT(Parse({"--", "--dot", "-"}).positional(), ElementsAre("--dot", "-"));
}

TEST(Arguments, Numbers) {
  EXPECT_EQ(*Parse({"--count", "12"}).Int("--count", 1, 99, 5), 12);
  EXPECT_EQ(*Parse({}).Int("--count", 1, 99, 5), 5);
  EXPECT_THAT(std::string(Parse({"--count", "0"}).Int("--count", 1, 99, 5).status().message()),
              HasSubstr("from 1 to 99, not '0'"));
  EXPECT_FALSE(Parse({"--count", "100"}).Int("--count", 1, 99, 5).ok());
  EXPECT_FALSE(Parse({"--count", "1x"}).Int("--count", 1, 99, 5).ok());
  EXPECT_EQ(*Parse({"--limit", "64K"}).Bytes("--limit", 0), 65536);
  EXPECT_EQ(*Parse({"--limit", "2g"}).Bytes("--limit", 0), int64_t{2} << 30);
  EXPECT_EQ(*Parse({"--limit", "1500"}).Bytes("--limit", 0), 1500);
  for (const char* bad : {"K", "-1", "1.5M", "9223372036854775807K", "1KB"}) {
    EXPECT_FALSE(Parse({absl::StrCat("--limit=", bad)}).Bytes("--limit", 0).ok()) << bad;
  }
}

TEST(Arguments, MistakesAreNamed) {
  EXPECT_EQ(Mistake({"--fecth", "a"}), "there is no option --fecth; did you mean '--fetch'?");
  EXPECT_EQ(Mistake({"-x"}), "there is no option -x");
  EXPECT_EQ(Mistake({"--fetch"}), "--fetch needs a value: --fetch NAME");
  EXPECT_EQ(Mistake({"--fetch", "--dot"}), "--fetch needs a value: --fetch NAME");
  EXPECT_EQ(Mistake({"--fetch", ""}), "--fetch needs a value, not an empty one: --fetch NAME");
  EXPECT_EQ(Mistake({"--fetch="}), "--fetch needs a value, not an empty one: --fetch NAME");
  EXPECT_EQ(Mistake({"--dot=yes"}), "--dot takes no value");
  EXPECT_EQ(Mistake({"--limit", "1", "--limit", "2"}), "--limit is given twice");
}

}  // namespace
}  // namespace gyre::cli
