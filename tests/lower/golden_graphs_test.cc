// Every golden graph, once as it is and once lowered: both mean the same.
#include <algorithm>
#include <iostream>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "golden/case.h"
#include "golden/compare.h"
#include "gtest/gtest.h"
#include "ir/verifier.h"
#include "lower/facts.h"
#include "lower/lowering.h"
#include "session/names.h"
#include "session/program_file.h"
#include "support/paths.h"

namespace gyre::testing {
namespace {

// What came of one run, in words.
std::string Outcome(const absl::StatusOr<std::vector<Tensor>>& result) {
  if (!result.ok()) return absl::StrCat("error: ", result.status().ToString());
  return absl::StrCat(result->size(), " values");
}

bool DrawsRandomNumbers(const Program& program) {
  const auto draws = [](const Function& function) {
    return std::any_of(function.nodes.begin(), function.nodes.end(), [](const Node& node) {
      return node.op != nullptr && node.op->traits.effect == Effect::kRandom;
    });
  };
  if (draws(program.main())) return true;
  return std::any_of(program.functions().begin(), program.functions().end(),
                     [&](const auto& entry) { return draws(*entry.second); });
}

// How much of a program is lowered.
enum class Mode {
  kMain,       // the main graph, with all that can be expanded in it
  kFunctions,  // each function on its own; the main graph stays
  kCalls,      // each function on its own, and the main graph with nothing expanded in it
};

// The program with each of its functions lowered.
absl::StatusOr<std::shared_ptr<const Program>> LowerFunctions(const Program& program,
                                                              const LowerOptions& options) {
  lower::ProgramFacts facts(program);
  ProgramBuilder builder(program);
  for (const auto& [name, function] : program.functions()) {
    auto lowered = Lower(facts, *function, CallSignature(*function), options);
    // An unsound function fails when it is called, if ever.
    if (lowered.ok()) builder.SetFunction(std::move(lowered->function));
  }
  auto result = builder.Build();
  if (absl::Status status = Verify(*result, Dialect::kAny); !status.ok())
    return absl::InternalError(status.message());
  return result;
}

class Difference {
 public:
  Difference(const golden::Case& golden, Mode mode) : golden_(golden), mode_(mode) {}

  // A complaint, or nothing.
  std::string Find() {
    auto program = LoadProgramFile(golden_.graph_path());
    if (!program.ok()) return "";
    program_ = *std::move(program);
    base_ = program_;
    if (mode_ != Mode::kMain) {
      if (program_->functions().empty()) return "";
      auto lowered = LowerFunctions(*program_, Options());
      if (!lowered.ok()) return std::string(lowered.status().message());
      base_ = *std::move(lowered);
    }
    is_random_ = DrawsRandomNumbers(*program_);
    for (const std::string& op : golden_.init) Step({}, {}, {}, {op}, 0);
    for (const golden::Step& step : golden_.steps) {
      Step(NamesOf(step.feeds), ValuesOf(step.feeds), step.fetches, step.targets, step.timeout_ms);
    }
    if (complaint_.empty() && as_is_.printed() != lowered_.printed()) {
      complaint_ = absl::StrCat("printed\n", absl::StrJoin(as_is_.printed(), ""), "lowered:\n",
                                absl::StrJoin(lowered_.printed(), ""));
    }
    return complaint_;
  }

  int steps() const { return steps_; }

 private:
  LowerOptions Options() const {
    LowerOptions options;
    if (mode_ == Mode::kCalls) options.max_depth = 0;
    return options;
  }

  void Step(const std::vector<std::string>& feeds, const std::vector<Tensor>& values,
            const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
            int64_t timeout_ms) {
    const auto signature = MainNames(*program_).FindSignature(feeds, fetches, targets);
    if (!signature.ok() || !complaint_.empty()) return;
    ++steps_;
    constexpr int64_t kTimeoutMs = 60'000;
    if (timeout_ms == 0) timeout_ms = kTimeoutMs;
    const auto want = as_is_.Run(program_, *signature, values, timeout_ms);
    const auto got = RunLowered(*signature, values, timeout_ms);
    if (want.status().code() != got.status().code()) {
      complaint_ = absl::StrCat("wanted ", Outcome(want), "\n  got ", Outcome(got));
      return;
    }
    if (!want.ok() || is_random_) return;
    for (size_t i = 0; i < want->size(); ++i) {
      if (!golden::SameBits((*want)[i], (*got)[i]))
        absl::StrAppend(&complaint_, fetches[i], " differs\n");
    }
  }

  absl::StatusOr<std::vector<Tensor>> RunLowered(const RunSignature& signature,
                                                 const std::vector<Tensor>& values,
                                                 int64_t timeout_ms) {
    if (mode_ == Mode::kFunctions) return lowered_.Run(base_, signature, values, timeout_ms);
    auto lowered = LowerMain(*base_, signature, Options());
    if (!lowered.ok()) return lowered.status();
    if (mode_ == Mode::kMain) *lowered = Shuffled(*lowered, 1);
    return lowered_.Run(lowered->program, lowered->signature, values, timeout_ms);
  }

  const golden::Case& golden_;
  const Mode mode_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const Program> base_;  // what main graphs are lowered in
  bool is_random_ = false;
  Runner as_is_;
  Runner lowered_;
  std::string complaint_;
  int steps_ = 0;
};

constexpr const char* kGroups[] = {
    "arrays", "autodiff",      "cond_v1",       "cond_v2", "devices",    "errors",   "functions",
    "fuzz",   "gradgraphs_v1", "gradgraphs_v2", "models",  "primitives", "while_v1", "while_v2"};
constexpr std::pair<Mode, const char*> kModes[] = {
    {Mode::kMain, "main"}, {Mode::kFunctions, "functions"}, {Mode::kCalls, "calls"}};

class GoldenGraphs
    : public ::testing::TestWithParam<std::tuple<const char*, std::pair<Mode, const char*>>> {};

TEST_P(GoldenGraphs, MeanTheSameWhenLowered) {
  const auto& [group, mode] = GetParam();
  const auto folders = golden::FindCases(test::SourcePath(std::string("tests/golden/") + group));
  ASSERT_TRUE(folders.ok()) << folders.status();
  int cases = 0;
  int steps = 0;
  for (const std::string& folder : *folders) {
    const auto golden = golden::ReadCase(folder);
    ASSERT_TRUE(golden.ok()) << golden.status();
    Difference difference(*golden, mode.first);
    EXPECT_EQ(difference.Find(), "") << golden->id();
    steps += difference.steps();
    cases += difference.steps() > 0 ? 1 : 0;
  }
  std::cout << group << ": " << cases << " cases, " << steps << " runs\n";
  EXPECT_GT(cases, mode.first == Mode::kMain ? 0 : -1);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenGraphs,
                         ::testing::Combine(::testing::ValuesIn(kGroups),
                                            ::testing::ValuesIn(kModes)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param).second;
                         });

}  // namespace
}  // namespace gyre::testing
