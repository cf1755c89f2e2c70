// Programs on several devices of one process: what runs where, what is sent how often, and how they
// end together.
#include <map>
#include <mutex>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gyre/core/options.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

using ::testing::HasSubstr;

// A loop that counts on CPU:0 and multiplies by v on CPU:1.
constexpr char kLoop[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %w = Placeholder() dtype=float32 shape=() : float32
  %zero = Const() value=int32{0} : int32
  %one = Const() value=float32{1} : float32
  %v = Abs(%w) : float32 on "/cpu:0"
  %loop = StatelessWhile(%zero, %n, %one, %v) cond=@more body=@step : (int32, int32, float32, float32)
}
func @more(%i: int32, %n: int32, %x: float32, %w: float32) -> (p: bool) {
  %less = Less(%i, %n) : bool on "/cpu:0"
  return %less
}
func @step(%i: int32, %n: int32, %x: float32, %w: float32) -> (i: int32, n: int32, x: float32, w: float32) {
  %k = Const() value=int32{1} : int32
  %next = AddV2(%i, %k) : int32 on "/cpu:0"
  %product = Mul(%x, %w) : float32 on "/cpu:1"
  %checked = CheckNumerics(%product) message="not a number" : float32 on "/cpu:1"
  return %next, %n, %checked, %w
}
)";

// Where nodes have fired, and how often.
class Firings : public RunObserver {
 public:
  absl::Status OnFired(const Firing& firing) override {
    const std::lock_guard lock(mutex_);
    ++fired_[absl::StrCat(firing.node, " on ", firing.device.substr(firing.device.rfind('/') + 1))];
    if (firing.op == "_Send") ++sent_[std::string(firing.node)];
    return absl::OkStatus();
  }
  int count(const std::string& what) const {
    const auto it = fired_.find(what);
    return it == fired_.end() ? 0 : it->second;
  }
  const std::map<std::string, int>& sent() const { return sent_; }

 private:
  std::mutex mutex_;
  std::map<std::string, int> fired_, sent_;
};

std::unique_ptr<Session> OnTwo(const std::string& text) {
  SessionOptions options;
  options.devices = "cpu:2";
  return SessionFor(text, options);
}

Feeds LoopFeeds(int n, float w) {
  return {{"n", Tensor::Scalar(int32_t{n})}, {"w", Tensor::Scalar(w)}};
}

TEST(Devices, RunWhatProgramsAskThemTo) {
  auto session = OnTwo(kLoop);
  ASSERT_NE(session, nullptr);
  Firings firings;
  RunOptions options;
  options.observer = &firings;
  const auto got = session->Run(LoopFeeds(10, 2), {"loop:2"}, {}, options);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ((*got)[0].scalar<float>(), 1024.0f);
  EXPECT_EQ(firings.count("less on device:CPU:0"), 11);
  EXPECT_EQ(firings.count("next on device:CPU:0"), 10);
  EXPECT_EQ(firings.count("product on device:CPU:1"), 10);
  EXPECT_EQ(firings.count("product on device:CPU:0"), 0);
}

// What the loop does not change crosses once, what it changes once in each iteration.
TEST(Devices, GetInvariantsOnce) {
  for (const int n : {3, 300}) {
    auto session = OnTwo(kLoop);
    Firings firings;
    RunOptions options;
    options.observer = &firings;
    ASSERT_TRUE(session->Run(LoopFeeds(n, 1), {"loop:2"}, {}, options).ok());
    std::map<std::string, int> sent = firings.sent();
    EXPECT_EQ(sent["v/send_1"], 1);
    EXPECT_EQ(sent["loop/checked/send_0"], n);
  }
}

// Of this loop CPU:1 has nothing but a value that no iteration changes. It sends it in each.
TEST(Devices, SendWhatTheyMakeOfInvariantsInEveryIteration) {
  constexpr char kAside[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %zero = Const() value=int32{0} : int32 on "/cpu:0"
  %outside = Const() value=int32{5} : int32 on "/cpu:1"
  %cap = Enter(%outside) frame_name="f" is_constant=true : int32 on "/cpu:1"
  %bound = Enter(%n) frame_name="f" is_constant=true : int32 on "/cpu:0"
  %enter = Enter(%zero) frame_name="f" : int32 on "/cpu:0"
  %merge = Merge(%enter, %next) : (int32, int32) on "/cpu:0"
  %less = Less(%merge, %bound) : bool on "/cpu:0"
  %more = LoopCond(%less) : bool on "/cpu:0"
  %switch = Switch(%merge, %more) : (int32, int32) on "/cpu:0"
  %one = Const(^%cap) value=int32{1} : int32 on "/cpu:1"
  %i = AddV2(%switch:1, %one) : int32 on "/cpu:0"
  %next = NextIteration(%i) : int32 on "/cpu:0"
  %exit = Exit(%switch) : int32 on "/cpu:0"
})";
  auto session = OnTwo(kAside);
  ASSERT_NE(session, nullptr);
  for (const int32_t n : {0, 1, 7}) {
    RunOptions options;
    options.timeout_ms = 10'000;
    const auto got = session->Run({{"n", Tensor::Scalar(n)}}, {"exit"}, {}, options);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ((*got)[0].scalar<int32_t>(), n);
  }
}

// A list cannot be on a discrete device. That it is there can be waited for.
TEST(Devices, WaitForWhatTheyCannotHold) {
  SessionOptions options;
  options.devices = "cpu:1,null:1";
  auto session = SessionFor(R"(
graph {
  %zero = Const() value=int32{0} : int32
  %shape = Const() value=int32[0]{} : int32
  %list = EmptyTensorList(%shape, %zero) element_dtype=float32 : variant
  %there = Enter(%list) frame_name="f" is_constant=true : variant
  %enter = Enter(%zero) frame_name="f" : int32
  %merge = Merge(%enter, %next) : (int32, int32)
  %bound = Const(^%merge) value=int32{3} : int32
  %less = Less(%merge, %bound) : bool
  %more = LoopCond(%less) : bool
  %switch = Switch(%merge, %more) : (int32, int32)
  %wait = NoOp(^%there) on "/device:NULL:0"
  %one = Const(^%wait) value=int32{1} : int32
  %i = AddV2(%switch:1, %one) : int32
  %next = NextIteration(%i) : int32
  %exit = Exit(%switch) : int32
})",
                            options);
  ASSERT_NE(session, nullptr);
  const auto got = session->Run({}, {"exit"});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ((*got)[0].scalar<int32_t>(), 3);
}

TEST(Devices, FailTogetherWithTheNodeAndItsLoop) {
  auto session = OnTwo(kLoop);
  const auto got = session->Run(LoopFeeds(1000, 1e30f), {"loop:2"});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument) << got.status();
  EXPECT_THAT(std::string(got.status().message()),
              AllOf(HasSubstr("not a number"), HasSubstr("checked"), HasSubstr("iteration 1 of")));
  EXPECT_TRUE(session->Run(LoopFeeds(3, 2), {"loop:2"}).ok());
}

TEST(Devices, EndAtTheDeadlineAndWhenCancelled) {
  auto session = OnTwo(kLoop);
  RunOptions options;
  options.timeout_ms = 30;
  const auto late = session->Run(LoopFeeds(2'000'000'000, 1), {"loop:2"}, {}, options);
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded) << late.status();
  Cancellation cancellation;
  options = {};
  options.cancellation = &cancellation;
  std::thread canceller([&] { cancellation.Cancel(absl::CancelledError("enough")); });
  const auto stopped = session->Run(LoopFeeds(2'000'000'000, 1), {"loop:2"}, {}, options);
  canceller.join();
  EXPECT_EQ(stopped.status().code(), absl::StatusCode::kCancelled) << stopped.status();
}

TEST(Devices, TakeRunsFromManyThreads) {
  auto session = OnTwo(kLoop);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const auto got = session->Run(LoopFeeds(t, 2), {"loop:2"});
        ASSERT_TRUE(got.ok()) << got.status();
        EXPECT_EQ((*got)[0].scalar<float>(), static_cast<float>(1 << t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Devices, AreWhatTheOptionSays) {
  SessionOptions options;
  options.devices = "gpu:2";
  const auto session = Session::Create(SessionFor(kLoop)->shared_program(), options);
  EXPECT_THAT(std::string(session.status().message()), HasSubstr("there is cpu:N"));
  auto one = OnTwo("graph {\n%a = Const() value=int32{1} : int32 on \"/cpu:7\"\n}");
  EXPECT_THAT(std::string(one->Run({}, {"a"}).status().message()),
              HasSubstr("node a asks for the device /device:CPU:7"));
}

}  // namespace
}  // namespace gyre::testing
