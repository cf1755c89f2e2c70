// Variables of a session on workers, seen from outside of runs; what sessions on one cluster share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "cluster/serve.h"
#include "gyre/core/session.h"
#include "support/run_text.h"
#include "support/temp_folder.h"

namespace gyre::testing {
namespace {

using ::testing::ElementsAre;

constexpr char kToken[] = "a token of these tests";

// a lives on worker 1, b where nothing asks for a place, c in a function that nobody calls.
constexpr char kModel[] = R"(graph {
  %a = VarHandleOp() dtype=float32 shape=(?) shared_name="a" : resource
  %read = ReadVariableOp(%a) dtype=float32 : float32[?] on "/job:worker/task:1"
  %value = Const() value=float32[2]{1, 1} : float32[2]
  %more = AssignAddVariableOp(%a, %value) dtype=float32
  %b = VarHandleOp() dtype=int32 shape=() shared_name="b" container="box" : resource
  %count = ReadVariableOp(%b) dtype=int32 : int32[]
}

func @idle() -> () {
  %c = VarHandleOp() dtype=float32 shape=() shared_name="c" : resource
}
)";

class VariablesOnWorkers : public ::testing::Test {
 protected:
  void SetUp() override {
    ClusterOptions options{.token = kToken};
    for (auto& worker : workers_) {
      auto serving = ServeWorker({.token = kToken});
      ASSERT_TRUE(serving.ok()) << serving.status();
      worker = *std::move(serving);
      options.workers.push_back(worker->address());
    }
    auto cluster = ConnectCluster(options);
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
  }
  std::unique_ptr<Session> Model() {
    return SessionFor(kModel, SessionOptions{.cluster = cluster_});
  }

  std::unique_ptr<cluster::Serving> workers_[2];
  std::shared_ptr<const Engine> cluster_;
};

Tensor Vec(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }

TEST_F(VariablesOnWorkers, AreReadAndAssigned) {
  const auto session = Model();
  const auto none = session->ReadVariables({"a", "box/b", "c"});
  ASSERT_TRUE(none.ok()) << none.status();
  for (const Tensor& value : *none) EXPECT_FALSE(value.has_value());
  const absl::Status assigned =
      session->AssignVariables({{"a", Vec({1, 2})}, {"box/b", Tensor::Scalar(7)}});
  ASSERT_TRUE(assigned.ok()) << assigned;
  // Runs find them where they were put.
  const auto run = session->Run({}, {"read:0", "count:0"});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT((*run)[0].values<float>(), ElementsAre(1, 2));
  EXPECT_EQ((*run)[1].scalar<int32_t>(), 7);
  const auto more = session->Run({}, {}, {"more"});
  ASSERT_TRUE(more.ok()) << more.status();
  const auto some = session->ReadVariables({"c", "a"});
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_FALSE((*some)[0].has_value());
  EXPECT_THAT((*some)[1].values<float>(), ElementsAre(2, 3));
}

TEST_F(VariablesOnWorkers, RefuseWhatDoesNotFit) {
  const auto session = Model();
  EXPECT_EQ(session->ReadVariables({"b"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(session->AssignVariables({{"d", Vec({1})}}).code(), absl::StatusCode::kNotFound);
  const absl::Status wrong =
      session->AssignVariables({{"a", Vec({1})}, {"box/b", Tensor::Scalar(1.5f)}});
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(wrong.message(), "variable 'box/b' takes int32[], not float32[]"));
  EXPECT_FALSE((*session->ReadVariables({"a"}))[0].has_value());
}

TEST_F(VariablesOnWorkers, AreSavedAndRestored) {
  const test::TempFolder folder;
  const auto saved = Model(), restored = Model();
  ASSERT_TRUE(saved->AssignVariables({{"a", Vec({3})}, {"c", Tensor::Scalar(4.0f)}}).ok());
  const absl::Status status = SaveCheckpoint(*saved, folder.path(), {.variables = {"a", "c"}});
  ASSERT_TRUE(status.ok()) << status;
  const auto names = RestoreCheckpoint(*restored, folder.path(), {.partial = true});
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, ElementsAre("a", "c"));
  EXPECT_THAT((*restored->ReadVariables({"a"}))[0].values<float>(), ElementsAre(3));
}

TEST_F(VariablesOnWorkers, BelongToASessionWhateverItsOptionsAndProgram) {
  const auto session = Model(), other = Model();
  ASSERT_TRUE(session->AssignVariables({{"a", Vec({5})}}).ok());
  const auto changed = session->WithOptions(
      session->shared_program(), SessionOptions{.parallel = {.window = 1}, .cluster = cluster_});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_THAT((*(*changed)->ReadVariables({"a"}))[0].values<float>(), ElementsAre(5));
  EXPECT_FALSE((*other->ReadVariables({"a"}))[0].has_value());
}

}  // namespace
}  // namespace gyre::testing
