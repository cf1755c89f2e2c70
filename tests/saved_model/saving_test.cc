// Loaded models that are written again: everything of theirs, with the values of now.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "base/status.h"
#include "bundle/reader.h"
#include "gyre/core/saved_model.h"
#include "support/file_faults.h"
#include "support/kill.h"
#include "support/paths.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Case(const std::string& name) { return test::SourcePath("tests/saved_models/" + name); }

std::unique_ptr<SavedModel> Load(const std::string& path) {
  auto model = SavedModel::Load(path);
  EXPECT_TRUE(model.ok()) << path << ": " << model.status();
  return model.ok() ? *std::move(model) : nullptr;
}

std::vector<std::string> NamesOf(const SavedModel& model) {
  std::vector<std::string> names;
  for (const SavedModel::Variable& variable : model.variables()) names.push_back(variable.name);
  return names;
}

std::string BytesOf(const Tensor& tensor) {
  if (!tensor.has_value()) return "none";
  if (tensor.dtype() != DType::kString)
    return std::string(static_cast<const char*>(tensor.raw_data()), tensor.bytes());
  std::string joined;
  for (const std::string& element : tensor.values<std::string>()) joined += element + "\n";
  return joined;
}

template <typename T>
Tensor Half(const Tensor& value) {
  Tensor half = *Tensor::Make(value.dtype(), value.shape());
  for (int64_t i = 0; i < value.num_elements(); ++i)
    half.mutable_values<T>()[i] = value.values<T>()[i] / 2;
  return half;
}

// Halves the variables of floating types of which the condition holds.
template <typename F>
void Halve(SavedModel& model, F condition) {
  std::vector<std::pair<std::string, Tensor>> halved;
  for (const SavedModel::Variable& variable : model.variables()) {
    const Tensor value = model.session().ReadVariables({{variable.name}})->front();
    if (!value.has_value() || !condition(variable)) continue;
    if (variable.dtype == DType::kFloat) halved.emplace_back(variable.name, Half<float>(value));
    if (variable.dtype == DType::kDouble) halved.emplace_back(variable.name, Half<double>(value));
  }
  ASSERT_FALSE(halved.empty());
  ASSERT_TRUE(model.session().AssignVariables(halved).ok());
}

void ExpectSameVariables(const SavedModel& want, const SavedModel& got) {
  ASSERT_EQ(NamesOf(got), NamesOf(want));
  const auto a = *want.session().ReadVariables(NamesOf(want));
  const auto b = *got.session().ReadVariables(NamesOf(want));
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(BytesOf(a[i]), BytesOf(b[i])) << NamesOf(want)[i];
}

TEST(SavingModels, VariablesThatHaveChangedAreWritten) {
  for (const std::string name : {"train_step/model", "v1_simple_ref/model", "dtypes_sharded/model",
                                 "v1_meta_sharded/v1/model.meta"}) {
    const TempFolder folder;
    const std::string path =
        folder.Path(fs::path(name).extension() == ".meta" ? "deep/again.meta" : "deep/again");
    const auto model = Load(Case(name));
    Halve(*model, [](const auto&) { return true; });
    ASSERT_TRUE(model->Save(path).ok()) << model->Save(path);
    ExpectSameVariables(*model, *Load(path));
  }
}

// Each variable is a part of one tensor of the checkpoint.
TEST(SavingModels, PartsOfTensorsGoWhereTheyBelong) {
  const TempFolder folder;
  const auto model = Load(Case("v1_meta_partitioned/v1/model.meta"));
  Halve(*model, [](const auto& variable) { return variable.name == "table/part_1"; });
  ASSERT_TRUE(model->Save(folder.Path("again.meta")).ok());
  ExpectSameVariables(*model, *Load(folder.Path("again.meta")));
  const Tensor before = *BundleReader::Open(model->checkpoint())->Read("table");
  const Tensor after = *BundleReader::Open(folder.Path("again"))->Read("table");
  ASSERT_EQ(after.shape(), before.shape());
  for (int64_t i = 0; i < before.num_elements(); ++i) {
    const bool is_in_part = i / before.dim(1) == 3 || i / before.dim(1) == 4;
    EXPECT_EQ(after.values<float>()[i], before.values<float>()[i] / (is_in_part ? 2 : 1)) << i;
  }
}

// The restore op of such models fills other variables with the same tensors of the checkpoint.
TEST(SavingModels, WhatSignaturesReadIsWhatCounts) {
  const TempFolder folder;
  const auto model = Load(Case("keras_bidirectional_masked/model"));
  Halve(*model, [](const auto& variable) { return !variable.handles.empty(); });
  const SavedModel::Inputs inputs = {
      {"ids", Tensor::FromValues<int32_t>({1, 2, 3, 0}, Shape::Trusted({1, 4}))}};
  const auto want = model->Run("serving_default", inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  ASSERT_TRUE(model->Save(folder.Path("again")).ok());
  const auto got = Load(folder.Path("again"))->Run("serving_default", inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  for (const auto& [name, value] : *want) EXPECT_EQ(BytesOf(got->at(name)), BytesOf(value));
}

TEST(SavingModels, AssetsComeWithThem) {
  const TempFolder folder;
  fs::copy(Case("asset_text/model"), folder.Path("first"), fs::copy_options::recursive);
  ASSERT_TRUE(Load(folder.Path("first"))->Save(folder.Path("second")).ok());
  fs::remove_all(folder.Path("first"));
  const auto model = Load(folder.Path("second"));
  EXPECT_THAT(model->assets(), ElementsAre(fs::absolute(folder.Path("second/assets/note.txt"))));
  const auto text = model->Run("read", {{"times", Tensor::Scalar(int32_t{1})}});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(text->at("text").scalar<std::string>(),
              HasSubstr(*ReadFile(folder.Path("second/assets/note.txt"))));
}

TEST(SavingModels, AModelMayBeSavedOverItself) {
  const TempFolder folder;
  fs::copy(Case("asset_text/model"), folder.Path("model"), fs::copy_options::recursive);
  const auto model = Load(folder.Path("model"));
  const auto first = model->Run("read", {{"times", Tensor::Scalar(int32_t{2})}});
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(model->Save(folder.Path("model")).ok());
  ExpectSameVariables(*model, *Load(folder.Path("model")));
}

// The value of the variable that all of the model's are given.
absl::StatusOr<float> ValueAt(const std::string& path) {
  const auto model = SavedModel::Load(path);
  if (!model.ok()) return model.status();
  const auto values = (*model)->session().ReadVariables(NamesOf(**model));
  if (!values.ok()) return values.status();
  std::set<float> found;
  for (const Tensor& value : *values) {
    const auto numbers = value.values<float>();
    found.insert(numbers.begin(), numbers.end());
  }
  if (found.size() != 1) return absl::InternalError("a mixture of models");
  return *found.begin();
}

// A small model of variables of floats, and a way to save it with all of them of one value.
class Filled {
 public:
  Filled() : model_(Load(Case("layers_three_signatures/model"))) {}
  absl::Status Save(const std::string& path, float number) const {
    std::vector<std::pair<std::string, Tensor>> values;
    for (const SavedModel::Variable& variable : model_->variables()) {
      const Tensor old = model_->session().ReadVariables({{variable.name}})->front();
      Tensor fresh = *Tensor::Make(DType::kFloat, old.shape());
      for (float& element : fresh.mutable_values<float>()) element = number;
      values.emplace_back(variable.name, fresh);
    }
    GYRE_RETURN_IF_ERROR(model_->session().AssignVariables(values));
    return model_->Save(path);
  }

 private:
  const std::unique_ptr<SavedModel> model_;
};

TEST(SavingModels, AKilledWriterLeavesTheOldOrTheNewOne) {
  const TempFolder folder(TempFolder::kInMemory);
  const std::string path = folder.Path("model");
  const Filled model;
  ASSERT_TRUE(model.Save(path, 0).ok());
  const int kills = test::KillAtRandomMoments(
      100,
      [&] {
        for (int i = 1;; ++i) {
          if (!model.Save(path, static_cast<float>(i)).ok()) ::_exit(1);
        }
      },
      [&] { EXPECT_TRUE(ValueAt(path).ok()) << ValueAt(path).status(); });
  EXPECT_EQ(kills, 100);
  ASSERT_TRUE(model.Save(path, 5).ok());
  EXPECT_EQ(*ValueAt(path), 5);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(SavingModels, OfTwoWritersAtOnceOneWinsAndReadersSeeOneWhole) {
  const TempFolder folder(TempFolder::kInMemory);
  const std::string path = folder.Path("model");
  ASSERT_TRUE(Filled().Save(path, 0).ok());
  std::atomic<int> writing = 2;
  const auto write = [&](float first) {
    const Filled model;
    for (float number = first; number < first + 20; ++number) {
      const absl::Status status = model.Save(path, number);
      EXPECT_TRUE(status.ok()) << status;
    }
    --writing;
  };
  std::thread one(write, 100.0f), two(write, 200.0f);
  while (writing > 0) {
    const absl::StatusOr<float> value = ValueAt(path);
    EXPECT_TRUE(value.ok()) << value.status();
  }
  one.join();
  two.join();
  EXPECT_TRUE(*ValueAt(path) == 119 || *ValueAt(path) == 219);
}

TEST(SavingModels, EachCallOfTheSystemThatFailsOnceIsAnErrorAndLeavesTheOldOrTheNew) {
  const TempFolder folder(TempFolder::kInMemory);
  const std::string path = folder.Path("model");
  const Filled model;
  float last = 0;
  ASSERT_TRUE(model.Save(path, last).ok());
  const std::vector<std::string> files = test::FilesBelow(folder.path());
  const int calls = test::FailEachCall(
      [&] { return model.Save(path, last + 1); },
      [&](const test::FaultCase& fault, const absl::Status& status) {
        absl::StatusOr<float> found = ValueAt(path);
        ASSERT_TRUE(found.ok()) << fault << found.status();
        EXPECT_TRUE(*found == last + 1 || (!status.ok() && *found == last)) << fault << status;
        last = *found;
        if (fault.MayLeaveFiles()) {
          EXPECT_TRUE(model.Save(path, last).ok()) << fault;
        }
        EXPECT_THAT(test::FilesBelow(folder.path()), ::testing::SizeIs(files.size())) << fault;
      });
  EXPECT_GT(calls, 50);
}

TEST(SavingModels, EachCallOfTheSystemThatFailsOnceWhileLoadingIsAnError) {
  for (const std::string name :
       {"asset_text/model", "v1_simple_ref/model", "dtypes_sharded/model"}) {
    const auto want = Load(Case(name));
    absl::StatusOr<std::unique_ptr<SavedModel>> model;
    const int calls = test::FailEachCall(
        [&] {
          model = SavedModel::Load(Case(name));
          return model.status();
        },
        [&](const test::FaultCase& fault, const absl::Status& status) {
          if (status.ok()) {
            ExpectSameVariables(*want, **model);
          } else {
            EXPECT_TRUE(absl::StrContains(status.message(), name)) << fault << status;
          }
        });
    EXPECT_GT(calls, 10) << name;
  }
}

TEST(SavingModels, MistakesAreNamed) {
  const TempFolder folder;
  const auto meta = Load(Case("v1_meta_sharded/v1/model.meta"));
  EXPECT_THAT(std::string(meta->Save(folder.Path("again")).message()),
              HasSubstr("it takes a file NAME.meta"));
  fs::copy(Case("counter/model"), folder.Path("model"), fs::copy_options::recursive);
  const auto model = Load(folder.Path("model"));
  fs::remove_all(folder.Path("model"));
  EXPECT_EQ(model->Save(folder.Path("again")).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(folder.Path("again/saved_model.pb")));
}

}  // namespace
}  // namespace gyre
