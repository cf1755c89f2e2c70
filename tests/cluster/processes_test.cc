// Workers as processes, of which one dies or stops in the middle of a loop: the client is told who,
// and where in the loop; nothing is left behind, and who lives serves on.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/env.h"
#include "cluster/worker_process.h"
#include "gmock/gmock.h"
#include "gyre/core/session.h"
#include "support/cluster/loop_on_two.h"
#include "support/cluster/workers.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/run_text.h"
#include "support/temp_folder.h"
#include "support/transcript.h"

namespace gyre::cluster {
namespace {

using test::Process;
using test::WorkerProcess;
using test::Workers;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr const char* kToken = WorkerProcess::kToken;
constexpr int kFailureMs = 2000;
const WorkerProcess::Options kOptions = {.failure_ms = kFailureMs};

// A loop that counts on worker 0, and prints and multiplies by w on worker 1.
const std::string kLoop = test::LoopOnTwo("While", R"(
  %text = Const() value=string{"step"} : string on "/job:worker/task:1"
  %print = PrintV2(%text) output_stream="stderr" on "/job:worker/task:1")");

std::set<std::string> SharedMemoryFiles() {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
    const std::string name = entry.path().filename();
    // Folders of other tests, which run beside this one, are there too.
    if (absl::StrContains(name, "gyre") && !absl::StartsWith(name, "gyre-test-"))
      names.insert(entry.path());
  }
  return names;
}

Feeds LoopFeeds(int n, float w) {
  return {{"n", Tensor::Scalar(int32_t{n})}, {"w", Tensor::Scalar(w)}};
}

// A client's session, which counts what is printed.
struct Client {
  Client(const WorkerProcess& zero, const WorkerProcess& one, Transport transport,
         int failure_ms = kFailureMs) {
    ClusterOptions cluster;
    cluster.workers = {zero.address(), one.address()};
    cluster.token = kToken;
    cluster.transport = transport;
    cluster.failure_timeout_ms = failure_ms;
    const auto engine = ConnectCluster(cluster);
    EXPECT_TRUE(engine.ok()) << engine.status();
    if (!engine.ok()) return;
    SessionOptions options;
    options.cluster = *engine;
    options.print = [this](absl::string_view, absl::string_view) { ++printed; };
    session = testing::SessionFor(kLoop, options);
  }
  std::atomic<int> printed{0};
  std::unique_ptr<Session> session;
};

TEST(Processes, DieOrStopAndLeaveTheOthersServing) {
  const int rounds = testing::IsLongTest() ? 200 : 6;
  constexpr int kForEver = 2'000'000'000;
  const std::set<std::string> files = SharedMemoryFiles();
  std::mt19937_64 random(testing::TestSeed());
  auto zero = std::make_unique<WorkerProcess>(kOptions),
       one = std::make_unique<WorkerProcess>(kOptions);
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const bool dies = round % 2 == 0;
    const int who = static_cast<int>(random() % 2);
    const int prints = static_cast<int>(1 + random() % 200);
    const Transport transport = random() % 2 == 0 ? Transport::kTcp : Transport::kSharedMemory;
    std::unique_ptr<WorkerProcess>& victim = who == 0 ? zero : one;
    const std::unique_ptr<WorkerProcess>& survivor = who == 0 ? one : zero;
    const size_t descriptors = survivor->Count("fd");
    {
      Client client(*zero, *one, transport);
      ASSERT_NE(client.session, nullptr);
      absl::Status status;
      std::thread run(
          [&] { status = client.session->Run(LoopFeeds(kForEver, 1), {"loop:2"}).status(); });
      EXPECT_TRUE(Workers::Eventually([&] { return client.printed >= prints; }));
      const int64_t begin = SystemClock().NowNanos();
      victim->process().Signal(dies ? SIGKILL : SIGSTOP);
      run.join();
      EXPECT_LT((SystemClock().NowNanos() - begin) / 1'000'000, kFailureMs + 1000);
      EXPECT_TRUE(absl::IsUnavailable(status)) << status;
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(absl::StrCat("worker ", who, " (", victim->address(), ")")),
                        HasSubstr("loop"), HasSubstr("iteration")));
    }
    if (dies) {
      EXPECT_EQ(victim->process().Wait(), -SIGKILL);
      victim = std::make_unique<WorkerProcess>(kOptions);
    } else {
      victim->process().Signal(SIGCONT);
    }
    // The step, its channel and its client's link are gone.
    EXPECT_TRUE(Workers::Eventually([&] { return survivor->Count("fd") <= descriptors; }))
        << survivor->Count("fd") << " descriptors, before " << descriptors;
    Client next(*zero, *one, transport);
    ASSERT_NE(next.session, nullptr);
    EXPECT_EQ(testing::RunScalar<float>(*next.session, LoopFeeds(5, 2), "loop:2"), 32.0f);
  }
  // No thread stays behind with a step: there are about as many as after one.
  WorkerProcess fresh(kOptions);
  for (int i = 0; i < 3; ++i) {
    Client client(fresh, *one, Transport::kTcp);
    ASSERT_NE(client.session, nullptr);
    EXPECT_EQ(testing::RunScalar<float>(*client.session, LoopFeeds(5, 2), "loop:2"), 32.0f);
  }
  EXPECT_LE(one->Count("task"), fresh.Count("task") + 4);
  EXPECT_EQ(SharedMemoryFiles(), files);
  for (WorkerProcess* const each : {zero.get(), one.get(), &fresh}) {
    each->process().Signal(SIGTERM);
    EXPECT_EQ(each->process().Wait(), 0);
  }
}

// Whether none of a process's threads runs any more, after SIGSTOP.
bool HasStopped(pid_t pid) {
  for (const auto& task :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"))) {
    std::string text;
    std::getline(std::ifstream(task.path() / "stat"), text);
    if (!absl::StrContains(text, ") T ")) return false;
  }
  return true;
}

// A worker that says nothing any more does not keep the client beyond the time that a run has, or
// after a cancellation, however long it is until the worker counts as gone.
TEST(Processes, ThatAreFrozenHoldUpNoDeadline) {
  constexpr int kForEver = 2'000'000'000;
  constexpr int kPatientMs = 20'000;  // the failure time
  const WorkerProcess::Options options = {.failure_ms = kPatientMs};
  WorkerProcess zero(options), one(options);
  for (const bool is_cancelled : {false, true}) {
    for (const Transport transport : {Transport::kTcp, Transport::kSharedMemory}) {
      Client client(zero, one, transport, kPatientMs);
      ASSERT_NE(client.session, nullptr);
      Cancellation cancellation;
      RunOptions run_options;
      run_options.timeout_ms = is_cancelled ? 0 : 1000;
      run_options.cancellation = &cancellation;
      absl::Status status;
      int64_t end = 0;
      std::thread run([&] {
        status = client.session->Run(LoopFeeds(kForEver, 1), {"loop:2"}, {}, run_options).status();
        end = SystemClock().NowNanos();
      });
      EXPECT_TRUE(Workers::Eventually([&] { return client.printed >= 10; }));
      const int64_t begin = SystemClock().NowNanos();
      one.process().Signal(SIGSTOP);
      EXPECT_TRUE(Workers::Eventually([&] { return HasStopped(one.process().pid()); }));
      if (is_cancelled) cancellation.Cancel(absl::CancelledError("enough"));
      run.join();
      one.process().Signal(SIGCONT);
      EXPECT_TRUE(is_cancelled ? absl::IsCancelled(status) : absl::IsDeadlineExceeded(status))
          << status;
      EXPECT_LT((end - begin) / 1'000'000, 1000 + kPatientMs / 4)
          << (is_cancelled ? "cancelled, " : "") << status;
    }
  }
  // They serve the next.
  Client next(zero, one, Transport::kTcp, kPatientMs);
  ASSERT_NE(next.session, nullptr);
  EXPECT_EQ(testing::RunScalar<float>(*next.session, LoopFeeds(5, 2), "loop:2"), 32.0f);
}

// The same from the command line.
TEST(Processes, TellWhoUsesThemWhichOneDied) {
  const test::TempFolder folder;
  const std::string graph = folder.Write("loop.gyre", absl::StrCat("program\n", kLoop));
  auto zero = std::make_unique<WorkerProcess>(kOptions);
  WorkerProcess one(kOptions);
  Process client({test::BuildPath("bin/gyre"), "run", graph, "--cluster",
                  absl::StrCat(zero->address(), ",", one.address()), "--feed", "n=2000000000",
                  "--feed", "w=1", "--fetch", "loop:2"},
                 STDERR_FILENO, {{"GYRE_TOKEN", kToken}});
  ASSERT_EQ(client.NextLine(), "step");
  const std::string address = zero->address();
  zero->process().Signal(SIGKILL);
  std::string text, line;
  while (!(line = client.NextLine()).empty()) {
    if (line != "step") absl::StrAppend(&text, line, "\n");
  }
  EXPECT_EQ(client.Wait(), 1);
  EXPECT_THAT(text, AllOf(HasSubstr(absl::StrCat("worker 0 (", address, ")")), HasSubstr("loop"),
                          HasSubstr("iteration")));
}

}  // namespace
}  // namespace gyre::cluster
