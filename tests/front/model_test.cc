// Model: graphs and models that exist already, in the dialect that throws.
#include "gyre/model.h"

#include "gmock/gmock.h"
#include "support/paths.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kGraph[] = R"(
// Doubled, and counted.
graph {
  %x = Placeholder() dtype=float32 shape=(?) : float32
  %two = Const() value=float32{2} : float32
  %y = Mul(%x, %two) : float32
  %n = Placeholder() dtype=int64 shape=() : int64
  %m = AddV2(%n, %n) : int64
}
)";

absl::StatusCode CodeOf(const std::function<void()>& build) {
  try {
    build();
  } catch (const Error& error) {
    return error.code();
  }
  return absl::StatusCode::kOk;
}

TEST(Model, IsFedWithNumbersAndVectors) {
  const Model model = Model::load_from_memory(kGraph);
  EXPECT_THAT(model.run({{"x", {1, 2}}}, {"y"})[0].values<float>(), ElementsAre(2, 4));
  EXPECT_THAT(model.run({{"x", std::vector<float>{0.5f}}}, {"y"})[0].values<float>(),
              ElementsAre(1));
  EXPECT_THAT(model.run({{"x", std::vector<double>{0.5}}}, {"y"})[0].values<float>(),
              ElementsAre(1));
  EXPECT_EQ(model.run({{"n", 21}}, {"m"})[0].scalar<int64_t>(), 42);
  EXPECT_EQ(model.run({{"n", Tensor::Scalar<int64_t>(4)}}, {"m"})[0].scalar<int64_t>(), 8);
}

TEST(Model, ThrowsWhatDoesNotFit) {
  const Model model = Model::load_from_memory(kGraph);
  EXPECT_EQ(CodeOf([&] { model.run({{"n", 0.5}}, {"m"}); }), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf([&] { model.run({{"n", "text"}}, {"m"}); }), absl::StatusCode::kInvalidArgument);
  // A tensor is what it is.
  EXPECT_EQ(CodeOf([&] { model.run({{"n", Tensor::Scalar(1)}}, {"m"}); }),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf([&] { model.run({}, {"absent"}); }), absl::StatusCode::kNotFound);
  EXPECT_EQ(CodeOf([&] { model.call("serving_default", {}); }),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(model.signatures().empty());
  EXPECT_EQ(CodeOf([] { Model::load("absent.pb"); }), absl::StatusCode::kNotFound);
  EXPECT_EQ(CodeOf([] { Model::load_from_memory("graph {"); }), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(to_string(absl::StatusCode::kNotFound), "NOT_FOUND");
}

// The files of a model's folder, by their paths within it.
std::map<std::string, std::string> FilesOf(const std::string& folder,
                                           const std::string& within = "") {
  std::map<std::string, std::string> files;
  const std::vector<std::string> names = *ListFolder(folder);
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    if (*KindOf(path) == PathKind::kFolder) {
      files.merge(FilesOf(path, within + name + "/"));
    } else {
      files.emplace(within + name, *ReadFile(path));
    }
  }
  return files;
}

TEST(Model, ThatWasMovedAwaySaysSo) {
  Model model = Model::load_from_memory(kGraph);
  const Model moved = std::move(model);
  EXPECT_THAT(moved.run({{"x", {1, 2}}}, {"y"})[0].values<float>(), ElementsAre(2, 4));
  const std::function<void()> uses[] = {
      [&] { model.run({}, {"y"}); }, [&] { (void)model.signatures(); },
      [&] { (void)model.session(); }, [&] { (void)model.variables(); },
      [&] { model.save("nowhere"); }};
  for (const auto& use : uses) EXPECT_EQ(CodeOf(use), absl::StatusCode::kFailedPrecondition);
}

TEST(Model, OfASavedModelInMemoryIsThatOfItsFolder) {
  const std::string folder = test::SourcePath("tests/saved_models/keras_lstm/model");
  const Model from_folder = Model::load(folder);
  std::map<std::string, std::string> files = FilesOf(folder);
  const Model from_memory = Model::load_from_memory(files);
  ASSERT_EQ(from_memory.signatures().size(), from_folder.signatures().size());
  std::vector<std::string> names;
  for (const auto& variable : from_folder.variables()) names.push_back(variable.name);
  ASSERT_FALSE(names.empty());
  const auto want = from_folder.read_variables(names), got = from_memory.read_variables(names);
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(to_string(got[i]), to_string(want[i]));

  const std::string bytes = files["saved_model.pb"];
  files.clear();
  files["../saved_model.pb"] = bytes;
  EXPECT_EQ(CodeOf([&] { Model::load_from_memory(files); }), absl::StatusCode::kInvalidArgument);
  files.clear();
  EXPECT_EQ(CodeOf([&] { Model::load_from_memory(files); }), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace gyre::testing
