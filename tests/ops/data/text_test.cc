// Ops of texts: split, cut, joined, hashed, and their characters. What must come out was written
// down from TensorFlow.
#include "gmock/gmock.h"
#include "ops/resource_run.h"

namespace gyre::test {
namespace {

using ::testing::ElementsAre;

Tensor Texts(std::initializer_list<std::string> values) { return Tensor::Vector(values); }
Tensor Text(const std::string& text) { return Tensor::Scalar<std::string>(text); }
Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector(values); }

std::vector<std::string> Strings(const Tensor& t) { return Values<std::string>(t); }

std::vector<Tensor> All(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  ResourceRun run;
  return run.All(op, std::move(inputs), std::move(attrs));
}

TEST(HashBucket, HasTheNumbersThatTablesWereMadeBy) {
  std::string rising;
  for (int i = 0; i < 200; ++i) rising.push_back(static_cast<char>(i));
  const Tensor texts = Texts({"", "a", "abc", "hello", "hello world", "0123456789abcdef",
                              "0123456789abcdefg", std::string(32, 'x'), std::string(33, 'y'),
                              std::string(64, 'z'), rising.substr(0, 65), rising});
  const AttrMap attrs = Attrs({{"num_buckets", int64_t{1} << 62}});
  EXPECT_THAT(Values<int64_t>(Eval("StringToHashBucketFast", {texts}, attrs)),
              ElementsAre(1936946117179621455, 3694432073954588131, 2640714258260161385,
                          3786372426573024488, 1769834696496558107, 1493332391325024359,
                          2800675501336285770, 3678204687145032709, 3999049019338133246,
                          294799756062990872, 478270155923209662, 525935771297148851));
  EXPECT_THAT(Values<int64_t>(Eval("StringToHashBucket", {texts}, attrs)),
              ElementsAre(105434511174508091, 2996632905371535868, 1046625677629754806,
                          1331861223480393034, 936430787915428847, 1490712428580208486,
                          1785752214242554974, 1793624403848994371, 3468653955998158666,
                          160759053204327832, 2525959834624391444, 4185538572715980330));
  AttrMap strong = attrs;
  strong.Set("key", std::vector<int64_t>{1, (int64_t{1} << 62) + 5});
  EXPECT_THAT(Values<int64_t>(Eval("StringToHashBucketStrong", {texts}, strong)),
              ElementsAre(2612702598386848827, 3838344371719337310, 254975654612956988,
                          4544729807469971770, 1530571201881343334, 3516933668295528956,
                          4327592786346379041, 593481556151920945, 2793413116405428660,
                          3682243286634092454, 2033585504346473276, 3806718886993353708));
}

TEST(StringSplit, AtSeparatorsSpaceAndAnyCharacter) {
  const auto split = [](std::initializer_list<std::string> texts, const std::string& separator,
                        int64_t limit) {
    return All("StringSplitV2", {Texts(texts), Text(separator)}, Attrs({{"maxsplit", limit}}));
  };
  EXPECT_THAT(Strings(split({"  a b  c ", "", "x "}, "", -1)[1]), ElementsAre("a", "b", "c", "x"));
  EXPECT_THAT(Strings(split({"  a b  c ", "", "x "}, "", 1)[1]),
              ElementsAre("a", "b  c ", "x", ""));
  EXPECT_THAT(Strings(split({"  a b", ""}, "", 0)[1]), ElementsAre("  a b", ""));
  const std::vector<Tensor> by_comma = split({"a,b,,c", "", ",x,"}, ",", -1);
  EXPECT_THAT(Values<int64_t>(by_comma[0]),
              ElementsAre(0, 0, 0, 1, 0, 2, 0, 3, 1, 0, 2, 0, 2, 1, 2, 2));
  EXPECT_THAT(Strings(by_comma[1]), ElementsAre("a", "b", "", "c", "", "", "x", ""));
  EXPECT_THAT(Values<int64_t>(by_comma[2]), ElementsAre(3, 4));
  EXPECT_THAT(Strings(split({"a,b,,c"}, ",", 1)[1]), ElementsAre("a", "b,,c"));
  const auto any = [](const std::string& characters, bool skips) {
    return Strings(All("StringSplit", {Texts({"a b;c", " ;x"}), Text(characters)},
                       Attrs({{"skip_empty", skips}}))[1]);
  };
  EXPECT_THAT(any(" ;", false), ElementsAre("a", "b", "c", "", "", "x"));
  EXPECT_THAT(any(" ;", true), ElementsAre("a", "b", "c", "x"));
  EXPECT_THAT(Strings(All("StringSplit", {Texts({"ab", "", "c"}), Text("")})[1]),
              ElementsAre("a", "b", "c"));
}

TEST(Substr, CountsBytesOrCharacters) {
  EXPECT_THAT(Strings(Eval("Substr", {Texts({"hello", "world"}), Ints({-3, 1}), Ints({2, -1})})),
              ElementsAre("ll", "orld"));
  const AttrMap characters = Attrs({{"unit", std::string("UTF8_CHAR")}});
  EXPECT_THAT(
      Strings(Eval("Substr", {Texts({"h\u00e9llo\u20ac", "ab"}), Ints({1, -2}), Ints({3, 9})},
                   characters)),
      ElementsAre("\u00e9ll", "ab"));
  const Tensor column = Tensor::FromValues<std::string>({"abc", "def"}, ShapeOf({2, 1}));
  EXPECT_THAT(Strings(Eval("Substr", {column, Ints({0, 1}), Ints({1, 2})})),
              ElementsAre("a", "bc", "d", "ef"));
  EXPECT_THAT(Strings(Eval("Substr", {Texts({"hello"}), Ints({5}), Ints({3})})), ElementsAre(""));
  EXPECT_TRUE(
      IsInvalid(EvalError("Substr", {Texts({"abc"}), Ints({4}), Ints({1})}), "out of range"));
}

TEST(ReduceJoin, JoinsAlongAxesInTheirOrder) {
  const Tensor square = Tensor::FromValues<std::string>({"a", "b", "c", "d"}, ShapeOf({2, 2}));
  EXPECT_THAT(
      Strings(Eval("ReduceJoin", {square, Ints({0})}, Attrs({{"separator", std::string("-")}}))),
      ElementsAre("a-c", "b-d"));
  EXPECT_THAT(Strings(Eval("ReduceJoin", {square, Ints({0, 1})})), ElementsAre("abcd"));
  EXPECT_THAT(Strings(Eval("ReduceJoin", {square, Ints({1, 0})})), ElementsAre("acbd"));
  EXPECT_THAT(Strings(Eval("ReduceJoin", {square, Ints({})})), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Strings(Eval("UnsortedSegmentJoin",
                           {Texts({"a", "b", "c"}), Ints({1, 0, 1}), Tensor::Scalar<int32_t>(3)},
                           Attrs({{"separator", std::string(":")}}))),
              ElementsAre("b", "a:c", ""));
}

AttrMap NGrams(std::vector<int64_t> widths, int64_t pad_width, bool keeps_short) {
  const bool pads = pad_width != 0;
  return Attrs({{"separator", std::string("|")},
                {"ngram_widths", std::move(widths)},
                {"left_pad", std::string(pads ? "L" : "")},
                {"right_pad", std::string(pads ? "R" : "")},
                {"pad_width", pad_width},
                {"preserve_short_sequences", keeps_short}});
}

TEST(NGrams, ArePaddedAndKept) {
  const std::vector<Tensor> inputs = {Texts({"a", "b", "c", "d", "e"}),
                                      Tensor::Vector<int64_t>({0, 3, 3, 4, 5})};
  const auto padded = All("StringNGrams", inputs, NGrams({2, 3}, 1, false));
  EXPECT_THAT(Strings(padded[0]), ElementsAre("L|a", "a|b", "b|c", "c|R", "L|a|b", "a|b|c", "b|c|R",
                                              "L|R", "L|d", "d|R", "L|d|R", "L|e", "e|R", "L|e|R"));
  EXPECT_THAT(Values<int64_t>(padded[1]), ElementsAre(0, 7, 8, 11, 14));
  EXPECT_THAT(Strings(All("StringNGrams", inputs, NGrams({3}, -1, false))[0]),
              ElementsAre("L|L|a", "L|a|b", "a|b|c", "b|c|R", "c|R|R", "L|L|R", "L|R|R", "L|L|d",
                          "L|d|R", "d|R|R", "L|L|e", "L|e|R", "e|R|R"));
  EXPECT_THAT(Strings(All("StringNGrams", inputs, NGrams({3}, 0, true))[0]),
              ElementsAre("a|b|c", "d", "e"));
}

TEST(UnicodeDecode, ReplacesWhatIsMalformed) {
  const Tensor texts =
      Texts({"a\xff"
             "b",
             "\xe2\x82", "\xe2\x82x", "\xf0\x9f\x98\x80!", "\xed\xa0\x80", "\xc0\x80", "\x01z"});
  const auto decode = [&](const std::string& errors) {
    return All("UnicodeDecodeWithOffsets", {texts},
               Attrs({{"input_encoding", std::string("UTF-8")}, {"errors", errors}}));
  };
  const auto replaced = decode("replace");
  EXPECT_THAT(Values<int64_t>(replaced[0]), ElementsAre(0, 3, 4, 6, 8, 11, 13, 15));
  EXPECT_THAT(Values<int32_t>(replaced[1]),
              ElementsAre(97, 65533, 98, 65533, 65533, 120, 128512, 33, 65533, 65533, 65533, 65533,
                          65533, 1, 122));
  EXPECT_THAT(Values<int64_t>(replaced[2]),
              ElementsAre(0, 1, 2, 0, 0, 2, 0, 4, 0, 1, 2, 0, 1, 0, 1));
  EXPECT_THAT(Values<int32_t>(decode("ignore")[1]), ElementsAre(97, 98, 120, 128512, 33, 1, 122));
  ResourceRun run;
  EXPECT_TRUE(IsInvalid(run.Error("UnicodeDecode", {texts},
                                  Attrs({{"input_encoding", std::string("UTF-8")},
                                         {"errors", std::string("strict")}})),
                        "invalid formatting"));
}

TEST(UnicodeDecode, KnowsOtherEncodings) {
  const auto decode = [](const std::string& encoding, const std::string& text) {
    return Values<int32_t>(
        All("UnicodeDecode", {Texts({text})}, Attrs({{"input_encoding", encoding}}))[1]);
  };
  EXPECT_THAT(decode("UTF-16-BE", std::string("\0a\xd8\x3d\xde\0", 6)), ElementsAre(97, 128512));
  EXPECT_THAT(decode("UTF-16-LE", std::string("b\0", 2)), ElementsAre(98));
  EXPECT_THAT(decode("UTF-32-BE", std::string("\0\0\0a\0", 5)), ElementsAre(97, 65533));
  EXPECT_THAT(decode("US-ASCII", "a\x80"), ElementsAre(97, 65533));
  EXPECT_THAT(decode("latin1", "\xe9"), ElementsAre(233));
  EXPECT_THAT(decode("SHIFT-JIS", "\x83\x65x\x80\xe9"), ElementsAre(12486, 120, 65533, 65533));
  EXPECT_THAT(decode("windows-1252", "\x80"), ElementsAre(8364));
  ResourceRun run;
  EXPECT_TRUE(IsInvalid(
      run.Error("UnicodeDecode", {Texts({"a"})}, Attrs({{"input_encoding", std::string("foo")}})),
      "foo"));
}

TEST(UnicodeEncode, MakesTexts) {
  const AttrMap utf8 = Attrs({{"output_encoding", std::string("UTF-8")}});
  const std::vector<Tensor> inputs = {Ints({72, 0x20ac, 0x1f600, 0xd800, 0xffff, -1, 0x110000, 65}),
                                      Tensor::Vector<int64_t>({0, 3, 8})};
  EXPECT_THAT(Strings(Eval("UnicodeEncode", inputs, utf8)),
              ElementsAre("H\xe2\x82\xac\xf0\x9f\x98\x80",
                          "\xef\xbf\xbd\xef\xbf\xbf\xef\xbf\xbd\xef\xbf\xbd"
                          "A"));
  EXPECT_THAT(Strings(Eval("UnicodeTranscode", {Texts({"h\xc3\xa9", "\xff\x01"})},
                           Attrs({{"input_encoding", std::string("UTF-8")},
                                  {"output_encoding", std::string("UTF-16-BE")}}))),
              ElementsAre(std::string("\0h\0\xe9", 4), std::string("\xff\xfd\0\x01", 4)));
}

TEST(Base64, IsWebSafe) {
  EXPECT_THAT(Strings(Eval("EncodeBase64", {Texts({"", "a", "ab\xff", "\xfb\xff"})},
                           Attrs({{"pad", true}}))),
              ElementsAre("", "YQ==", "YWL_", "-_8="));
  EXPECT_THAT(Strings(Eval("DecodeBase64", {Texts({"YQ", "YQ==", "-_8="})})),
              ElementsAre("a", "a", "\xfb\xff"));
  EXPECT_TRUE(IsInvalid(EvalError("DecodeBase64", {Texts({"YQ="})}), "alphabet"));
  EXPECT_THAT(Strings(Eval("StringStrip", {Texts({"\t a b \n\v"})})), ElementsAre("a b"));
}

}  // namespace
}  // namespace gyre::test
