// Clients and workers that run programs together: results, errors and prints reach the client, and
// every end of a step, however it comes, is one for all.
#include "cluster/cluster.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "cluster/hasty_host.h"
#include "cluster/messages.h"
#include "gmock/gmock.h"
#include "gyre/core/options.h"
#include "support/cluster/loop_on_two.h"
#include "support/cluster/workers.h"
#include "support/run_text.h"

namespace gyre::cluster {
namespace {

using test::Workers;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::RunScalar;

// A loop that counts on worker 0 and multiplies by w on worker 1, as long as the product is a
// number.
const std::string kLoop = test::LoopOnTwo("StatelessWhile", R"(
  %checked = CheckNumerics(%product) message="not a number" : float32 on "/job:worker/task:1")",
                                          "checked");
constexpr int kForEver = 2'000'000'000;

Feeds LoopFeeds(int n, float w) {
  return {{"n", Tensor::Scalar(int32_t{n})}, {"w", Tensor::Scalar(w)}};
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// A run of a loop that does not end by itself, on a thread of its own.
class EndlessRun {
 public:
  EndlessRun(Workers& workers, Session& session, const RunOptions& options = {}) {
    // So that the workers have the program, and are busy with nothing but the run.
    EXPECT_EQ(RunScalar<float>(session, LoopFeeds(1, 2), "loop:2"), 2.0f);
    EXPECT_TRUE(Workers::Eventually([&] { return workers.num_busy() == 0; }));
    thread_ = std::thread([this, &session, options] {
      status_ = session.Run(LoopFeeds(kForEver, 1), {"loop:2"}, {}, options).status();
      has_ended_ = true;
    });
    EXPECT_TRUE(Workers::Eventually([&] { return workers.num_busy() == 2; }));
  }
  ~EndlessRun() {
    if (thread_.joinable()) thread_.join();
  }
  bool has_ended() const { return has_ended_; }
  const absl::Status& End() {
    thread_.join();
    return status_;
  }

 private:
  absl::Status status_;
  std::atomic<bool> has_ended_{false};
  std::thread thread_;
};

void ExpectNobodyIsBusy(const Workers& workers) {
  EXPECT_TRUE(Workers::Eventually([&] { return workers.num_busy() == 0; }));
}

// ---- Connecting

TEST(Cluster, HasTheDevicesOfItsWorkers) {
  Workers workers(3);
  const auto engine = workers.Connect();
  ASSERT_TRUE(engine.ok()) << engine.status();
  std::vector<std::string> names;
  for (const DeviceName& device : (*engine)->devices()) names.push_back(device.ToString());
  EXPECT_THAT(names, ::testing::ElementsAre("/job:worker/replica:0/task:0/device:CPU:0",
                                            "/job:worker/replica:0/task:1/device:CPU:0",
                                            "/job:worker/replica:0/task:2/device:CPU:0"));
}

TEST(Cluster, RefusesAnotherToken) {
  Workers workers(2);
  for (const std::string token : {"", "the workers' toke", "the workers' token.", "guess"}) {
    ClusterSettings settings = workers.Settings();
    settings.token = token;
    const absl::Status status = workers.Connect(settings).status();
    EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr("): the token is not this worker's"));
  }
  EXPECT_TRUE(workers.Connect().ok());
}

TEST(Cluster, RefusesAnotherVersion) {
  Workers workers(1);
  workers.links().set_taps(
      [](std::string& message) {
        proto::ToWorker hello;
        ASSERT_TRUE(hello.ParseFromString(message));
        hello.mutable_hello()->set_version(kControlVersion + 1);
        message = hello.SerializeAsString();
      },
      nullptr);
  const absl::Status status = workers.Connect().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("both must be of the same Gyre"));
}

TEST(Cluster, NamesTheWorkerThatDoesNotAnswer) {
  Workers workers(2);
  ClusterSettings settings = workers.Settings();
  settings.addresses.push_back("elsewhere");
  const absl::Status nobody = workers.Connect(settings).status();
  EXPECT_TRUE(absl::IsUnavailable(nobody)) << nobody;
  EXPECT_THAT(Message(nobody), HasSubstr("worker 2 (elsewhere): nobody is at elsewhere"));
  // One that takes the call and says nothing.
  class Mute final : public LinkHandler {
    void OnMessage(absl::string_view) override {}
    void OnClosed(const absl::Status&) override {}
  };
  workers.links().Serve("mute",
                        [](std::shared_ptr<ControlLink>) { return std::make_shared<Mute>(); });
  settings.addresses = {"mute"};
  settings.failure_nanos = 100'000'000;
  const absl::Status mute = workers.Connect(settings).status();
  EXPECT_TRUE(absl::IsUnavailable(mute)) << mute;
  EXPECT_THAT(Message(mute), HasSubstr("worker 0 (mute) is gone: nothing was heard of it"));
}

TEST(Cluster, RefusesOneWorkerTwice) {
  Workers workers(1);
  ClusterSettings settings = workers.Settings();
  settings.addresses.push_back(settings.addresses[0]);
  const absl::Status status = workers.Connect(settings).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("are the same process"));
  settings.addresses.clear();
  EXPECT_TRUE(absl::IsInvalidArgument(workers.Connect(settings).status()));
}

// ---- Steps

TEST(Cluster, RunsProgramsOnItsWorkers) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  for (const int n : {0, 1, 10})
    EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(n, 2), "loop:2"), static_cast<float>(1 << n));
  ExpectNobodyIsBusy(workers);
}

TEST(Cluster, TakesConcurrentRunsFromManyThreads) {
  Workers workers(3);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i)
        EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(t + i % 3, 2), "loop:2"),
                  static_cast<float>(1 << (t + i % 3)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectNobodyIsBusy(workers);
}

TEST(Cluster, RunsConcurrentClientsBesideEachOther) {
  Workers workers(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3; ++i) {
        auto session = workers.SessionFor(kLoop);
        ASSERT_NE(session, nullptr);
        EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(5, 2), "loop:2"), 32.0f);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectNobodyIsBusy(workers);
}

constexpr char kCounter[] = R"(
graph {
  %v = VarHandleOp() dtype=int64 shape=() shared_name="v" : resource on "/job:worker/task:1"
  %zero = Const() value=int64{0} : int64
  %one = Const() value=int64{1} : int64
  %init = AssignVariableOp(%v, %zero)
  %add = AssignAddVariableOp(%v, %one)
  %read = ReadVariableOp(%v) dtype=int64 : int64
}
)";

TEST(Cluster, GivesEachSessionVariablesOfItsOwn) {
  Workers workers(2);
  auto one = workers.SessionFor(kCounter), two = workers.SessionFor(kCounter);
  ASSERT_TRUE(one->Run({}, {}, {"init"}).ok());
  ASSERT_TRUE(one->Run({}, {}, {"add"}).ok());
  const absl::Status status = two->Run({}, {"read"}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(RunScalar<int64_t>(*one, {}, "read"), 1);
}

TEST(Cluster, SharesVariablesOfOneName) {
  Workers workers(2);
  const auto session = [&](const std::string& name) {
    ClusterSettings settings = workers.Settings();
    settings.shared_state = name;
    const auto engine = workers.Connect(settings);
    EXPECT_TRUE(engine.ok()) << engine.status();
    SessionOptions options;
    options.cluster = *engine;
    return testing::SessionFor(kCounter, options);
  };
  auto one = session("counters"), two = session("counters"), other = session("others");
  ASSERT_TRUE(one->Run({}, {}, {"init"}).ok());
  ASSERT_TRUE(two->Run({}, {}, {"add"}).ok());
  EXPECT_EQ(RunScalar<int64_t>(*one, {}, "read"), 1);
  EXPECT_FALSE(other->Run({}, {"read"}).ok());
  // They outlive their clients.
  one = nullptr;
  two = nullptr;
  EXPECT_EQ(RunScalar<int64_t>(*session("counters"), {}, "read"), 1);
}

constexpr char kPrinter[] = R"(
graph {
  %text = Const() value=string{"hello"} : string
  %print = PrintV2(%text) output_stream="stdout" on "/job:worker/task:1"
}
)";

TEST(Cluster, PrintsAtTheClient) {
  Workers workers(2);
  std::vector<std::string> printed;
  SessionOptions options;
  options.print = [&](absl::string_view stream, absl::string_view text) {
    printed.push_back(absl::StrCat(stream, ": ", text));
  };
  auto session = workers.SessionFor(kPrinter, options);
  ASSERT_TRUE(session->Run({}, {}, {"print"}).ok());
  EXPECT_EQ(printed, std::vector<std::string>{"stdout: hello\n"});
}

// Who prints may do what any thread may: cancel the run, or start another.
TEST(Cluster, LetsWhoPrintsCancelTheRun) {
  Workers workers(2);
  Cancellation cancellation;
  std::unique_ptr<Session> session, other = workers.SessionFor(kLoop);
  SessionOptions options;
  options.print = [&](absl::string_view, absl::string_view) {
    EXPECT_EQ(RunScalar<float>(*other, LoopFeeds(3, 2), "loop:2"), 8.0f);
    cancellation.Cancel(absl::CancelledError("printed"));
  };
  session = workers.SessionFor(kPrinter, options);
  RunOptions run;
  run.cancellation = &cancellation;
  session->Run({}, {}, {"print"}, run).IgnoreError();
  EXPECT_TRUE(cancellation.IsCancelled());
  ExpectNobodyIsBusy(workers);
}

// ---- Ends of steps

TEST(ClusterFailures, EndAStepEverywhereWithTheNodeItsLoopAndItsWorker) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  const absl::Status status = session->Run(LoopFeeds(1000, 1e30f), {"loop:2"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("not a number"), HasSubstr("checked"), HasSubstr("iteration 1 of"),
                    HasSubstr("on worker 1 (host1)")));
  ExpectNobodyIsBusy(workers);
  EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(3, 2), "loop:2"), 8.0f);
}

TEST(ClusterFailures, CancelAStepEverywhere) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  Cancellation cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  EndlessRun run(workers, *session, options);
  cancellation.Cancel(absl::CancelledError("enough"));
  const absl::Status status = run.End();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("enough"));
  ExpectNobodyIsBusy(workers);
  EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(3, 2), "loop:2"), 8.0f);
}

TEST(ClusterFailures, SayWhereEachWorkerWasAtTheDeadline) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  absl::Status status;
  // So soon that a busy machine's workers may not have begun, then later.
  for (const int64_t timeout_ms : {100, 1000, 10'000}) {
    RunOptions options;
    options.timeout_ms = timeout_ms;
    status = session->Run(LoopFeeds(kForEver, 1), {"loop:2"}, {}, options).status();
    ASSERT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    if (absl::StrContains(status.message(), "worker 0 (host0) was at:") &&
        absl::StrContains(status.message(), "worker 1 (host1) was at:"))
      break;
  }
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("worker 0 (host0) was at:"), HasSubstr("worker 1 (host1) was at:"),
                    HasSubstr("iteration"), HasSubstr("loop")));
  ExpectNobodyIsBusy(workers);
  EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(3, 2), "loop:2"), 8.0f);
}

TEST(ClusterFailures, NameTheWorkerThatEnds) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  EndlessRun run(workers, *session);
  const int64_t begin = SystemClock().NowNanos();
  workers.Destroy(1);
  const absl::Status status = run.End();
  // Nobody has waited for it to be silent for long enough.
  EXPECT_LT(SystemClock().NowNanos() - begin, Workers::kFailureNanos);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("worker 1 (host1)"));
  ExpectNobodyIsBusy(workers);
  const absl::Status next = session->Run(LoopFeeds(3, 2), {"loop:2"}).status();
  EXPECT_TRUE(absl::IsUnavailable(next)) << next;
  EXPECT_THAT(Message(next), HasSubstr("worker 1 (host1) is gone"));
}

TEST(ClusterFailures, NameTheWorkerWhoseLinkBreaks) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  EndlessRun run(workers, *session);
  workers.links().Cut(Workers::Address(0));
  const absl::Status status = run.End();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("worker 0 (host0) is gone: its link was closed"));
  ExpectNobodyIsBusy(workers);
  // The worker is there for others.
  EXPECT_EQ(RunScalar<float>(*workers.SessionFor(kLoop), LoopFeeds(3, 2), "loop:2"), 8.0f);
}

TEST(ClusterFailures, NameTheWorkerThatFallsSilent) {
  Workers workers(2);
  std::atomic<int> heard{0};
  workers.links().set_taps(nullptr, [&](std::string&) { ++heard; });
  auto session = workers.SessionFor(kLoop);
  EndlessRun run(workers, *session);
  workers.links().Freeze(Workers::Address(1));
  // Time passes, in which the other one answers pings.
  constexpr int kSteps = 6;
  for (int i = 0; i <= kSteps && !run.has_ended(); ++i) {
    const int before = heard;
    workers.PutClientsForward(Workers::kFailureNanos / kSteps);
    EXPECT_TRUE(Workers::Eventually([&] { return heard > before || run.has_ended(); }));
  }
  const absl::Status status = run.End();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(Message(status), AllOf(HasSubstr("worker 1 (host1) is gone: nothing was heard of it"),
                                     HasSubstr("worker 0 (host0) was at:"), HasSubstr("loop")));
}

// A client that goes in the middle leaves nothing behind.
TEST(ClusterFailures, EndTheStepsOfAClientThatGoes) {
  Workers workers(2);
  {
    auto session = workers.SessionFor(kLoop);
    EndlessRun run(workers, *session);
    workers.links().Cut(Workers::Address(0));
    workers.links().Cut(Workers::Address(1));
    const absl::Status status = run.End();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
  ExpectNobodyIsBusy(workers);
}

// ---- Worker, message by message

// A link that keeps what the worker says.
class Recorder final : public ControlLink {
 public:
  void Send(std::string message) override {
    const std::lock_guard lock(mutex_);
    proto::FromWorker said;
    EXPECT_TRUE(said.ParseFromString(message));
    said_.push_back(std::move(said));
  }
  void Close() override { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }
  std::vector<proto::FromWorker> said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

 private:
  std::atomic<bool> is_closed_{false};
  std::mutex mutex_;
  std::vector<proto::FromWorker> said_;  // guarded by mutex_
};

proto::ToWorker Hello() {
  proto::ToWorker message;
  message.mutable_hello()->set_version(kControlVersion);
  message.mutable_hello()->set_token(Workers::kToken);
  return message;
}

TEST(WorkerClients, AreHungUpOnBeforeTheirHello) {
  Workers workers(1);
  std::vector<std::string> messages = {"no message", "\xff\xff\xff\xff"};
  proto::ToWorker message;
  message.mutable_ping()->set_number(1);
  messages.push_back(message.SerializeAsString());
  message.mutable_join()->set_self(0);
  messages.push_back(message.SerializeAsString());
  message.mutable_run()->set_step(1);
  messages.push_back(message.SerializeAsString());
  message.mutable_compile()->set_program(1);
  messages.push_back(message.SerializeAsString());
  message = Hello();
  message.mutable_hello()->set_token("guess");
  messages.push_back(message.SerializeAsString());
  for (const std::string& bytes : messages) {
    const auto link = std::make_shared<Recorder>();
    const auto client = workers.worker(0).Accept(link);
    client->OnMessage(bytes);
    EXPECT_TRUE(link->is_closed());
    for (const proto::FromWorker& said : link->said()) {
      // Nothing of the worker but that it refuses.
      EXPECT_TRUE(said.has_hello() && said.hello().status().code() != 0);
      EXPECT_EQ(said.hello().tcp(), "");
      EXPECT_EQ(said.hello().incarnation(), 0u);
    }
    client->OnClosed(absl::OkStatus());
  }
  EXPECT_EQ(workers.num_busy(), 0);
}

TEST(WorkerClients, AreToldOfProgramsThatThereAreNot) {
  Workers workers(1);
  const auto link = std::make_shared<Recorder>();
  const auto client = workers.worker(0).Accept(link);
  client->OnMessage(Hello().SerializeAsString());
  proto::ToWorker run;
  run.mutable_run()->set_step(5);
  run.mutable_run()->set_program(77);
  client->OnMessage(run.SerializeAsString());
  ASSERT_TRUE(Workers::Eventually([&] { return link->said().size() == 2; }));
  const proto::Done done = link->said()[1].done();
  EXPECT_EQ(done.step(), 5u);
  EXPECT_EQ(FromProto(done.status()), absl::NotFoundError("this worker has no program 77"));
  client->OnClosed(absl::OkStatus());
}

// Neither for a client that has gone, nor for a program that it does not want any more.
TEST(WorkerClients, AreCompiledForAsLongAsTheyWait) {
  for (const bool client_goes : {true, false}) {
    test::HastyHost host;
    WorkerOptions options;
    options.token = Workers::kToken;
    options.incarnation = Workers::kFirstIncarnation;
    Worker worker(host, options);
    const auto link = std::make_shared<Recorder>();
    const auto client = worker.Accept(link);
    client->OnMessage(Hello().SerializeAsString());
    proto::ToWorker message;
    proto::Join& join = *message.mutable_join();
    join.add_members()->set_incarnation(Workers::kFirstIncarnation);
    join.set_secret("a secret");
    client->OnMessage(message.SerializeAsString());
    proto::Compile& compile = *message.mutable_compile();
    compile.set_program(7);
    compile.add_devices()->set_name("/job:worker/replica:0/task:0/device:CPU:0");
    host.HoldTasks();
    client->OnMessage(message.SerializeAsString());
    if (client_goes) {
      client->OnClosed(absl::UnavailableError("its link was closed"));
    } else {
      message.mutable_drop()->set_program(7);
      client->OnMessage(message.SerializeAsString());
    }
    host.RunTasks();
    ASSERT_EQ(link->said().size(), 3u);
    const absl::Status status = FromProto(link->said()[2].compiled().status());
    EXPECT_TRUE(absl::IsCancelled(status)) << status;
    EXPECT_EQ(worker.num_busy(), 0);
  }
}

// A client may name workers that never answer, for an hour; it may go all the same, and so may the
// worker.
TEST(WorkerClients, DoNotKeepAWorkerThatJoins) {
  for (const bool client_goes : {true, false}) {
    Workers workers(1);
    const auto link = std::make_shared<Recorder>();
    const auto client = workers.worker(0).Accept(link);
    client->OnMessage(Hello().SerializeAsString());
    proto::ToWorker message;
    proto::Join& join = *message.mutable_join();
    join.add_members()->set_incarnation(Workers::kFirstIncarnation);
    join.add_members()->set_incarnation(5);
    join.mutable_members(1)->set_tcp("nowhere");
    join.set_failure_ms(int64_t{1} << 60);
    join.set_secret("a secret");  // or it would be refused at once
    client->OnMessage(message.SerializeAsString());
    EXPECT_EQ(workers.num_busy(), 1);
    if (client_goes) {
      client->OnClosed(absl::OkStatus());
      ExpectNobodyIsBusy(workers);
    } else {
      workers.Destroy(0);
    }
  }
}

}  // namespace
}  // namespace gyre::cluster
