// Models that were damaged: each is refused with a sentence, or becomes a program that runs or says
// why it cannot. GYRE_TEST_SEED draws other ones, GYRE_TEST_LONG more of them.
#include <filesystem>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "gyre/core/session.h"
#include "onnx/import.h"
#include "onnx/model_mutator.h"
#include "onnx/value_file.h"
#include "ops/registry.h"
#include "support/paths.h"
#include "support/transcript.h"
#include "tensor/io/file.h"

namespace gyre::onnx {
namespace {

constexpr int kMutants = 600;
constexpr int kMutantsOfLongTest = 20'000;
constexpr int64_t kTimeoutMs = 20'000;  // for a hang

struct Original {
  std::string name;
  std::string model;
  std::vector<std::string> inputs;  // files
};

// Those of tests/golden_onnx.
std::vector<Original> Originals() {
  std::vector<Original> originals;
  const std::string root = test::SourcePath("tests/golden_onnx");
  const auto names = ListFolder(root);
  EXPECT_TRUE(names.ok()) << names.status();
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    const std::string folder = absl::StrCat(root, "/", name);
    const auto model = ReadFile(folder + "/model.onnx");
    if (!model.ok()) continue;
    Original original = {name, *model, {}};
    for (int i = 0;; ++i) {
      const auto input = ReadFile(absl::StrCat(folder, "/test_data_set_0/input_", i, ".pb"));
      if (!input.ok()) break;
      original.inputs.push_back(*input);
    }
    originals.push_back(std::move(original));
  }
  return originals;
}

// A mistake of the model or its data, not of Gyre.
void ExpectItsOwn(const absl::Status& status) {
  EXPECT_FALSE(absl::IsInternal(status) || absl::IsUnknown(status) ||
               absl::IsDeadlineExceeded(status))
      << status;
}

class AdversarialModels : public ::testing::Test {
 protected:
  void Run(const OnnxModel& model, const std::vector<std::string>& inputs) {
    Feeds feeds;
    for (size_t i = 0; i < std::min(inputs.size(), model.inputs.size()); ++i) {
      const auto value = ReadOnnxValue(inputs[i], model.inputs[i].type);
      if (!value.ok()) return ExpectItsOwn(value.status());
      feeds.emplace_back(model.inputs[i].endpoint, *value);
    }
    SessionOptions options;
    options.parallel.threads = 1;
    const auto session = Session::Create(model.program, options);
    if (!session.ok()) return ExpectItsOwn(session.status());
    std::vector<std::string> fetches;
    for (const OnnxValue& output : model.outputs) fetches.push_back(output.endpoint);
    RunOptions run;
    run.timeout_ms = kTimeoutMs;
    run.budget_bytes = 64 << 20;
    const auto outputs = (*session)->Run(feeds, fetches, {}, run);
    if (!outputs.ok()) return ExpectItsOwn(outputs.status());
    ++ran_;
  }

  int ran_ = 0;
};

TEST_F(AdversarialModels, EndInValuesOrAStatus) {
  const std::vector<Original> originals = Originals();
  ASSERT_FALSE(originals.empty());
  std::vector<std::string> models;
  for (const Original& original : originals) models.push_back(original.model);
  const uint64_t seed = testing::TestSeed();
  SCOPED_TRACE(absl::StrCat("GYRE_TEST_SEED=", seed));
  ModelMutator mutator(seed, std::move(models));
  const int count = testing::IsLongTest() ? kMutantsOfLongTest : kMutants;
  int refused = 0;
  for (int i = 0; i < count && !HasFailure(); ++i) {
    const ModelMutator::Mutant mutant = mutator.Next();
    const Original& original = originals[mutant.original];
    SCOPED_TRACE(absl::StrCat("mutant ", i, " of ", original.name));
    const auto model =
        ImportOnnx(mutant.bytes, Ops(), {.folder = test::SourcePath("tests/golden_onnx")});
    if (!model.ok()) {
      ++refused;
      ExpectItsOwn(model.status());
      continue;
    }
    std::vector<std::string> inputs = original.inputs;
    if (i % 8 == 0 && !inputs.empty()) inputs[0] = mutator.Damage(inputs[0]);
    Run(*model, inputs);
  }
  std::cout << count << " mutants: " << refused << " refused, " << ran_ << " ran\n";
  EXPECT_GT(ran_, count / 10) << "too wild to get anywhere";
  EXPECT_GT(refused, count / 10) << "too tame";
}

}  // namespace
}  // namespace gyre::onnx
