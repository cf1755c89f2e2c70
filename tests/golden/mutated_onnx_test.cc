// Golden graphs with one attribute or edge changed, written as ONNX models and read again: each is
// refused, or gives what the graph gives. GYRE_TEST_SEED draws another sample, GYRE_TEST_LONG a
// larger one.
#include <iostream>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "golden/case.h"
#include "golden/compare.h"
#include "graphdef/import.h"
#include "gtest/gtest.h"
#include "gyre/core/session.h"
#include "ir/verifier.h"
#include "onnx/import.h"
#include "ops/registry.h"
#include "session/names.h"
#include "session/onnx/onnx_file.h"
#include "support/firing_limit.h"
#include "support/paths.h"
#include "support/races.h"
#include "support/structure_mutator.h"
#include "support/transcript.h"
#include "tensor/io/file.h"

namespace gyre::golden {
namespace {

constexpr size_t kMaxNodes = 250;
constexpr int kMutants = 400;
constexpr int kMutantsOfLongTest = 20'000;
constexpr int64_t kMostFirings = 20'000;
constexpr Tolerance kTolerance = {1e-4, 1e-5};

struct Original {
  std::string id;
  Step step;
  std::shared_ptr<const Program> program;
  std::unique_ptr<test::StructureMutator> mutator;
};

std::vector<Original> Originals() {
  std::vector<Original> all;
  for (const char* group : {"cond_v1", "cond_v2", "while_v1", "while_v2", "functions", "arrays",
                            "primitives", "fuzz", "gradgraphs_v2"}) {
    const auto folders = FindCases(test::SourcePath(absl::StrCat("tests/golden/", group)));
    for (const std::string& folder : *folders) {
      const auto golden = ReadCase(folder);
      if (!golden.ok() || golden->steps.empty() || golden->load_error) continue;
      const Step& step = golden->steps[0];
      if (step.error || step.fetches.empty() || !golden->init.empty()) continue;
      // Elements that a mutant never writes have as many rows as the others in Gyre, none in ONNX.
      if (absl::StrContains(golden->name, "split_concat")) continue;
      const auto program = ImportGraphDef(*ReadFile(golden->graph_path()), Ops());
      if (!program.ok() || (*program)->main().nodes.size() > kMaxNodes) continue;
      all.push_back(
          {golden->id(), step, *program, std::make_unique<test::StructureMutator>(*program)});
    }
  }
  return all;
}

absl::StatusOr<std::vector<Tensor>> Results(std::shared_ptr<const Program> program,
                                            const SessionOptions& session_options,
                                            const Feeds& feeds,
                                            const std::vector<std::string>& fetches,
                                            RunObserver* observer) {
  const auto session = Session::Create(std::move(program), session_options);
  if (!session.ok()) return session.status();
  RunOptions options;
  options.timeout_ms = 20'000;
  options.budget_bytes = 64 << 20;
  options.observer = observer;
  return (*session)->Run(feeds, fetches, {}, options);
}

// Of a list whose elements' shape nobody says those that are never written are no zeros in ONNX:
// joining them with the others fails, and so does writing behind them.
bool HasUnwrittenElements(const absl::Status& status) {
  const bool is_joined = absl::StrContains(status.message(), "ConcatOp : ") &&
                         absl::StrContains(status.message(), "Stack");
  return is_joined || absl::StrContains(status.message(), "Trying to modify element");
}

class MutatedOnnx : public ::testing::Test {
 protected:
  void Try(const Original& original, const test::StructureMutant& mutant) {
    SCOPED_TRACE(absl::StrCat(original.id, ": ", mutant.change));
    if (mutant.program == nullptr || !Verify(*mutant.program, Dialect::kAny).ok()) return;
    auto signature = MainNames(*mutant.program)
                         .FindSignature(NamesOf(original.step.feeds), original.step.fetches);
    if (!signature.ok()) return;
    const auto file = ExportAsOnnx(SourceOf(mutant.program, *std::move(signature)));
    if (!file.ok()) {
      EXPECT_FALSE(absl::IsInternal(file.status())) << file.status();
      ++refused_;
      return;
    }
    const auto model = ImportOnnx(file->model, Ops());
    test::FiringLimit limit(kMostFirings);
    test::MergeWatch merges(mutant.program->main());
    ObserverList observers;
    observers.Add(&limit);
    observers.Add(&merges);
    SessionOptions one_thread;
    one_thread.parallel.threads = 1;
    one_thread.print = [](absl::string_view, absl::string_view) {};
    const auto want =
        Results(mutant.program, one_thread, original.step.feeds, original.step.fetches, &observers);
    if (limit.is_reached() || merges.has_two_live_inputs() || !want.ok()) return;
    if (test::MayRace(*mutant.program, original.step.fetches, NamesOf(original.step.feeds))) return;
    if (!model.ok()) {
      // What cannot succeed is said when it is read, be it in a branch that is never taken.
      EXPECT_FALSE(absl::IsInternal(model.status())) << model.status();
      return;
    }
    Feeds feeds;
    for (size_t i = 0; i < original.step.feeds.size(); ++i)
      feeds.emplace_back(model->inputs[i].endpoint, original.step.feeds[i].second);
    std::vector<std::string> fetches;
    for (const OnnxValue& output : model->outputs) fetches.push_back(output.endpoint);
    const auto got = Results(model->program, {}, feeds, fetches, nullptr);
    if (HasUnwrittenElements(got.status())) return;
    ASSERT_TRUE(got.ok()) << got.status();
    for (size_t i = 0; i < want->size(); ++i) {
      const auto difference = Difference((*got)[i], (*want)[i], kTolerance);
      EXPECT_FALSE(difference.has_value()) << original.step.fetches[i] << ": " << *difference;
    }
    ++judged_;
  }

  int refused_ = 0, judged_ = 0;
};

TEST_F(MutatedOnnx, GivesTheSameOrIsRefused) {
  const uint64_t seed = ::gyre::testing::TestSeed();
  SCOPED_TRACE(absl::StrCat("GYRE_TEST_SEED=", seed));
  std::mt19937_64 random(seed);
  const std::vector<Original> originals = Originals();
  ASSERT_GT(originals.size(), 100u);
  const int count = ::gyre::testing::IsLongTest() ? kMutantsOfLongTest : kMutants;
  for (int i = 0; i < count && !HasFailure(); ++i) {
    const Original& original = originals[random() % originals.size()];
    Try(original, original.mutator->Make(original.mutator->Draw(random)));
  }
  std::cout << judged_ << " judged, " << refused_ << " refused\n";
  EXPECT_GT(judged_, count / 10);
}

}  // namespace
}  // namespace gyre::golden
