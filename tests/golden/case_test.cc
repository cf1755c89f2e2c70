// Reading case.json: what it may say, and what is said of one that is broken.
#include "golden/case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "support/paths.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"
#include "tensor/io/safetensors.h"

namespace gyre::golden {
namespace {

using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Case> Read(const std::string& json) {
  const TempFolder folder;
  folder.Write("case.json", json);
  return ReadCase(folder.path());
}

// A case whose one step feeds x:0 this value.
absl::StatusOr<Tensor> ReadFed(const std::string& value) {
  const auto golden = Read(R"({"group":"g","name":"n","steps":[{"feeds":{"x:0":)" + value +
                           R"(},"fetches":[],"expect":[]}]})");
  if (!golden.ok()) return golden.status();
  return golden->steps[0].feeds[0].second;
}

std::string Mistake(const std::string& json) {
  const auto golden = Read(json);
  EXPECT_EQ(golden.status().code(), absl::StatusCode::kInvalidArgument) << json;
  return std::string(golden.status().message());
}

TEST(GoldenCase, EverythingIsRead) {
  const auto golden = Read(R"({
    "name": "loop", "group": "while_v2", "doc": "Counts.", "tags": ["cf-v2", "while"], "init": ["w/Assign"],
    "steps": [
      {"feeds": {}, "fetches": ["y:0"], "targets": ["op"], "rtol": 0.5, "atol": 1,
       "expect": [{"dtype": "int32", "shape": [], "data": [7]}]},
      {"feeds": {}, "fetches": ["y:0"], "timeout_ms": 300,
       "error": {"code": "DEADLINE_EXCEEDED", "tf_code": "CANCELLED", "message_contains": "Loop"}}],
    "gradients": [{"ys": ["y:0"], "xs": ["x:0", "w:0"], "order": 2, "rtol": 0.25, "atol": 2,
                   "grad_ys": [{"dtype": "float32", "shape": [], "data": [3]}],
                   "feeds": {"x:0": {"dtype": "float32", "shape": [], "data": [4]}},
                   "expect": [null, {"dtype": "float32", "shape": [], "data": [5]}]}],
    "load_error": {"code": "NOT_FOUND", "optional": true}})");
  ASSERT_TRUE(golden.ok()) << golden.status();
  EXPECT_EQ(golden->id(), "while_v2/loop");
  EXPECT_TRUE(golden->HasTag("while"));
  EXPECT_FALSE(golden->HasTag("whil"));
  EXPECT_THAT(golden->init, ElementsAre("w/Assign"));
  ASSERT_EQ(golden->steps.size(), 2u);
  EXPECT_THAT(golden->steps[0].targets, ElementsAre("op"));
  EXPECT_EQ(golden->steps[0].expect[0].scalar<int32_t>(), 7);
  EXPECT_EQ(golden->steps[0].tolerance.rtol, 0.5);
  EXPECT_EQ(golden->steps[0].tolerance.atol, 1.0);
  EXPECT_EQ(golden->steps[1].error->code, absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(golden->steps[1].error->alternative_code, absl::StatusCode::kCancelled);
  EXPECT_EQ(golden->steps[1].error->message_contains, "Loop");
  EXPECT_EQ(golden->steps[1].timeout_ms, 300);
  EXPECT_THAT(golden->gradients[0].xs, ElementsAre("x:0", "w:0"));
  EXPECT_EQ(golden->gradients[0].order, 2);
  EXPECT_EQ(golden->gradients[0].tolerance.rtol, 0.25);
  EXPECT_EQ(golden->gradients[0].tolerance.atol, 2.0);
  EXPECT_EQ(golden->gradients[0].grad_ys[0]->scalar<float>(), 3);
  EXPECT_EQ(golden->gradients[0].feeds[0].second.tensor().scalar<float>(), 4);
  EXPECT_FALSE(golden->gradients[0].expect[0]);
  EXPECT_EQ(golden->gradients[0].expect[1]->scalar<float>(), 5);
  EXPECT_TRUE(golden->load_error->optional);
}

TEST(GoldenCase, IntegersAreReadToTheLastBit) {
  EXPECT_THAT(
      ReadFed(
          R"({"dtype":"int64","shape":[3],"data":[9223372036854775807,-9223372036854775808,9007199254740993]})")
          ->values<int64_t>(),
      ElementsAre(INT64_MAX, INT64_MIN, 9007199254740993));
  EXPECT_EQ(
      ReadFed(R"({"dtype":"uint64","shape":[],"data":[18446744073709551615]})")->scalar<uint64_t>(),
      UINT64_MAX);
}

TEST(GoldenCase, FloatsAreReadExactly) {
  const Tensor doubles =
      *ReadFed(R"({"dtype":"float64","shape":[5],"data":[0.1,"nan","inf","-inf",3]})");
  EXPECT_EQ(doubles.values<double>()[0], 0.1);
  EXPECT_NE(doubles.values<double>()[1], doubles.values<double>()[1]);
  EXPECT_THAT(doubles.values<double>().subspan(2), ElementsAre(HUGE_VAL, -HUGE_VAL, 3.0));
  EXPECT_EQ(
      ReadFed(R"({"dtype":"float32","shape":[],"data":[0.10000000149011612]})")->scalar<float>(),
      0.1f);
  EXPECT_EQ(ReadFed(R"({"dtype":"float16","shape":[],"data":[1.5]})")->scalar<Half>().bits,
            Half(1.5f).bits);
  EXPECT_EQ(ReadFed(R"({"dtype":"bfloat16","shape":[],"data":[-2]})")->scalar<BFloat16>().bits,
            BFloat16(-2.0f).bits);
}

TEST(GoldenCase, OtherElementTypes) {
  EXPECT_THAT(ReadFed(R"({"dtype":"bool","shape":[2],"data":[true,false]})")->values<bool>(),
              ElementsAre(true, false));
  EXPECT_EQ(
      ReadFed(R"({"dtype":"complex128","shape":[],"data":[[1.5,"-inf"]]})")->scalar<complex128>(),
      complex128(1.5, -HUGE_VAL));
  EXPECT_THAT(
      ReadFed(R"({"dtype":"string","shape":[2],"data":["a","\u00e9"]})")->values<std::string>(),
      ElementsAre("a", "\xc3\xa9"));
  EXPECT_EQ(
      ReadFed(R"({"dtype":"string","shape":[],"b64":true,"data":["AP8="]})")->scalar<std::string>(),
      std::string("\0\xff", 2));
  EXPECT_EQ(ReadFed(R"({"dtype":"float32","shape":[0,2],"data":[]})")->shape(),
            *Shape::Make({0, 2}));
}

TEST(GoldenCase, LargeTensorsStandInTheDataFile) {
  const TempFolder folder;
  ASSERT_TRUE(WriteSafetensors(folder.Path("data.safetensors"),
                               {{"big", Tensor::Vector<double>({1, 2, 3})}})
                  .ok());
  const auto read = [&](const std::string& shape, const std::string& key) {
    folder.Write(
        "case.json",
        R"({"group":"g","name":"n","steps":[{"fetches":["y"],"expect":[{"dtype":"float64","shape":)" +
            shape + R"(,"ref":")" + key + "\"}]}]}");
    return ReadCase(folder.path());
  };
  EXPECT_THAT(read("[3]", "big")->steps[0].expect[0].values<double>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(std::string(read("[2]", "big").status().message()), HasSubstr("float64[3]"));
  EXPECT_THAT(std::string(read("[3]", "bug").status().message()), HasSubstr("steps[0].expect[0]"));
}

TEST(GoldenCase, MistakesSayWhereTheyAre) {
  const auto value = [](const std::string& text) {
    return std::string(ReadFed(text).status().message());
  };
  EXPECT_THAT(value(R"({"dtype":"int8","shape":[3],"data":[1,127,128]})"),
              HasSubstr("steps[0].feeds[x:0].data[2]: not a int8"));
  EXPECT_THAT(value(R"({"dtype":"int32","shape":[1],"data":[1.0]})"), HasSubstr("data[0]"));
  EXPECT_THAT(value(R"({"dtype":"float32","shape":[1],"data":["big"]})"), HasSubstr("data[0]"));
  EXPECT_THAT(value(R"({"dtype":"float32","shape":[1],"data":[1e39]})"), HasSubstr("data[0]"));
  EXPECT_THAT(value(R"({"dtype":"bool","shape":[1],"data":[1]})"), HasSubstr("data[0]"));
  EXPECT_THAT(value(R"({"dtype":"complex64","shape":[1],"data":[[1]]})"), HasSubstr("data[0]"));
  EXPECT_THAT(value(R"({"dtype":"float32","shape":[2],"data":[1]})"),
              HasSubstr("shape [2] wants 2 elements, data has 1"));
  EXPECT_THAT(value(R"({"dtype":"float32","shape":[4294967296,4294967296],"data":[]})"),
              HasSubstr("feeds[x:0]"));
  EXPECT_THAT(value(R"({"dtype":"float32","shape":[1099511627776],"data":[]})"),
              HasSubstr("data has 0"));
  EXPECT_THAT(value(R"({"dtype":"float32","shape":[-1],"data":[]})"), HasSubstr("feeds[x:0]"));
  EXPECT_THAT(value(R"({"dtype":"float32","shape":3,"data":[]})"),
              HasSubstr("list of whole numbers"));
  EXPECT_THAT(value(R"({"dtype":"float23","shape":[],"data":[1]})"), HasSubstr("'float23'"));
  EXPECT_THAT(value(R"({"dtype":"variant","shape":[],"data":[1]})"),
              HasSubstr("cannot be written"));
  EXPECT_THAT(value(R"({"dtype":"float32","shape":[]})"), HasSubstr("neither data nor ref"));
  EXPECT_THAT(value(R"({"dtype":"string","shape":[],"b64":true,"data":["?"]})"),
              HasSubstr("base64"));
  EXPECT_THAT(value("3"), HasSubstr("a value is an object"));
}

TEST(GoldenCase, HostileJsonIsRefused) {
  const std::string named = R"({"group":"g","name":"n",)";
  EXPECT_THAT(Mistake(""), HasSubstr("not JSON"));
  EXPECT_THAT(Mistake("{"), HasSubstr("not JSON"));
  EXPECT_THAT(Mistake("{\"a\": \"\xff\"}"), HasSubstr("not JSON"));
  EXPECT_THAT(Mistake("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(Mistake("{}"), HasSubstr("group or name"));
  EXPECT_THAT(Mistake(named + R"("steps":[]})"), HasSubstr("nothing to check"));
  EXPECT_THAT(Mistake(named + R"("steps":{}})"), HasSubstr("steps is not a list"));
  EXPECT_THAT(Mistake(named + R"("steps":[1]})"), HasSubstr("steps[0]: not an object"));
  EXPECT_THAT(Mistake(named + R"("steps":[{"fetches":["y:0"]}]})"), HasSubstr("steps[0]: expect"));
  EXPECT_THAT(Mistake(named + R"("steps":[{"fetches":[1]}]})"),
              HasSubstr("steps[0].fetches: not a list of strings"));
  EXPECT_THAT(Mistake(named + R"("steps":[{"error":{"code":"OK"}}]})"),
              HasSubstr("steps[0].error: code"));
  EXPECT_THAT(Mistake(named + R"("steps":[{"error":{"code":"WRONG"}}]})"),
              HasSubstr("'WRONG' is no status code"));
  EXPECT_THAT(Mistake(named + R"("steps":[{"timeout_ms":-1,"error":{"code":"ABORTED"}}]})"),
              HasSubstr("timeout_ms"));
  EXPECT_THAT(Mistake(named + R"("steps":[],"gradients":7})"),
              HasSubstr("gradients is not a list"));
  EXPECT_THAT(Mistake(std::string(1 << 20, '[')), HasSubstr("not JSON"));
  EXPECT_THAT(
      Mistake(named + "\"steps\":" + std::string(100000, '[') + std::string(100000, ']') + "}"),
      HasSubstr("steps[0]: not an object"));
}

// A real case, with random bytes changed, is a case or a mistake, never a crash.
TEST(GoldenCase, MalformedByRandomEditsItNeverCrashes) {
  const std::string good = *ReadFile(test::SourcePath("tests/golden/models/q_learning/case.json"));
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    std::string bad = good;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      bad[random() % bad.size()] = "0-9.eE{}[]\",:tn\\ "[random() % 17];
    }
    const auto golden = Read(bad);
    EXPECT_TRUE(golden.ok() || golden.status().code() == absl::StatusCode::kInvalidArgument);
  }
}

TEST(GoldenCase, AllOfTheProjectsCasesCanBeRead) {
  const auto folders = FindCases(test::SourcePath("tests/golden"));
  ASSERT_TRUE(folders.ok()) << folders.status();
  EXPECT_GT(folders->size(), 1000u);
  EXPECT_TRUE(std::is_sorted(folders->begin(), folders->end()));
  for (const std::string& folder : *folders) {
    const auto golden = ReadCase(folder);
    ASSERT_TRUE(golden.ok()) << golden.status();
    EXPECT_THAT(folder, testing::EndsWith(golden->id()));
  }
}

TEST(GoldenCase, FoldersThatAreNotThere) {
  EXPECT_EQ(FindCases("no/such/folder").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadCase("no/such/folder").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace gyre::golden
