// Every system call that channels and the gate make fails, once, in turn: a run, or a client's
// call, succeeds or ends with an error that says who is concerned; nothing hangs, and no descriptor
// stays behind.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "cluster/faults.h"
#include "cluster/gate/gate.h"
#include "cluster/gate/knock.h"
#include "cluster/host.h"
#include "cluster/transport/socket.h"
#include "cluster/worker.h"
#include "gtest/gtest.h"
#include "support/cluster/loop_on_two.h"
#include "support/cluster/memory_link.h"
#include "support/cluster/workers.h"
#include "support/run_text.h"
#include "support/transcript.h"

namespace gyre::cluster {
namespace {

using test::Fault;
using test::Workers;

constexpr int64_t kSecond = 1'000'000'000;
// Which faults change nothing.
bool IsHarmless(const Fault& fault) { return fault.error == EINTR || fault.error == Fault::kShort; }

// Two workers on this machine and a client, whose links are memory and whose channels are sockets.
class Cluster {
 public:
  absl::Status Run(Transport transport, int64_t failure_nanos) {
    ClusterSettings settings;
    for (const char* const name : {"one", "two"}) {
      GYRE_RETURN_IF_ERROR(Start(name, failure_nanos));
      settings.addresses.emplace_back(name);
    }
    GYRE_ASSIGN_OR_RETURN(client_, MachineHost(""));
    settings.token = Workers::kToken;
    settings.transport = transport;
    settings.failure_nanos = failure_nanos;
    settings.first_step = 1;
    settings.secret = "a secret";
    settings.incarnation = 1000;
    GYRE_ASSIGN_OR_RETURN(auto engine, ConnectCluster(*client_, links_.dialer(), settings));
    // What is small is sent, what is large is asked for.
    const auto session = testing::SessionFor(test::LoopOnTwo("While", R"(
      %size = Const() value=int32[1]{100000} : int32[1]
      %full = Fill(%size, %x) : float32[?] on "/job:worker/task:0"
      %axis = Const() value=int32[1]{0} : int32[1]
      %largest = Max(%full, %axis) : float32 on "/job:worker/task:1"
      %twice = Mul(%largest, %w) : float32 on "/job:worker/task:1")",
                                                             "twice"),
                                             SessionOptions{.cluster = std::move(engine)});
    const auto run =
        session->Run({{"n", Tensor::Scalar(int32_t{5})}, {"w", Tensor::Scalar(2.0f)}}, {"loop:2"});
    if (!run.ok()) return run.status();
    EXPECT_EQ((*run)[0].scalar<float>(), 32.0f);
    return absl::OkStatus();
  }

 private:
  struct Member {
    std::unique_ptr<Host> host;
    std::unique_ptr<Worker> worker;
    std::shared_ptr<void> ticks;
    std::thread listener;
    ~Member() {
      ticks = nullptr;
      worker = nullptr;
      if (listener.joinable()) listener.join();
    }
  };

  absl::Status Start(const std::string& name, int64_t failure_nanos) {
    auto member = std::make_unique<Member>();
    GYRE_ASSIGN_OR_RETURN(member->host, MachineHost("127.0.0.1"));
    WorkerOptions options;
    options.token = Workers::kToken;
    options.threads = 2;
    options.incarnation = Workers::kFirstIncarnation + members_.size();
    options.failure_nanos = failure_nanos;
    Worker& worker = *(member->worker = std::make_unique<Worker>(*member->host, options));
    member->listener = std::thread(worker.StepListener());
    member->ticks = member->host->Every(kSecond / 50, [&worker] { worker.Tick(); });
    links_.Serve(name, [&worker](std::shared_ptr<ControlLink> link) {
      return worker.Accept(std::move(link));
    });
    members_.push_back(std::move(member));
    return absl::OkStatus();
  }

  std::unique_ptr<Host> client_;
  std::vector<std::unique_ptr<Member>> members_;
  test::MemoryLinks links_;  // whose threads call the workers
};

// A client calls a gate.
absl::Status CallGate(int64_t patience_nanos) {
  std::atomic<int> admitted{0};
  GateOptions options;
  options.token = Workers::kToken;
  options.patience_nanos = patience_nanos;
  GYRE_ASSIGN_OR_RETURN(const auto gate, Gate::Open({"127.0.0.1", 0}, options,
                                                    [&](const Fd& fd) { admitted += fd ? 1 : 0; }));
  for (int i = 0; i < 3; ++i) {
    GYRE_RETURN_IF_ERROR(
        Knock(gate->address().ToString(), Workers::kToken, patience_nanos).status());
  }
  EXPECT_TRUE(Workers::Eventually([&] { return admitted >= 3; }));
  return absl::OkStatus();
}

int OpenDescriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

// Of this machine, or of who is called.
bool NamesAParty(absl::string_view message) {
  for (const absl::string_view party : {"worker ", "127.0.0.1", "the client", "cannot make ",
                                        "cannot listen", "cannot tell which"}) {
    if (absl::StrContains(message, party)) return true;
  }
  return false;
}

// Runs `scenario`, which takes the failure time, with one fault after the other. How many there
// were that it met with.
int Try(const std::function<absl::Status(int64_t)>& scenario) {
  constexpr int64_t kFailureNanos = kSecond / 2;
  const int first = testing::IsLongTest() ? 100 : 4, drawn = testing::IsLongTest() ? 20 : 1;
  std::mt19937_64 random(testing::TestSeed());
  const int descriptors = OpenDescriptors();
  int met = 0;
  for (Fault fault : test::PossibleFaults()) {
    test::SetFault({});
    EXPECT_TRUE(scenario(20 * kSecond).ok());
    const int calls = test::CallsOf(fault.call);
    for (int i = 0; i < std::min(calls, first + drawn); ++i) {
      fault.at = i < first ? i + 1 : static_cast<int>(first + 1 + random() % (calls - first));
      SCOPED_TRACE(
          absl::StrCat(fault.call, " number ", fault.at, " of ", calls, ": ",
                       fault.error == Fault::kShort ? "short" : std::strerror(fault.error)));
      const int64_t begin = SystemClock().NowNanos();
      test::SetFault(fault);
      // What changes nothing takes no time either, but for that of a busy machine.
      const absl::Status status = scenario(IsHarmless(fault) ? 20 * kSecond : kFailureNanos);
      met += test::CallsOf(fault.call) >= fault.at ? 1 : 0;
      test::SetFault({});
      EXPECT_LT(SystemClock().NowNanos() - begin, 10 * kSecond);
      // A task that has ended may be on its way out still.
      EXPECT_TRUE(Workers::Eventually([&] { return OpenDescriptors() <= descriptors; }))
          << OpenDescriptors() << " descriptors, before " << descriptors;
      if (IsHarmless(fault)) {
        EXPECT_TRUE(status.ok()) << status;
      } else if (!status.ok()) {
        EXPECT_TRUE(absl::IsUnavailable(status)) << status;
        EXPECT_TRUE(NamesAParty(status.message())) << status;
      }
    }
  }
  return met;
}

class SocketFaults : public ::testing::Test {
 protected:
  // Threads and whatever else lasts are there.
  void SetUp() override { ASSERT_TRUE(Cluster().Run(Transport::kAuto, 20 * kSecond).ok()); }
  void TearDown() override { test::SetFault({}); }
};

TEST_F(SocketFaults, EndRunsOverTcpWithAnErrorOrNotAtAll) {
  EXPECT_GT(Try([](int64_t failure) { return Cluster().Run(Transport::kTcp, failure); }), 100);
}

TEST_F(SocketFaults, EndRunsOverSharedMemoryWithAnErrorOrNotAtAll) {
  EXPECT_GT(Try([](int64_t failure) { return Cluster().Run(Transport::kSharedMemory, failure); }),
            100);
}

// Who polls it as it says is there when it takes callers again.
TEST_F(SocketFaults, ListenersAreSkippedUntilTheTimeThatTheyName) {
  HostPort bound;
  const auto listener = ListenTcp({"127.0.0.1", 0}, &bound);
  ASSERT_TRUE(listener.ok()) << listener.status();
  int64_t until = std::numeric_limits<int64_t>::max();
  EXPECT_GE((*listener)->PollFd(SystemClock().NowNanos(), &until), 0);
  EXPECT_EQ(until, std::numeric_limits<int64_t>::max());
  const int64_t before = SystemClock().NowNanos();
  const auto caller = DialTcp(bound);
  ASSERT_TRUE(caller.ok()) << caller.status();
  test::SetFault({"accept4", ENOMEM, 1});
  const bool was_called = Workers::Eventually([&] {
    EXPECT_FALSE((*listener)->Accept());
    return test::CallsOf("accept4") > 0;
  });
  ASSERT_TRUE(was_called);
  EXPECT_EQ((*listener)->PollFd(before, &until), -1);
  ASSERT_GT(until, before);
  ASSERT_LT(until, std::numeric_limits<int64_t>::max());
  int64_t later = until + 1;
  EXPECT_EQ((*listener)->PollFd(until - 1, &later), -1);
  EXPECT_EQ(later, until);
  EXPECT_GE((*listener)->PollFd(until, &later), 0);
}

TEST_F(SocketFaults, EndCallsAtTheGateWithAnErrorOrNotAtAll) { EXPECT_GT(Try(CallGate), 50); }

}  // namespace
}  // namespace gyre::cluster
