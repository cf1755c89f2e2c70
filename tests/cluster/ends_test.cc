// A worker that is told to end does so, whatever it is doing, and leaves nothing behind.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "cluster/gate/knock.h"
#include "cluster/worker_process.h"
#include "gmock/gmock.h"
#include "support/cluster/loop_on_two.h"
#include "support/cluster/workers.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/temp_folder.h"
#include "support/transcript.h"

namespace gyre::cluster {
namespace {

using test::Process;
using test::WorkerProcess;
using test::Workers;
using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kGrace = 5 * kSecond;

int64_t Now() { return SystemClock().NowNanos(); }

// Prints forever on worker 1, while worker 0 counts.
const std::string kEndless = test::LoopOnTwo("While", R"(
  %text = Const() value=string{"step"} : string on "/job:worker/task:1"
  %print = PrintV2(%text) output_stream="stderr" on "/job:worker/task:1")");

// A product that takes about a second, over and over.
constexpr char kKernel[] = R"(graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %w = Placeholder() dtype=float32 shape=() : float32
  %zero = Const() value=int32{0} : int32
  %size = Const() value=int32[2]{3000, 3000} : int32[2]
  %full = Fill(%size, %w) : float32[?,?] on "/job:worker/task:0"
  %loop = While(%zero, %n, %full) cond=@more body=@step : (int32, int32, float32[?,?])
}
func @more(%i: int32, %n: int32, %x: float32[?,?]) -> (p: bool) {
  %less = Less(%i, %n) : bool
  return %less
}
func @step(%i: int32, %n: int32, %x: float32[?,?]) -> (i: int32, n: int32, x: float32) {
  %k = Const() value=int32{1} : int32
  %next = AddV2(%i, %k) : int32
  %product = MatMul(%x, %x) : float32[?,?] on "/job:worker/task:0"
  return %next, %n, %product
}
)";

// Functions each of which calls the next one twice: many nodes once they are put into their places.
std::string Doubling(int depth) {
  std::string text = R"(graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %w = Placeholder() dtype=float32 shape=() : float32
  %y = PartitionedCall(%w) f=@f0 Tin=[float32] Tout=[float32] : float32
  %loop = IdentityN(%n, %n, %y) T=[int32, int32, float32] : (int32, int32, float32)
}
)";
  for (int i = 0; i < depth; ++i) {
    const std::string next = absl::StrCat("@f", i + 1);
    absl::StrAppend(&text, "func @f", i,
                    "(%x: float32) -> (y: float32) {\n  %a = PartitionedCall(%x) f=", next,
                    " Tin=[float32] Tout=[float32] : float32\n  %b = PartitionedCall(%a) f=", next,
                    " Tin=[float32] Tout=[float32] : float32\n  return %b\n}\n");
  }
  absl::StrAppend(&text, "func @f", depth,
                  "(%x: float32) -> (y: float32) {\n  %y = Neg(%x) : float32\n  return %y\n}\n");
  return text;
}

bool IsRunning(const Process& process) {
  std::ifstream file(absl::StrCat("/proc/", process.pid(), "/stat"));
  std::stringstream text;
  text << file.rdbuf();
  const size_t name = text.str().rfind(") ");
  return name != std::string::npos && text.str()[name + 2] != 'Z';
}

// Names of Unix sockets that the process has, or had.
bool HasSockets(pid_t pid) {
  std::ifstream file("/proc/net/unix");
  std::stringstream text;
  text << file.rdbuf();
  return absl::StrContains(text.str(), absl::StrCat("@gyre-", pid, "-"));
}

enum class State : uint8_t {
  kIdle,
  kCompiling,
  kLoop,
  kKernel,
  kWaitsForPeer,
  kDeafClient,
  kStopped,
  kNoDescriptors,
  kGoneClient,
};
constexpr int kStates = 9;

class Ends : public ::testing::Test {
 protected:
  // A client that runs a program on these workers, until they end.
  std::unique_ptr<Process> Run(const std::string& name, const std::string& program,
                               const WorkerProcess& zero, const WorkerProcess& one) {
    const std::string graph = folder_.Write(name, absl::StrCat("program\n", program));
    return std::make_unique<Process>(
        std::vector<std::string>{test::BuildPath("bin/gyre"), "run", graph, "--cluster",
                                 absl::StrCat(zero.address(), ",", one.address()), "--feed",
                                 "n=2000000000", "--feed", "w=1", "--fetch", "loop:2"},
        STDERR_FILENO,
        std::vector<std::pair<std::string, std::string>>{{"GYRE_TOKEN", WorkerProcess::kToken}});
  }
  test::TempFolder folder_;
};

TEST_F(Ends, ComeInEveryStateWithinTheGraceTime) {
  const int rounds = testing::IsLongTest() ? 300 : 54;
  std::mt19937_64 random(testing::TestSeed());
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const auto state = static_cast<State>(round % kStates);
    const int signal = random() % 2 == 0 ? SIGTERM : SIGINT;
    WorkerProcess zero({.descriptors = state == State::kNoDescriptors ? 64 : 0}), one({});
    const pid_t pid = zero.process().pid();
    ASSERT_TRUE(HasSockets(pid));
    std::unique_ptr<Process> client;
    std::vector<Fd> connections;
    switch (state) {
      case State::kIdle:
        break;
      case State::kCompiling:
        client = Run("doubling.gyre", Doubling(15), zero, one);
        break;
      case State::kKernel:
        client = Run("kernel.gyre", kKernel, zero, one);
        break;
      case State::kNoDescriptors: {
        absl::StatusOr<Fd> next = absl::UnavailableError("");
        while ((next = Knock(zero.address(), WorkerProcess::kToken, kSecond / 2)).ok())
          connections.push_back(*std::move(next));
        break;
      }
      case State::kLoop:
      case State::kWaitsForPeer:
      case State::kDeafClient:
      case State::kStopped:
      case State::kGoneClient:
        client = Run("endless.gyre", kEndless, zero, one);
        ASSERT_EQ(client->NextLine(), "step");
    }
    if (state == State::kWaitsForPeer) one.process().Signal(SIGSTOP);
    if (state == State::kDeafClient) client->Signal(SIGSTOP);
    if (state == State::kGoneClient) client->Signal(SIGKILL);
    // Some moment of it.
    const int64_t until = Now() + static_cast<int64_t>(random() % 300'000'000);
    while (Now() < until) std::this_thread::yield();
    if (state == State::kStopped) zero.process().Signal(SIGSTOP);
    const int64_t begin = Now();
    zero.process().Signal(signal);
    if (state == State::kStopped) zero.process().Signal(SIGCONT);
    EXPECT_TRUE(Workers::Eventually([&] { return !IsRunning(zero.process()); }))
        << "state " << static_cast<int>(state);
    const int64_t took = Now() - begin;
    EXPECT_LT(took, kGrace + 2 * kSecond) << "state " << static_cast<int>(state);
    const int code = zero.process().Wait();
    EXPECT_TRUE(code == 0 || (code == 1 && took >= kGrace)) << code;
    EXPECT_FALSE(HasSockets(pid));
  }
}

// Before it has said where it is, the signal may find what Gyre is loaded by.
TEST_F(Ends, ComeWhileAWorkerStarts) {
  std::mt19937_64 random(testing::TestSeed());
  for (int round = 0; round < 20; ++round) {
    Process worker({test::BuildPath("bin/gyre"), "worker"}, STDOUT_FILENO);
    const int64_t until = Now() + static_cast<int64_t>(random() % 60'000'000);
    while (Now() < until) std::this_thread::yield();
    const pid_t pid = worker.pid();
    worker.Signal(SIGTERM);
    const int code = worker.Wait();
    EXPECT_TRUE(code == 0 || code == -SIGTERM) << code;
    EXPECT_FALSE(HasSockets(pid));
  }
}

// Here a worker cannot say where it is, since nobody reads that: nothing that it could wait for
// will come.
TEST_F(Ends, ComeToAWorkerThatHangs) {
  const std::string pipe = folder_.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Fd full(open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  const std::string bytes(4096, 'x');
  while (write(full.get(), bytes.data(), bytes.size()) > 0) {
  }
  for (const bool is_told_twice : {true, false}) {
    SCOPED_TRACE(is_told_twice);
    Process worker(
        {"/bin/sh", "-c", "exec \"$0\" worker > \"$1\"", test::BuildPath("bin/gyre"), pipe},
        STDERR_FILENO);
    // The gate is open by then.
    EXPECT_TRUE(Workers::Eventually([&] { return HasSockets(worker.pid()); }));
    const int64_t begin = Now();
    worker.Signal(SIGTERM);
    if (is_told_twice) {
      // Signals that wait are one: until the first has been taken.
      EXPECT_TRUE(Workers::Eventually([&] {
        worker.Signal(SIGTERM);
        return !IsRunning(worker);
      }));
    }
    EXPECT_THAT(worker.NextLine(),
                HasSubstr(is_told_twice ? "told to end twice" : "has not stopped 5 s"));
    EXPECT_EQ(worker.Wait(), 1);
    if (is_told_twice) {
      EXPECT_LT(Now() - begin, kGrace);
    } else {
      EXPECT_GE(Now() - begin, kGrace);
    }
  }
}

}  // namespace
}  // namespace gyre::cluster
