// Control messages that are damaged, or that fit nothing: errors at most, for who sent them.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cluster/damage.h"
#include "cluster/hasty_host.h"
#include "cluster/messages.h"
#include "cluster/watch/firings.h"
#include "cluster/wire/tensor_codec.h"
#include "gmock/gmock.h"
#include "gyre/core/debug.h"
#include "session/trace/log.h"
#include "support/cluster/workers.h"
#include "support/run_text.h"
#include "support/transcript.h"

namespace gyre::cluster {
namespace {

using test::Damage;
using test::HastyHost;
using test::MemoryLinks;
using test::Workers;
using ::testing::HasSubstr;

constexpr char kProgram[] = R"(
graph {
  %x = Placeholder() dtype=float32 shape=() : float32
  %text = Const() value=string{"hello"} : string
  %print = PrintV2(%text) output_stream="stdout"
  %y = Mul(%x, %x) : float32
}
)";

Feeds SomeFeeds() { return {{"x", Tensor::Scalar(3.0f)}}; }

SessionOptions Quiet() {
  SessionOptions options;
  options.print = [](absl::string_view, absl::string_view) {};
  return options;
}

TEST(ControlMalformed, RepliesThatDoNotFitTheProgramAreErrors) {
  struct Case {
    void (*spoil)(proto::FromWorker& message);
    const char* error;
  };
  const Case cases[] = {
      {[](proto::FromWorker& m) {
         if (m.has_hello()) m.mutable_hello()->set_num_devices(0);
       },
       "has 0 devices"},
      {[](proto::FromWorker& m) {
         if (m.has_hello()) m.mutable_hello()->set_num_devices(2'000'000'000);
       },
       "has 2000000000 devices"},
      {[](proto::FromWorker& m) {
         if (m.has_compiled()) m.mutable_compiled()->add_feeds(1);
       },
       "takes or gives what the program does not have"},
      {[](proto::FromWorker& m) {
         if (m.has_compiled()) m.mutable_compiled()->add_feeds(-1);
       },
       "takes or gives what the program does not have"},
      {[](proto::FromWorker& m) {
         if (m.has_compiled()) m.mutable_compiled()->add_fetches(7);
       },
       "takes or gives what the program does not have"},
      {[](proto::FromWorker& m) {
         if (m.has_compiled()) m.mutable_compiled()->clear_fetches();
       },
       "no worker gives one of the results"},
      {[](proto::FromWorker& m) {
         if (m.has_done()) m.mutable_done()->clear_fetches();
       },
       "gave too few results"},
      {[](proto::FromWorker& m) {
         if (m.has_done()) *m.mutable_done()->mutable_fetches(0) = "no tensor";
       },
       "there is no tensor of type"},
  };
  for (const Case& one : cases) {
    Workers workers(1);
    workers.links().set_taps(nullptr, [spoil = one.spoil](std::string& bytes) {
      proto::FromWorker message;
      ASSERT_TRUE(message.ParseFromString(bytes));
      spoil(message);
      bytes = message.SerializeAsString();
    });
    ClusterSettings settings = workers.Settings();
    settings.incarnation = 0;  // everything goes by the link
    const auto engine = workers.Connect(settings);
    absl::Status status = engine.status();
    if (engine.ok()) {
      SessionOptions options;
      options.cluster = *engine;
      status = testing::SessionFor(kProgram, options)->Run(SomeFeeds(), {"y"}).status();
    }
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(one.error));
  }
}

// What a client says to worker 0 while it connects and runs a program, message by message.
std::vector<std::string> WhatClientsSay() {
  std::vector<std::string> said;
  {
    Workers workers(1);
    workers.links().set_taps([&](std::string& message) { said.push_back(message); }, nullptr);
    ClusterSettings settings = workers.Settings();
    settings.incarnation = 0;  // everything goes by the link
    SessionOptions options = Quiet();
    options.cluster = *workers.Connect(settings);
    auto session = testing::SessionFor(kProgram, options);
    EXPECT_TRUE(session->Run(SomeFeeds(), {"y"}, {"print"}).ok());
    StepStatistics statistics;
    RunOptions watched;
    watched.observer = &statistics;
    EXPECT_TRUE(session->Run(SomeFeeds(), {"y"}, {"print"}, watched).ok());
  }
  proto::ToWorker message;
  message.mutable_cancel()->set_step(1);
  ToProto(absl::CancelledError("enough"), message.mutable_cancel()->mutable_status());
  said.push_back(message.SerializeAsString());
  message.mutable_ping()->set_number(1);
  said.push_back(message.SerializeAsString());
  message.mutable_seen()->set_step(1);
  said.push_back(message.SerializeAsString());
  message.mutable_ask()->set_step(1);
  message.mutable_ask()->set_question(1);
  said.push_back(message.SerializeAsString());
  return said;
}

class Nobody final : public ControlLink {
 public:
  void Send(std::string) override { ++num_sent_; }
  void Close() override { is_closed_ = true; }
  int num_sent() const { return num_sent_; }
  bool is_closed() const { return is_closed_; }

 private:
  std::atomic<int> num_sent_{0};
  std::atomic<bool> is_closed_{false};
};

TEST(ControlMalformed, MessagesToAWorkerEndTheirClientAtMost) {
  const int mutations = testing::IsLongTest() ? 1'000'000 : 100'000;
  const std::vector<std::string> said = WhatClientsSay();
  proto::ToWorker first, second, third;
  ASSERT_TRUE(first.ParseFromString(said[0]) && first.has_hello());
  ASSERT_TRUE(second.ParseFromString(said[1]) && second.has_join());
  ASSERT_TRUE(third.ParseFromString(said[2]) && third.has_compile());
  HastyHost host;
  WorkerOptions options;
  options.token = Workers::kToken;
  options.threads = 1;
  options.incarnation = Workers::kFirstIncarnation;
  Worker worker(host, options);
  Damage damage(testing::TestSeed());
  int clients = 0, replies = 0;
  for (int sent = 0; sent < mutations; ++clients) {
    const auto link = std::make_shared<Nobody>();
    const auto client = worker.Accept(link);
    for (int i = 0; i < 3; ++i) client->OnMessage(said[i]);
    ASSERT_EQ(link->num_sent(), 3);
    for (; !link->is_closed() && sent < mutations; ++sent)
      client->OnMessage(damage.To(said[damage.Draw(said.size())]));
    replies += link->num_sent();
    client->OnClosed(absl::UnavailableError("gone"));
    ASSERT_EQ(worker.num_busy(), 0);
  }
  EXPECT_LT(clients, mutations);
  EXPECT_GT(replies, mutations / 10);
}

// Answers what clients ask before they run something; what then comes of it, the test says.
class FakeWorker final : public LinkHandler {
 public:
  explicit FakeWorker(std::shared_ptr<ControlLink> link) : link_(std::move(link)) {}
  void OnMessage(absl::string_view bytes) override {
    proto::ToWorker message;
    ASSERT_TRUE(message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    proto::FromWorker reply;
    switch (message.what_case()) {
      case proto::ToWorker::kHello:
        reply.mutable_hello()->set_incarnation(5);
        reply.mutable_hello()->set_num_devices(1);
        reply.mutable_hello()->set_can_be_watched(true);
        break;
      case proto::ToWorker::kJoin:
        reply.mutable_joined();
        break;
      case proto::ToWorker::kCompile:
        reply.mutable_compiled()->set_program(message.compile().program());
        reply.mutable_compiled()->add_feeds(0);
        reply.mutable_compiled()->add_fetches(0);
        reply.mutable_compiled()->set_takes_part(true);
        break;
      case proto::ToWorker::kRun:
        step_ = message.run().step();
        return;
      default:
        return;
    }
    Say(reply.SerializeAsString());
  }
  void OnClosed(const absl::Status&) override {}
  void Say(std::string message) { link_->Send(std::move(message)); }
  uint64_t step() const { return step_; }  // 0: none yet

 private:
  const std::shared_ptr<ControlLink> link_;
  std::atomic<uint64_t> step_{0};
};

// A node in an iteration of a loop, twice; perhaps with the value of its second output.
std::string SomeFirings(bool with_value = false) {
  const std::vector<Surrounding> around = {
      {Surrounding::Kind::kBody, "loop", "body", 3, uint64_t{1} << 60}};
  const int sources[] = {0, 1};
  const int graph = 0;
  const TokenOrigin origin{
      .graph = &graph, .node = 2, .sources = sources, .frame = 5, .iteration = 3};
  Firing firing;
  firing.node = "y";
  firing.op = "Mul";
  firing.around = around;
  firing.device = "/job:worker/replica:0/task:0/device:CPU:0";
  firing.start_nanos = 1000;
  firing.end_nanos = 2000;
  firing.origin = &origin;
  firing.bytes = 4;
  firing.saving_loop = "loop";
  firing.saved_value = "y";
  firing.saved_bytes = 4;
  FiringsWriter writer;
  writer.Add(firing);
  writer.AddJoin(1, 500, 600);
  writer.Add(firing);
  std::string value;
  EXPECT_TRUE(EncodeTensor(Tensor::Scalar(9.0f), value).ok());
  if (with_value) writer.AddValue(1, std::move(value));
  return writer.Take();
}

std::vector<std::string> WhatWorkersSay(uint64_t step) {
  std::vector<std::string> said;
  proto::FromWorker message;
  const auto say = [&] { said.push_back(message.SerializeAsString()); };
  message.mutable_printed()->set_step(step);
  message.mutable_printed()->set_stream("stdout");
  message.mutable_printed()->set_text("hello");
  say();
  message.mutable_pong()->set_number(9);
  message.mutable_pong()->set_nanos(1'000'000'000);
  say();
  message.mutable_fired()->set_step(step);
  message.mutable_fired()->set_firings(SomeFirings());
  say();
  message.mutable_progress()->set_step(step);
  message.mutable_progress()->set_question(1);
  message.mutable_progress()->set_node("y");
  message.mutable_progress()->add_loops()->set_name("loop");
  say();
  message.mutable_hello()->set_incarnation(5);
  message.mutable_hello()->set_num_devices(1);
  say();
  ToProto(absl::OkStatus(), message.mutable_joined()->mutable_status());
  say();
  message.mutable_compiled()->set_program(1);
  message.mutable_compiled()->add_feeds(0);
  message.mutable_compiled()->add_fetches(0);
  say();
  message.mutable_done()->set_step(step);
  EXPECT_TRUE(EncodeTensor(Tensor::Scalar(9.0f), *message.mutable_done()->add_fetches()).ok());
  for (int i = 0; i < 4; ++i) say();  // so that some steps end well
  ToProto(absl::AbortedError("enough"), message.mutable_done()->mutable_status());
  say();
  return said;
}

// Firings that a worker has damaged, or made up: told or refused, within bounds.
TEST(ControlMalformed, FiringsAreToldOrRefused) {
  class Bounds final : public RunObserver {
   public:
    absl::Status OnFired(const Firing& firing) override {
      ++told;
      EXPECT_LE(100, firing.start_nanos);
      EXPECT_LE(firing.start_nanos, firing.end_nanos);
      EXPECT_LE(firing.end_nanos, 5000);
      EXPECT_GE(firing.bytes, 0);
      EXPECT_LE(kMostThreads, firing.thread);
      EXPECT_LT(firing.thread, 2 * kMostThreads);
      EXPECT_LE(firing.around.size(), 128u);
      size_t length = firing.node.size() + firing.device.size();
      for (const Surrounding& s : firing.around) length += s.name.size() + s.function.size();
      EXPECT_LT(length, kMostFiringsBytes);
      EXPECT_TRUE(firing.outputs.empty() || firing.outputs.size() == 2);
      return absl::OkStatus();
    }
    int told = 0;
  } bounds;
  const std::vector<char> graphs(kMostGraphs);
  const FiringsOf of{.offset_nanos = 500,
                     .first_nanos = 100,
                     .last_nanos = 5000,
                     .first_thread = kMostThreads,
                     .graphs = graphs.data(),
                     .num_outputs = 2};
  ASSERT_TRUE(ReadFirings(SomeFirings(), of, bounds).ok());
  ASSERT_TRUE(ReadFirings(SomeFirings(true), of, bounds).ok());
  EXPECT_EQ(bounds.told, 4);
  // Values that nobody has asked for.
  FiringsOf one_output = of;
  one_output.num_outputs = 1;
  EXPECT_FALSE(ReadFirings(SomeFirings(true), one_output, bounds).ok());
  one_output.num_outputs = 0;
  EXPECT_FALSE(ReadFirings(std::string(kMostFiringsBytes + 1, '\0'), one_output, bounds).ok());
  // Places within each other, deeper than any program's.
  proto::Firings deep;
  deep.add_nodes();
  for (int i = 0; i < 1000; ++i) deep.add_places()->set_outer(i);
  deep.add_firings()->set_place(1000);
  EXPECT_FALSE(ReadFirings(deep.SerializeAsString(), of, bounds).ok());
  deep.mutable_firings(0)->set_place(100);
  EXPECT_TRUE(ReadFirings(deep.SerializeAsString(), of, bounds).ok());
  deep.mutable_places(3)->set_outer(4);  // itself
  EXPECT_FALSE(ReadFirings(deep.SerializeAsString(), of, bounds).ok());
  Damage damage(testing::TestSeed());
  int refused = 0;
  const int mutations = testing::IsLongTest() ? 1'000'000 : 100'000;
  for (int i = 0; i < mutations; ++i) {
    const std::string damaged = damage.To(SomeFirings(i % 2 == 0));
    FiringsOf fitting = of;
    fitting.offset_nanos = FittingOffset(damaged, of);
    refused += ReadFirings(damaged, fitting, bounds).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, mutations / 10);
  EXPECT_GT(bounds.told, mutations / 10);
}

TEST(ControlMalformed, MessagesToAClientEndTheirStepAtMost) {
  const int mutations = testing::IsLongTest() ? 200'000 : 20'000;
  constexpr int kPerStep = 64;
  Damage damage(testing::TestSeed());
  test::TestNetwork network;
  test::TestHost host(network, "client");
  int steps = 0, results = 0;
  int64_t firings = 0;
  for (int sent = 0; sent < mutations; ++steps) {
    std::shared_ptr<FakeWorker> worker;
    MemoryLinks links;
    links.Serve("fake", [&](std::shared_ptr<ControlLink> link) {
      return worker = std::make_shared<FakeWorker>(std::move(link));
    });
    ClusterSettings settings;
    settings.addresses = {"fake"};
    settings.first_step = uint64_t{1} << 40;
    settings.failure_nanos = 60'000'000'000;
    const auto engine = ConnectCluster(host, links.dialer(), settings);
    ASSERT_TRUE(engine.ok()) << engine.status();
    SessionOptions options = Quiet();
    options.cluster = *engine;
    const auto session = testing::SessionFor(kProgram, options);
    std::atomic<bool> has_ended{false};
    TraceRecorder recorder;
    StepStatistics statistics;
    ObserverList observers;
    observers.Add(&recorder);
    observers.Add(&statistics);
    ProgressProbe probe([](const RunProgress&) {});
    probe.Ask();
    RunOptions watched;
    if (steps % 2 == 0) {
      watched.observer = &observers;
      watched.progress = &probe;
    }
    std::thread run([&] {
      results += session->Run(SomeFeeds(), {"y"}, {}, watched).ok() ? 1 : 0;
      has_ended = true;
    });
    EXPECT_TRUE(Workers::Eventually([&] { return worker->step() != 0; }));
    const std::vector<std::string> said = WhatWorkersSay(worker->step());
    for (int i = 0; i < kPerStep && !has_ended; ++i, ++sent)
      worker->Say(damage.To(said[damage.Draw(said.size())]));
    worker->Say(said.back());
    run.join();
    firings += recorder.recorded();
    EXPECT_LE(recorder.log().Merge().firings.size(), size_t{kPerStep} * 2);
  }
  EXPECT_GT(firings, 0);
  EXPECT_LT(steps, mutations);
  EXPECT_GT(results, 0);
}

// The first call of Close, by whom a message made give up its worker, lasts until the cluster's end
// has called it too, and some time longer.
class SlowToClose final : public ControlLink {
 public:
  struct State {
    std::atomic<bool> is_closing{false}, is_ending{false}, has_closed{false};
  };
  SlowToClose(std::shared_ptr<ControlLink> link, State& state)
      : link_(std::move(link)), state_(state) {}
  void Send(std::string message) override { link_->Send(std::move(message)); }
  void Close() override {
    if (state_.is_closing.exchange(true)) {
      state_.is_ending = true;
      return link_->Close();
    }
    EXPECT_TRUE(Workers::Eventually([&] { return state_.is_ending.load(); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    state_.has_closed = true;
  }

 private:
  const std::shared_ptr<ControlLink> link_;
  State& state_;
};

// What ends with the cluster is gone then for the links' threads too.
TEST(ControlLinks, CallNobodyOnceTheirClusterHasEnded) {
  test::TestNetwork network;
  test::TestHost host(network, "client");
  std::shared_ptr<FakeWorker> worker;
  MemoryLinks links;
  links.Serve("fake", [&](std::shared_ptr<ControlLink> link) {
    return worker = std::make_shared<FakeWorker>(std::move(link));
  });
  SlowToClose::State state;
  const auto dial =
      [&](const std::string& address,
          std::shared_ptr<LinkHandler> handler) -> absl::StatusOr<std::shared_ptr<ControlLink>> {
    return std::make_shared<SlowToClose>(*links.dialer()(address, std::move(handler)), state);
  };
  ClusterSettings settings;
  settings.addresses = {"fake"};
  settings.failure_nanos = 60'000'000'000;
  auto engine = ConnectCluster(host, dial, settings);
  ASSERT_TRUE(engine.ok()) << engine.status();
  worker->Say("no message");
  ASSERT_TRUE(Workers::Eventually([&] { return state.is_closing.load(); }));
  engine->reset();
  EXPECT_TRUE(state.has_closed);
}

}  // namespace
}  // namespace gyre::cluster
