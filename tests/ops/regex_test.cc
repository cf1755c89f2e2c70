// Regular expressions: what matches, what replaces it, and patterns that are out to do harm.
#include <gmock/gmock.h>

#include <random>

#include "gyre/core/options.h"
#include "ops/math_values.h"
#include "support/transcript.h"

namespace gyre::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Text(std::string text) { return Tensor::Scalar(std::move(text)); }

bool Matches(const std::string& pattern, const std::string& text) {
  return Eval("RegexFullMatch", {Text(text), Text(pattern)}).scalar<bool>();
}

std::string Replace(const std::string& text, const std::string& pattern, const std::string& rewrite,
                    bool all = true) {
  return Eval("RegexReplace", {Text(text), Text(pattern), Text(rewrite)},
              Attrs({{"replace_global", all}}))
      .scalar<std::string>();
}

std::string MatchError(const std::string& pattern) {
  const absl::Status error = EvalError("RegexFullMatch", {Text("x"), Text(pattern)});
  EXPECT_TRUE(absl::IsInvalidArgument(error)) << error;
  return Message(error);
}

std::string ReplaceError(const std::string& pattern, const std::string& rewrite) {
  const absl::Status error = EvalError("RegexReplace", {Text("x"), Text(pattern), Text(rewrite)});
  EXPECT_TRUE(absl::IsInvalidArgument(error)) << error;
  return Message(error);
}

TEST(RegexFullMatch, TheWholeTextMustMatch) {
  EXPECT_TRUE(Matches("^s3://.*", "s3://bucket/x"));
  EXPECT_FALSE(Matches("^s3://.*", "/tmp/s3://"));
  EXPECT_FALSE(Matches("ab", "abc"));
  EXPECT_TRUE(Matches("(a|bc)*d?", "abcbca"));
  EXPECT_TRUE(Matches("x{2,3}", "xxx"));
  EXPECT_FALSE(Matches("x{2,3}", "xxxx"));
  EXPECT_TRUE(Matches("x{0,}y{2}", "yy"));
  EXPECT_TRUE(Matches("[a-c_\\]-]+", "ab_]-"));
  EXPECT_TRUE(Matches("[^/]*\\.txt", "z\xc3\xb6.txt"));
  EXPECT_TRUE(Matches("z.\\.txt", "z\xc3\xb6.txt"));
  EXPECT_FALSE(Matches(".", "\n"));
  EXPECT_TRUE(Matches("\\w+\\s\\d{1,2}", "loop 42"));
  EXPECT_TRUE(Matches("a||b", ""));
  EXPECT_TRUE(Matches("(?:)*", ""));
  EXPECT_FALSE(Matches("a$b", "ab"));
  const Tensor many = Eval("StaticRegexFullMatch", {Tensor::Vector<std::string>({"a1", "b"})},
                           Attrs({{"pattern", AttrValue(std::string("[a-z]\\d"))}}));
  EXPECT_THAT(Values<bool>(many), ElementsAre(true, false));
}

TEST(RegexFullMatch, FlagsNamesAndClassesAreThoseOfRe2) {
  EXPECT_TRUE(Matches("(?i)abc", "aBC"));
  EXPECT_TRUE(Matches("(?P<year>\\d{4})-\\d\\d", "2024-05"));
  EXPECT_TRUE(Matches("[[:alpha:]]+\\b.*", "word."));
  EXPECT_TRUE(Matches("\\p{Greek}+", "\xce\xb1\xce\xb2"));
  EXPECT_TRUE(Matches("[^\\D5]+", "123"));
  EXPECT_TRUE(Matches("(?s).", "\n"));
  EXPECT_FALSE(Matches(".", "\xff"));  // no UTF-8
}

TEST(RegexFullMatch, RefusesWhatIsMalformed) {
  EXPECT_THAT(MatchError("a(b"), HasSubstr("the pattern is malformed: missing ), at 'a(b'"));
  EXPECT_THAT(MatchError("[z-a]"), HasSubstr("invalid character class range, at 'z-a'"));
  for (const char* pattern :
       {")", "a**", "*", "[", "a{3,2}", "\\", "x{2000}", "(?=a)", "(a)\\1", "\xff"})
    EXPECT_THAT(MatchError(pattern), HasSubstr("the pattern is malformed: ")) << pattern;
  EXPECT_THAT(Message(EvalError("RegexFullMatch", {Text("x"), Tensor::Vector<std::string>({"a"})})),
              HasSubstr("pattern must be a scalar, but has shape [1]"));
}

TEST(RegexReplace, PutsGroupsIntoTheRewrite) {
  EXPECT_EQ(Replace("Hello World", "(\\w+) (\\w+)", "\\2 \\1"), "World Hello");
  EXPECT_EQ(Replace("a1b22", "\\d+", "<\\0>"), "a<1>b<22>");
  EXPECT_EQ(Replace("a1b22", "\\d+", "<\\0>", false), "a<1>b22");
  EXPECT_EQ(Replace("a/b", "/", "\\\\"), "a\\b");
  EXPECT_EQ(Replace("ab", "(a)|(b)", "[\\1\\2]"), "[a][b]");  // a group that took no part is empty
  EXPECT_EQ(Replace("text", "x{3}", "-"), "text");
  const Tensor many = Eval("StaticRegexReplace", {Tensor::Vector<std::string>({"a.b", "..", ""})},
                           Attrs({{"pattern", AttrValue(std::string("\\."))},
                                  {"rewrite", AttrValue(std::string("_"))}}));
  EXPECT_EQ(Values<std::string>(many), (std::vector<std::string>{"a_b", "__", ""}));
}

TEST(RegexReplace, NoEmptyMatchFollowsAMatch) {
  EXPECT_EQ(Replace("", "x*", "-"), "-");
  EXPECT_EQ(Replace("abc", "x*", "-"), "-a-b-c-");
  EXPECT_EQ(Replace("xxbx", "x*", "-"), "-b-");
  EXPECT_EQ(Replace("\xc3\xb6z", "x*", "-"), "-\xc3\xb6-z-");  // between characters, not bytes
  EXPECT_EQ(Replace("one\ntwo", "(?m)^", "> "), "> one\n> two");
}

TEST(RegexReplace, RefusesARewriteThatDoesNotFit) {
  EXPECT_THAT(ReplaceError("(a)", "\\2"),
              HasSubstr("the rewrite '\\2' asks for group 2, and the pattern has 1"));
  EXPECT_THAT(ReplaceError("a", "\\x"), HasSubstr("the rewrite '\\x' is malformed"));
  EXPECT_THAT(ReplaceError("a", "\\"), HasSubstr("the rewrite '\\' is malformed"));
  EXPECT_THAT(ReplaceError("(", "b"), HasSubstr("missing )"));
  EXPECT_THAT(Message(EvalError("RegexReplace",
                                {Text("x"), Text("x"), Tensor::Vector<std::string>({"a"})})),
              HasSubstr("rewrite must be a scalar, but has shape [1]"));
}

TEST(RegexReplace, StaysWithinTheBudgetAndStopsWhenAsked) {
  const std::vector<Tensor> inputs = {Text(std::string(1 << 16, 'x')), Text("x"),
                                      Text(std::string(1 << 16, 'y'))};
  const Node node = *MakeNode(Ops(), "RegexReplace", inputs, Attrs({{"replace_global", true}}));
  const RefPtr<MemoryBudget> budget = MakeRef<MemoryBudget>(1 << 20);
  RunEnv env;
  env.budget = budget.get();
  EXPECT_TRUE(absl::IsResourceExhausted(EvaluateNode(Ops(), node, inputs, env).status()));
  Cancellation cancellation;
  cancellation.Cancel(absl::CancelledError("asked to stop"));
  env.cancellation = &cancellation;
  EXPECT_TRUE(absl::IsCancelled(EvaluateNode(Ops(), node, inputs, env).status()));
}

// Matching is linear in the text, whatever the pattern repeats: a search that backtracks would take
// longer than there is time.
TEST(AdversarialRegex, NoPatternTakesTimeOrMemoryWithoutEnd) {
  EXPECT_FALSE(Matches("(a*)*(a*)*(a*)*b", std::string(1'000'000, 'a')));
  EXPECT_FALSE(Matches("(x+x+)+y", std::string(1'000'000, 'x')));
  std::string ab;
  std::mt19937 random(1);
  while (ab.size() < 10'000) ab += (random() & 1) != 0 ? 'a' : 'b';
  EXPECT_FALSE(Matches("[ab]*a[ab]{1000}c", ab));  // of 2^1000 states
  for (const std::string& pattern :
       {std::string("((((x{1000}){1000}){1000}){1000})"),
        std::string("(((((){1000}){1000}){1000}){1000})"), std::string(100'000, '(')})
    EXPECT_THAT(MatchError(pattern), HasSubstr("the pattern is malformed: "));
  std::string large;
  for (int i = 0; i < 40; ++i) large += "[ab]{0,1000}";
  const std::string nested = std::string(100'000, '(') + std::string(100'000, ')');
  for (const std::string& pattern :
       {large, nested, std::string(20'000, 'a'), std::string("\\pL{1000}")})
    EXPECT_THAT(MatchError(pattern), HasSubstr("the pattern is too large"));
}

// Patterns, texts and rewrites that a generator made of pieces of the syntax and of bytes.
TEST(AdversarialRegex, RandomPatternsGiveResultsOrErrors) {
  std::mt19937 random(testing::TestSeed());
  const auto pick = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  const std::vector<std::string> pieces = {
      "a", "b",  ".", "*",   "+?", "{2,3}", "(",        ")",    "|",           "[",   "]",  "^",
      "$", "\\", "-", "\\b", "ab", "(?i)",  "\xc3\xb6", "\xff", "[[:alpha:]]", "\\1", "\n", "[^a]"};
  const auto random_text = [&] {
    std::string text;
    for (size_t n = pick(12); n > 0; --n) text += pieces[pick(pieces.size())];
    return text;
  };
  int sound = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string pattern = random_text(), text = random_text(), rewrite = random_text();
    const auto matched = EvaluateOp("RegexFullMatch", {Text(text), Text(pattern)}, {});
    const auto replaced =
        EvaluateOp("RegexReplace", {Text(text), Text(pattern), Text(rewrite)}, {});
    if (!matched.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(matched.status())) << matched.status();
      EXPECT_EQ(matched.status(), replaced.status()) << pattern;
      continue;
    }
    ++sound;
    EXPECT_TRUE(replaced.ok() || absl::IsInvalidArgument(replaced.status())) << replaced.status();
    // Matches replaced by themselves, one or all of them, leave the text as it is.
    EXPECT_EQ(Replace(text, pattern, "\\0", true), text) << pattern;
    EXPECT_EQ(Replace(text, pattern, "\\0", false), text) << pattern;
  }
  EXPECT_GT(sound, 500);
}

}  // namespace
}  // namespace gyre::test
