// Strangers at a worker's three entrances: the gate, where clients call, and those for tensor
// channels, over TCP and over shared memory. They cost little, they do not stay, and whoever knows
// the token gets in beside them.
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/env.h"
#include "cluster/gate/gate.h"
#include "cluster/gate/knock.h"
#include "cluster/gate/wrong_tokens.h"
#include "cluster/grpc_library.h"
#include "cluster/messages.h"
#include "cluster/worker_process.h"
#include "gmock/gmock.h"
#include "gyre/core/session.h"
#include "support/cluster/workers.h"
#include "support/run_text.h"
#include "support/transcript.h"

namespace gyre::cluster {
namespace {

using test::WorkerProcess;
using test::Workers;
using ::testing::HasSubstr;

constexpr const char* kToken = test::WorkerProcess::kToken;
constexpr char kWrongToken[] = "a token of some other worker's";
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kPatience = 20 * kSecond;  // nothing takes so long unless it never comes
constexpr int kMegabyte = 1 << 20;

int64_t Now() { return SystemClock().NowNanos(); }

// Keeps what a worker answers to the first message.
class Greeted final : public LinkHandler {
 public:
  void OnMessage(absl::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    reply_.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    changed_.notify_all();
  }
  void OnClosed(const absl::Status&) override {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }
  proto::HelloReply AwaitReply() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_closed_ || reply_.has_hello(); });
    return reply_.hello();
  }
  void AwaitEnd() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_closed_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  proto::FromWorker reply_;
  bool is_closed_ = false;
};

// A worker all of whose entrances are known.
class OpenWorker : public WorkerProcess {
 public:
  explicit OpenWorker(const Options& options) : WorkerProcess(options) { FindChannels(); }

  // By number: the gate, TCP channels, shared memory's.
  static constexpr int kEntrances = 3;
  absl::StatusOr<Fd> Call(int entrance) const {
    if (entrance == 2) return DialUnix(memory_);
    const absl::StatusOr<HostPort> where = ParseHostPort(entrance == 0 ? address() : tcp_);
    if (!where.ok()) return where.status();
    return ConnectTcp(*where, Now() + kPatience);
  }
  // What may begin what a caller there says.
  static std::string Begin(int entrance) {
    return entrance == 0 ? EncodeKnock(kToken).substr(0, 5) : entrance == 1 ? "\1" : "";
  }

  int64_t ResidentBytes() const {
    std::ifstream file(absl::StrCat("/proc/", process().pid(), "/statm"));
    int64_t all = 0, resident = 0;
    file >> all >> resident;
    return resident * sysconf(_SC_PAGESIZE);
  }
  int64_t CpuNanos() const {
    std::ifstream file(absl::StrCat("/proc/", process().pid(), "/stat"));
    std::stringstream text;
    text << file.rdbuf();
    const std::vector<std::string> words =
        absl::StrSplit(text.str().substr(text.str().rfind(')') + 2), ' ');
    return (std::stoll(words[11]) + std::stoll(words[12])) * kSecond / sysconf(_SC_CLK_TCK);
  }

 private:
  void FindChannels() {
    const auto grpc = LoadGrpc();
    ASSERT_TRUE(grpc.ok()) << grpc.status();
    auto socket = Knock(address(), kToken, kPatience);
    ASSERT_TRUE(socket.ok()) << socket.status();
    const auto greeted = std::make_shared<Greeted>();
    const auto link = (*grpc)->dial(socket->Release(), address(), greeted);
    proto::ToWorker hello;
    hello.mutable_hello()->set_version(kControlVersion);
    hello.mutable_hello()->set_token(kToken);
    link->Send(hello.SerializeAsString());
    const proto::HelloReply reply = greeted->AwaitReply();
    tcp_ = reply.tcp();
    memory_ = reply.memory();
    link->Close();
    greeted->AwaitEnd();
  }

  std::string tcp_, memory_;
};

// A new client runs a program on the worker.
absl::Status RunOn(const OpenWorker& worker, Transport transport = Transport::kAuto) {
  ClusterOptions options;
  options.workers = {worker.address()};
  options.token = kToken;
  options.transport = transport;
  const auto engine = ConnectCluster(options);
  if (!engine.ok()) return engine.status();
  const auto session = testing::SessionFor(R"(graph {
    %x = Placeholder() dtype=float32 shape=() : float32
    %y = Mul(%x, %x) : float32
  })",
                                           SessionOptions{.cluster = *engine});
  const auto y = session->Run({{"x", Tensor::Scalar(3.0f)}}, {"y:0"});
  if (!y.ok()) return y.status();
  EXPECT_EQ((*y)[0].scalar<float>(), 9.0f);
  return absl::OkStatus();
}

void Say(const Fd& fd, absl::string_view bytes) {
  (void)!send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

// Says `more` every 50 ms until the other end hangs up: whether it does.
bool IsHungUpOn(const Fd& fd, const std::string& more) {
  const int64_t deadline = Now() + kPatience;
  while (Now() < deadline) {
    char bytes[256];
    if (AwaitEvents(fd, POLLIN, Now() + kSecond / 20)) {
      const ssize_t n = recv(fd.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN)) return true;
    } else {
      Say(fd, more);
    }
  }
  return false;
}

class Entrances : public ::testing::Test {
 protected:
  // This process has descriptors for the strangers.
  void SetUp() override {
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
};

TEST_F(Entrances, LetClientsInBesideAThousandIdleStrangers) {
  const OpenWorker worker({.descriptors = 256});
  for (int entrance = 0; entrance < OpenWorker::kEntrances; ++entrance) {
    SCOPED_TRACE(entrance);
    std::vector<Fd> strangers;
    for (int i = 0; i < 1000; ++i) {
      // A Unix name has nobody wait for long.
      absl::StatusOr<Fd> stranger = absl::UnavailableError("");
      ASSERT_TRUE(Workers::Eventually([&] { return (stranger = worker.Call(entrance)).ok(); }))
          << stranger.status();
      Say(*stranger, OpenWorker::Begin(entrance));
      strangers.push_back(*std::move(stranger));
    }
    for (const Transport transport : {Transport::kTcp, Transport::kSharedMemory}) {
      const absl::Status status = RunOn(worker, transport);
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

// Whoever knows the token may take all descriptors there are; others are hung up on meanwhile.
TEST_F(Entrances, OpenAgainAfterTheWorkerHadNoDescriptors) {
  OpenWorker worker({.descriptors = 64});
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    {
      std::vector<Fd> known;
      absl::StatusOr<Fd> next = absl::UnavailableError("");
      while ((next = Knock(worker.address(), kToken, kSecond)).ok())
        known.push_back(*std::move(next));
      EXPECT_GT(known.size(), 10u);
      std::vector<Fd> strangers;
      for (int i = 0; i < 200; ++i) {
        for (const int entrance : {0, 1}) {
          auto stranger = worker.Call(entrance);
          if (stranger.ok()) strangers.push_back(*std::move(stranger));
        }
      }
      // It does not spend its time on those that it cannot let in. What ended before gives back its
      // descriptors by and by, and on a busy machine a knock may fail because it takes too long.
      int64_t cpu = 0, begin = 0;
      while (true) {
        cpu = worker.CpuNanos();
        begin = Now();
        next = Knock(worker.address(), kToken, kSecond);
        if (!next.ok()) break;
        known.push_back(*std::move(next));
        ASSERT_LT(known.size(), 64u);
      }
      EXPECT_LT(worker.CpuNanos() - cpu, (Now() - begin) / 2);
    }
    absl::Status status;
    EXPECT_TRUE(Workers::Eventually([&] { return (status = RunOn(worker)).ok(); })) << status;
  }
  worker.process().Signal(SIGTERM);
  EXPECT_EQ(worker.process().Wait(), 0);
}

TEST_F(Entrances, HangUpOnWhoTakesTooLong) {
  constexpr int kFailureMs = 2000;
  const OpenWorker worker({.failure_ms = kFailureMs, .descriptors = 256});
  std::vector<std::thread> slow;
  slow.reserve(size_t{2} * OpenWorker::kEntrances);
  for (int entrance = 0; entrance < OpenWorker::kEntrances; ++entrance) {
    // Nothing at all, or a little now and then: of a knock of a thousand bytes, or of a header. At
    // the third, anything but the memory is answered at once.
    for (const std::string more : {"", "\1"}) {
      slow.emplace_back([&worker, entrance, more] {
        SCOPED_TRACE(absl::StrCat(entrance, " says ", more.empty() ? "nothing" : "little"));
        std::string begin = OpenWorker::Begin(entrance);
        if (entrance == 0) begin += "\xe8\x03";
        const int64_t start = Now();
        auto fd = worker.Call(entrance);
        ASSERT_TRUE(fd.ok()) << fd.status();
        Say(*fd, begin);
        EXPECT_TRUE(IsHungUpOn(*fd, more));
        EXPECT_LT(Now() - start, 3 * kFailureMs * (kSecond / 1000));
      });
    }
  }
  for (std::thread& each : slow) each.join();
  EXPECT_TRUE(RunOn(worker).ok());
}

TEST_F(Entrances, TakeNoMemoryForWhatStrangersAnnounceOrSay) {
  const OpenWorker worker({.descriptors = 256});
  ASSERT_TRUE(RunOn(worker).ok());
  const int64_t before = worker.ResidentBytes();
  // The longest token, that of 64 KiB, and a hello of 4 GiB with a header that is sound but for it.
  FrameHeader header;
  header.kind = FrameKind::kHello;
  header.body_bytes = 0xffffffff;
  std::string hello(FrameHeader::kBytes, '\0');
  EncodeHeader(header, true, hello.data());
  const std::string knock = EncodeKnock("").substr(0, 5) + "\xff\xff";
  std::mt19937_64 random(testing::TestSeed());
  for (int i = 0; i < 60; ++i) {
    for (const int entrance : {0, 1}) {
      auto fd = worker.Call(entrance);
      ASSERT_TRUE(fd.ok()) << fd.status();
      std::string noise(kMegabyte, '\0');
      for (char& c : noise) c = static_cast<char>(random());
      Say(*fd, i % 2 == 1 ? noise : absl::StrCat(entrance == 0 ? knock : hello, noise));
      EXPECT_TRUE(IsHungUpOn(*fd, noise));
    }
    auto neighbour = worker.Call(2);
    ASSERT_TRUE(neighbour.ok()) << neighbour.status();
    Say(*neighbour, "noise");
    EXPECT_TRUE(IsHungUpOn(*neighbour, ""));
  }
  EXPECT_LT(worker.ResidentBytes() - before, 16 * kMegabyte);
  EXPECT_TRUE(RunOn(worker).ok());
}

// ---- The gate alone

struct Guarded {
  explicit Guarded(GateOptions options = {}) {
    options.token = kToken;
    options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex);
      log += line + "\n";
    };
    auto opened = Gate::Open({"127.0.0.1", 0}, std::move(options), [this](Fd caller) {
      const std::lock_guard lock(mutex);
      admitted.push_back(std::move(caller));
    });
    EXPECT_TRUE(opened.ok()) << opened.status();
    gate = *std::move(opened);
  }
  std::string address() const { return gate->address().ToString(); }
  size_t num_admitted() {
    const std::lock_guard lock(mutex);
    return admitted.size();
  }

  std::mutex mutex;
  std::vector<Fd> admitted;  // guarded by mutex, as is what follows
  std::string log;
  std::unique_ptr<Gate> gate;
};

TEST(Gate, AdmitsWhoKnowsTheTokenAndReadsNothingMore) {
  Guarded guarded;
  auto fd = Knock(guarded.address(), kToken, kPatience);
  ASSERT_TRUE(fd.ok()) << fd.status();
  Say(*fd, "what follows");
  ASSERT_TRUE(Workers::Eventually([&] { return guarded.num_admitted() == 1; }));
  const std::lock_guard lock(guarded.mutex);
  char bytes[32];
  ASSERT_TRUE(AwaitEvents(guarded.admitted[0], POLLIN, Now() + kPatience));
  const ssize_t n = recv(guarded.admitted[0].get(), bytes, sizeof(bytes), 0);
  EXPECT_EQ(absl::string_view(bytes, n), "what follows");
}

TEST(Gate, LetsWrongTokensWaitAndCountsThemWithoutTellingThem) {
  Guarded guarded;
  int64_t wait = WrongTokens::kFirstDelayNanos;
  for (int i = 0; i < 5; ++i) {
    const int64_t begin = Now();
    const absl::Status refused = Knock(guarded.address(), kWrongToken, kPatience).status();
    EXPECT_TRUE(absl::IsUnauthenticated(refused)) << refused;
    EXPECT_GE(Now() - begin, wait);
    wait = std::min(2 * wait, WrongTokens::kMostDelayNanos);
  }
  EXPECT_TRUE(Knock(guarded.address(), kToken, kPatience).ok());
  EXPECT_TRUE(Workers::Eventually([&] { return guarded.num_admitted() == 1; }));
  const std::lock_guard lock(guarded.mutex);
  EXPECT_EQ(guarded.log, "1 wrong token, of 127.0.0.1 (1)\n");
}

TEST(Gate, HasRoomForClientsInAFloodOfWrongTokens) {
  Guarded guarded;
  std::atomic<bool> ends{false};
  std::atomic<int> tried{0};
  constexpr int kAttackers = 2;
  std::vector<std::thread> attackers;
  attackers.reserve(kAttackers);
  for (int i = 0; i < kAttackers; ++i) {
    attackers.emplace_back([&] {
      std::vector<Fd> waiting;
      while (!ends) {
        auto fd = ConnectTcp(guarded.gate->address(), Now() + kPatience);
        if (!fd.ok()) continue;
        Say(*fd, EncodeKnock(kWrongToken));
        ++tried;
        waiting.push_back(*std::move(fd));
        if (waiting.size() > 200) waiting.erase(waiting.begin());
      }
    });
  }
  EXPECT_TRUE(Workers::Eventually([&] { return tried > 1000; }));
  for (int i = 0; i < 20; ++i) {
    const absl::Status status = Knock(guarded.address(), kToken, kPatience).status();
    EXPECT_TRUE(status.ok()) << status;
  }
  ends = true;
  for (std::thread& attacker : attackers) attacker.join();
  EXPECT_EQ(guarded.num_admitted(), 20u);
}

TEST(Gate, SaysWhyNobodyAnswers) {
  const auto nobody = [] {
    HostPort bound;
    const auto listener = ListenTcp({"127.0.0.1", 0}, &bound);
    return bound.ToString();
  }();
  EXPECT_THAT(std::string(Knock(nobody, kToken, kPatience).status().message()),
              HasSubstr("Connection refused"));
  // One who listens, but says nothing; and one who hangs up.
  HostPort bound;
  const auto listener = ListenTcp({"127.0.0.1", 0}, &bound);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_THAT(std::string(Knock(bound.ToString(), kToken, kSecond / 10).status().message()),
              HasSubstr("does not answer"));
  std::atomic<bool> ends{false};
  std::thread hangs_up([&] {
    while (!ends) (*listener)->Accept();
  });
  EXPECT_THAT(std::string(Knock(bound.ToString(), kToken, kSecond).status().message()),
              HasSubstr("hangs up without an answer"));
  ends = true;
  hangs_up.join();
  while ((*listener)->Accept()) {  // calls that nobody has taken
  }
  // One who hangs up, and then says nothing until the time is up.
  std::thread hangs_up_once([&] {
    while (!(*listener)->Accept()) {
    }
  });
  EXPECT_THAT(std::string(Knock(bound.ToString(), kToken, kSecond).status().message()),
              HasSubstr("hangs up without an answer"));
  hangs_up_once.join();
  EXPECT_TRUE(absl::IsInvalidArgument(Knock("no address", kToken, kPatience).status()));
  EXPECT_TRUE(absl::IsUnauthenticated(Knock(nobody, std::string(2000, 'x'), kPatience).status()));
}

TEST(WrongTokens, CostMoreEachTimeAndAreForgotten) {
  WrongTokens wrong;
  EXPECT_EQ(wrong.Report(0), "");
  int64_t now = 0;
  EXPECT_EQ(wrong.Add("one", now), WrongTokens::kFirstDelayNanos);
  EXPECT_EQ(wrong.Add("one", now), 2 * WrongTokens::kFirstDelayNanos);
  for (int i = 0; i < 100; ++i) wrong.Add("one", now);
  EXPECT_EQ(wrong.Add("one", now), WrongTokens::kMostDelayNanos);
  EXPECT_EQ(wrong.Add("another", now), WrongTokens::kFirstDelayNanos);
  EXPECT_EQ(wrong.Report(now), "104 wrong tokens, of one (103), another (1)");
  wrong.Add("another", now);
  EXPECT_EQ(wrong.Report(now), "");
  now += WrongTokens::kReportNanos;
  EXPECT_EQ(wrong.Report(now), "1 wrong token, of another (1)");
  now += WrongTokens::kForgetNanos + 1;
  EXPECT_TRUE(wrong.MayTry("one", now));
  EXPECT_EQ(wrong.Add("one", now), WrongTokens::kFirstDelayNanos);
}

TEST(WrongTokens, AreLookedAtSoOftenASecond) {
  WrongTokens wrong;
  int64_t now = WrongTokens::kPerNanos;
  const auto tries = [&](const std::string& host) {
    int count = 0;
    for (int i = 0; i < 10'000; ++i) count += wrong.MayTry(host, now) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(tries("a stranger"), 10'000);
  for (int i = 0; i < 8; ++i) wrong.Add(absl::StrCat("host ", i), now);
  EXPECT_EQ(tries("host 0"), WrongTokens::kMostTries);
  int all = 0;
  for (int i = 1; i < 8; ++i) all += tries(absl::StrCat("host ", i));
  EXPECT_EQ(all, WrongTokens::kMostTriesOfAll - WrongTokens::kMostTries);
  EXPECT_EQ(tries("a stranger"), 10'000);
  now += WrongTokens::kPerNanos;
  EXPECT_EQ(tries("host 0"), WrongTokens::kMostTries);
  // Many hosts do not make it grow without end, nor forget who came last.
  for (int i = 0; i < 5'000; ++i) wrong.Add(absl::StrCat("guest ", i), now + i);
  EXPECT_EQ(wrong.Add("guest 4999", now + 5'000), 2 * WrongTokens::kFirstDelayNanos);
  EXPECT_EQ(wrong.Add("guest 0", now + 5'000), WrongTokens::kFirstDelayNanos);
}

}  // namespace
}  // namespace gyre::cluster
