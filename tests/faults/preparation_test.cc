// Every allocation of a load, of a session that is made, compiles and runs, and of gradients fails
// once: an error of the user's grammar or what would have come anyway, the same again afterwards,
// and nothing left behind.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "faults/experiment.h"
#include "session/gradient_program.h"
#include "session/names.h"
#include "session/program_file.h"
#include "support/temp_folder.h"

namespace gyre::faults {
namespace {

using testing::LoadedCase;

class AllocationFaultsOfPreparations : public AllocationFaults {
 protected:
  const std::vector<LoadedCase> cases_ = testing::SampleCases(50, random_);
};

TEST_F(AllocationFaultsOfPreparations, Loads) {
  const test::TempFolder folder(test::TempFolder::kInMemory);
  for (const LoadedCase& one : cases_) {
    for (const char* name : {"graph.pb", "graph.pbtxt", "graph.gyre"}) {
      const std::string path = folder.Path(name);
      const absl::Status saved = SaveProgramFile(*one.program, path);
      ASSERT_TRUE(saved.ok()) << saved;
      const auto load = [&](Results& results) {
        results.push_back(ResultOf(Session::Load(path).status()));
      };
      const std::string what = absl::StrCat("loads of ", one.golden.id(), " from ", name);
      LeavesNothing(what, [&](int64_t most) { Try({what, load}, most); }, {}, Most(6));
      if (HasFailure()) return;
    }
  }
}

TEST_F(AllocationFaultsOfPreparations, SessionsThatCompileAndRun) {
  for (const LoadedCase& one : cases_) {
    std::vector<std::vector<std::string>> init;
    for (const std::string& op : one.golden.init) init.push_back({op});
    for (const Setting& setting : Settings()) {
      const auto all = [&](Results& results) {
        const auto session = Session::Create(one.program, setting.options);
        results.push_back(ResultOf(session.status()));
        if (!session.ok()) return;
        for (const auto& targets : init) results.push_back((*session)->Run({}, {}, targets));
        for (const golden::Step& step : one.golden.steps)
          results.push_back((*session)->Run(step.feeds, step.fetches, step.targets));
      };
      const std::string what = absl::StrCat("sessions of ", one.golden.id(), " on ", setting.name);
      LeavesNothing(what, [&](int64_t most) { Try({what, all}, most); }, setting.options, Most(4));
      if (HasFailure()) return;
    }
  }
}

TEST_F(AllocationFaultsOfPreparations, Gradients) {
  for (const LoadedCase& one : cases_) {
    for (const golden::Gradient& gradient : one.golden.gradients) {
      NamedGradientRequest request{.ys = gradient.ys,
                                   .xs = gradient.xs,
                                   .grad_ys = gradient.grad_ys,
                                   .order = gradient.order,
                                   .memory = {},
                                   .feeds = NamesOf(gradient.feeds)};
      const auto make = [&](Results& results) {
        results.push_back(ResultOf(MakeGradientProgram(one.program, request).status()));
      };
      const std::string what = absl::StrCat("gradients of ", one.golden.id());
      LeavesNothing(what, [&](int64_t most) { Try({what, make}, most); }, {}, Most(10));
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace gyre::faults
