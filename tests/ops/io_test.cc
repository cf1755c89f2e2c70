// Files and checkpoints from within a graph.
#include <gmock/gmock.h>

#include <filesystem>

#include "ops/math_values.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Text(std::string text) { return Tensor::Scalar(std::move(text)); }
Tensor Texts(std::initializer_list<std::string> texts) {
  return Tensor::Vector<std::string>(texts);
}
AttrMap Types(std::vector<DType> dtypes) { return Attrs({{"dtypes", std::move(dtypes)}}); }

absl::Status RunOp(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  return EvaluateOp(op, std::move(inputs), std::move(attrs)).status();
}

// As in a run that may read below a folder only.
absl::Status RunConfined(absl::string_view op, std::vector<Tensor> inputs,
                         const std::string& sandbox, AttrMap attrs = {}) {
  const absl::StatusOr<Node> node = MakeNode(Ops(), op, inputs, std::move(attrs));
  if (!node.ok()) return node.status();
  RunEnv env;
  env.sandbox = sandbox;
  return EvaluateNode(Ops(), *node, std::move(inputs), env).status();
}

TEST(ReadFile, GivesWhatTheFileHolds) {
  const TempFolder folder;
  const Tensor path = Text(folder.Write("note", std::string("a\0b", 3)));
  EXPECT_EQ(Eval("ReadFile", {path}).scalar<std::string>(), std::string("a\0b", 3));
  EXPECT_TRUE(absl::IsNotFound(EvalError("ReadFile", {Text(folder.Path("other"))})));
  EXPECT_THAT(Message(EvalError("ReadFile", {Text(folder.path())})), HasSubstr("is a folder"));
  EXPECT_THAT(Message(EvalError("ReadFile", {Text(std::string("a\0", 2))})),
              HasSubstr("zero byte"));
  EXPECT_THAT(Message(EvalError("ReadFile", {Texts({"a"})})), HasSubstr("must be a scalar"));
}

TEST(WriteFile, MakesFolders) {
  const TempFolder folder;
  ASSERT_TRUE(RunOp("WriteFile", {Text(folder.Path("new/note")), Text("hello")}).ok());
  EXPECT_EQ(*ReadFile(folder.Path("new/note")), "hello");
}

TEST(SaveV2, IsWhatRestoreV2Reads) {
  const TempFolder folder;
  const Tensor prefix = Text(folder.Path("made/checkpoint"));
  const Tensor matrix = Tensor::FromValues<float>({1, 2, 3, 4, 5, 6}, ShapeOf({2, 3}));
  const Tensor word = Text("w");
  ASSERT_TRUE(RunOp("SaveV2", {prefix, Texts({"m", "s"}), Texts({"", ""}), matrix, word},
                    Types({DType::kFloat, DType::kString}))
                  .ok());
  const auto restored =
      EvaluateOp("RestoreV2", {prefix, Texts({"s", "m", "m"}), Texts({"", "", "2 3 0,2:1,1"})},
                 Types({DType::kString, DType::kFloat, DType::kFloat}));
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ((*restored)[0].scalar<std::string>(), "w");
  EXPECT_THAT(Values<float>((*restored)[1]), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Values<float>((*restored)[2]), ElementsAre(2, 5));
  EXPECT_EQ((*restored)[2].shape(), ShapeOf({2, 1}));
}

TEST(RestoreV2, SaysWhatDoesNotFit) {
  const TempFolder folder;
  const Tensor prefix = Text(folder.Path("c"));
  const AttrMap one = Types({DType::kFloat});
  ASSERT_TRUE(RunOp("SaveV2", {prefix, Texts({"x"}), Texts({""}), Tensor::Scalar(1.0f)}, one).ok());
  const auto error = [&](const Tensor& name, const Tensor& slice, AttrMap attrs) {
    return Message(EvalError("RestoreV2", {prefix, name, slice}, std::move(attrs)));
  };
  EXPECT_THAT(error(Texts({"y"}), Texts({""}), one), HasSubstr("has no tensor 'y'"));
  EXPECT_THAT(error(Texts({"x"}), Texts({""}), Types({DType::kInt32})),
              HasSubstr("is float32, not int32"));
  EXPECT_THAT(error(Texts({"x"}), Texts({"nonsense"}), one), HasSubstr("'nonsense' is no slice"));
  EXPECT_THAT(error(Texts({"x", "y"}), Texts({""}), one),
              HasSubstr("tensor_names must be a list of 1 strings"));
}

TEST(MergeV2Checkpoints, PutsPartsTogether) {
  const TempFolder folder;
  const AttrMap one = Types({DType::kFloat});
  const std::string a = folder.Path("tmp/part-0"), b = folder.Path("tmp/part-1");
  for (const std::string& part : {a, b}) {
    ASSERT_TRUE(
        RunOp("SaveV2", {Text(part), Texts({part}), Texts({""}), Tensor::Scalar(1.0f)}, one).ok());
  }
  const Tensor whole = Text(folder.Path("whole"));
  ASSERT_TRUE(RunOp("MergeV2Checkpoints", {Texts({a, b}), whole}).ok());
  EXPECT_TRUE(RunOp("RestoreV2", {whole, Texts({b}), Texts({""})}, one).ok());
  EXPECT_FALSE(std::filesystem::exists(folder.Path("tmp")));
}

TEST(ShardedFilename, NumbersAreFiveDigits) {
  const auto name = [](int32_t shard, int32_t count) {
    return Eval("ShardedFilename", {Text("a/b"), Tensor::Scalar(shard), Tensor::Scalar(count)})
        .scalar<std::string>();
  };
  EXPECT_EQ(name(3, 12), "a/b-00003-of-00012");
  EXPECT_EQ(name(123456, 1234567), "a/b-123456-of-1234567");
}

TEST(Sandbox, ConfinesReadsAndForbidsWrites) {
  const TempFolder inside, outside;
  const Tensor in = Text(inside.Write("note", "x")), out = Text(outside.Write("note", "x"));
  EXPECT_TRUE(RunConfined("ReadFile", {in}, inside.path()).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(RunConfined("ReadFile", {out}, inside.path())));
  EXPECT_TRUE(absl::IsPermissionDenied(
      RunConfined("ReadFile",
                  {Text(inside.Path("../") +
                        std::filesystem::path(outside.path()).filename().string() + "/note")},
                  inside.path())));
  std::filesystem::create_symlink(outside.Path("note"), inside.Path("link"));
  EXPECT_TRUE(absl::IsPermissionDenied(
      RunConfined("ReadFile", {Text(inside.Path("link"))}, inside.path())));
  EXPECT_TRUE(absl::IsPermissionDenied(
      RunConfined("WriteFile", {Text(inside.Path("new")), Text("x")}, inside.path())));
  const AttrMap one = Types({DType::kFloat});
  EXPECT_TRUE(absl::IsPermissionDenied(RunConfined(
      "SaveV2", {Text(inside.Path("c")), Texts({"x"}), Texts({""}), Tensor::Scalar(1.f)},
      inside.path(), one)));
  EXPECT_TRUE(absl::IsPermissionDenied(RunConfined(
      "MergeV2Checkpoints", {Texts({inside.Path("c")}), Text(inside.Path("d"))}, inside.path())));
}

TEST(DisableCopyOnRead, TakesVariablesOnly) {
  const AttrMap variable = Attrs({{"dtype", DType::kFloat}, {"shape", PartialShape::Unknown()}});
  EXPECT_TRUE(RunOp("DisableCopyOnRead", {Eval("VarHandleOp", {}, variable)}).ok());
  EXPECT_FALSE(RunOp("DisableCopyOnRead", {Tensor::FromObject(DType::kResource, nullptr)}).ok());
}

}  // namespace
}  // namespace gyre::test
