// Every allocation fails once while models are loaded, checkpoints and bundles are written and
// read, and timelines are written: an error of the user's grammar or what would have come anyway,
// old or new in the files, and nothing left behind.
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/out_of_memory.h"
#include "bundle/reader.h"
#include "bundle/writer.h"
#include "faults/experiment.h"
#include "gyre/core/debug.h"
#include "gyre/core/saved_model.h"
#include "gyre/core/session.h"
#include "support/paths.h"
#include "support/run_text.h"
#include "support/temp_folder.h"

namespace gyre::faults {
namespace {

using test::TempFolder;

class AllocationFaultsOfFiles : public AllocationFaults {
 protected:
  void TryAndLeaveNothing(const Experiment& experiment, int64_t most) {
    LeavesNothing(experiment.what, [&](int64_t n) { Try(experiment, n); }, {}, most);
  }

  // Of the first step of a case, in one session.
  void TryTimelines(const std::string& what, const testing::LoadedCase& one, const Setting& setting,
                    int64_t most) {
    const std::string path = folder_.Path("timeline.json");
    const auto session = Session::Create(one.program, setting.options);
    ASSERT_TRUE(session.ok()) << session.status();
    const golden::Step& step = one.golden.steps[0];
    std::optional<TraceRecorder> recorder;
    RunOptions watched;
    const auto begin = [&] {
      recorder.emplace();
      watched.observer = &*recorder;
    };
    const auto run = [&](Results& results) {
      results.push_back((*session)->Run(step.feeds, step.fetches, step.targets, watched));
      results.push_back(ResultOf(WriteTrace(path, {&*recorder})));
    };
    Try({what, run, begin, [&] { recorder.reset(); }}, most);
  }

  const TempFolder folder_{TempFolder::kInMemory};
};

TEST_F(AllocationFaultsOfFiles, ModelsAreLoaded) {
  for (const char* name : {"counter/model", "train_step/model", "asset_text/model",
                           "v1_meta_partitioned/v1/model.meta"}) {
    const std::string path = test::SourcePath(absl::StrCat("tests/saved_models/", name));
    ASSERT_TRUE(SavedModel::IsAt(path)) << path;
    const auto load = [&](Results& results) {
      results.push_back(ResultOf(SavedModel::Load(path).status()));
    };
    TryAndLeaveNothing({absl::StrCat("loads of ", name), load}, Most(60));
    if (HasFailure()) return;
  }
}

TEST_F(AllocationFaultsOfFiles, ModelsAreSaved) {
  const auto model = SavedModel::Load(test::SourcePath("tests/saved_models/counter/model"));
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string path = folder_.Path("model");
  const absl::Status first = (*model)->Save(path);
  ASSERT_TRUE(first.ok()) << first;
  const auto save = [&](Results& results) { results.push_back(ResultOf((*model)->Save(path))); };
  const auto can_be_loaded = [&] {
    const absl::Status status = SavedModel::Load(path).status();
    EXPECT_TRUE(status.ok()) << status;
  };
  TryAndLeaveNothing({"models saved", save, [] {}, can_be_loaded}, Most(60));
}

// Two variables, of one value.
class AllocationFaultsOfCheckpoints : public AllocationFaultsOfFiles {
 protected:
  void Assign(float value) {
    const absl::Status status =
        session_->AssignVariables({{"v", Tensor::Scalar(value)}, {"w", Tensor::Scalar(value)}});
    ASSERT_TRUE(status.ok()) << status;
  }
  void Save() {
    const absl::Status status = SaveCheckpoint(*session_, path_);
    ASSERT_TRUE(status.ok()) << status;
  }
  void Restore() {
    const absl::Status status = RestoreCheckpoint(*session_, path_).status();
    ASSERT_TRUE(status.ok()) << status;
  }
  // NaN when they differ.
  float Value() {
    const auto values = session_->ReadVariables(std::vector<std::string>{"v", "w"});
    if (!values.ok()) return -1;
    const float v = (*values)[0].scalar<float>(), w = (*values)[1].scalar<float>();
    return v == w ? v : std::numeric_limits<float>::quiet_NaN();
  }

  const std::unique_ptr<Session> session_ = testing::SessionFor(R"(
graph {
  %v = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource
  %w = VarHandleOp() dtype=float32 shape=() shared_name="w" : resource
}
)");
  const std::string path_ = folder_.Path("checkpoint");
};

TEST_F(AllocationFaultsOfCheckpoints, AreOldOrNew) {
  bool is_new = false;
  const auto begin = [&] {
    Assign(1);
    Save();
    Assign(2);
  };
  const auto save = [&](Results& results) {
    const absl::Status status = SaveCheckpoint(*session_, path_);
    is_new = status.ok();
    results.push_back(ResultOf(status));
  };
  const auto old_or_new = [&] {
    Restore();
    if (is_new || Value() != 1) {
      EXPECT_EQ(Value(), 2);
    }
  };
  TryAndLeaveNothing({"checkpoints saved", save, begin, old_or_new}, Most(300));
}

TEST_F(AllocationFaultsOfCheckpoints, AreRestoredWholeOrNotAtAll) {
  Assign(2);
  Save();
  bool is_restored = false;
  const auto begin = [&] { Assign(1); };
  const auto restore = [&](Results& results) {
    const absl::Status status = RestoreCheckpoint(*session_, path_).status();
    is_restored = status.ok();
    results.push_back(ResultOf(status));
  };
  const auto all_or_none = [&] { EXPECT_EQ(Value(), is_restored ? 2 : 1); };
  TryAndLeaveNothing({"checkpoints restored", restore, begin, all_or_none}, Most(300));
}

TEST_F(AllocationFaultsOfFiles, BundlesAreOldOrNew) {
  const std::string prefix = folder_.Path("bundle");
  const auto items = [](float value) {
    return std::vector<BundleItem>{{"v", Tensor::Scalar(value), {}},
                                   {"text", Tensor::Scalar(std::string(100, 'x')), {}}};
  };
  const std::vector<BundleItem> before = items(1), after = items(2);
  const auto value = [&]() -> absl::StatusOr<float> {
    return CatchOutOfMemory("this bundle", [&]() -> absl::StatusOr<float> {
      const auto reader = BundleReader::Open(prefix);
      if (!reader.ok()) return reader.status();
      const auto tensor = reader->Read("v");
      if (!tensor.ok()) return tensor.status();
      const absl::Status text = reader->Read("text").status();
      if (!text.ok()) return text;
      return tensor->scalar<float>();
    });
  };
  bool is_new = false;
  const auto begin = [&] {
    const absl::Status status = WriteBundle(prefix, before);
    ASSERT_TRUE(status.ok()) << status;
  };
  const auto write = [&](Results& results) {
    const absl::Status status =
        CatchOutOfMemory("this bundle", [&] { return WriteBundle(prefix, after); });
    is_new = status.ok();
    results.push_back(ResultOf(status));
    results.push_back(ResultOf(value().status()));
  };
  const auto old_or_new = [&] {
    const auto found = value();
    ASSERT_TRUE(found.ok()) << found.status();
    if (is_new || *found != 1) {
      EXPECT_EQ(*found, 2);
    }
  };
  TryAndLeaveNothing({"bundles written and read", write, begin, old_or_new}, Most(300));
}

TEST_F(AllocationFaultsOfFiles, TimelinesOfRuns) {
  for (const testing::LoadedCase& one : testing::SampleCases(8, random_)) {
    if (!one.golden.init.empty()) continue;
    for (const Setting& setting : Settings()) {
      if (setting.options.parallel.threads > 1 || !setting.options.devices.empty()) continue;
      const std::string what = absl::StrCat("timelines of ", one.golden.id(), " on ", setting.name);
      LeavesNothing(
          what, [&](int64_t most) { TryTimelines(what, one, setting, most); }, setting.options,
          Most(20));
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace gyre::faults
