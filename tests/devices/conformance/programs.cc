// Values in a device's memory that pass through conditionals and loops.
#include "devices/conformance/programs.h"

#include <map>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gyre/core/options.h"

namespace gyre::testing {
namespace {

using ::testing::HasSubstr;

// A loop that counts on the CPU, and whose vector lies on DEV from one iteration to the next.
constexpr char kLoop[] = R"(
graph {
  %n = Placeholder() dtype=int32 : int32
  %x = Placeholder() dtype=float32 : float32
  %w = Placeholder() dtype=float32 : float32
  %zero = Const() value=int32{0} : int32
  %loop = StatelessWhile(%zero, %n, %x, %w) cond=@more body=@step : (int32, int32, float32, float32)
}
func @more(%i: int32, %n: int32, %x: float32, %w: float32) -> (p: bool) {
  %less = Less(%i, %n) : bool
  return %less
}
func @step(%i: int32, %n: int32, %x: float32, %w: float32) -> (i: int32, n: int32, x: float32, w: float32) {
  %k = Const() value=int32{1} : int32
  %next = AddV2(%i, %k) : int32
  %in = Identity(%x) : float32 on "DEV"
  %product = Mul(%in, %w) : float32
  %checked = CheckNumerics(%product) message="not a number" : float32
  %out = Identity(%checked) : float32 on "DEV"
  return %next, %n, %out, %w
}
)";

// Sees all values, as the NaN trap does, and where nodes ran.
class Watcher : public RunObserver {
 public:
  absl::Status OnFired(const Firing& firing) override {
    const std::lock_guard lock(mutex_);
    ++fired_[absl::StrCat(firing.op, " on ", firing.device.substr(firing.device.rfind('/') + 1))];
    for (const Tensor& output : firing.outputs) {
      if (output.has_value() && output.dtype() == DType::kFloat) {
        for (const float element : output.values<float>()) sum_ += element;
      }
    }
    return absl::OkStatus();
  }
  int count(const std::string& what) const {
    const auto it = fired_.find(what);
    return it == fired_.end() ? 0 : it->second;
  }
  float sum() const { return sum_; }

 private:
  std::mutex mutex_;
  float sum_ = 0;
  std::map<std::string, int> fired_;
};

Feeds LoopFeeds(int n, float w) {
  return {{"n", Tensor::Scalar(int32_t{n})},
          {"x", Tensor::Vector<float>({1, 2, 3})},
          {"w", Tensor::Vector<float>({w, -w, 1})}};
}

TEST_P(DevicePrograms, FeedsAndFetchesReachIt) {
  const auto identity = [](const char* type) {
    return absl::StrCat("graph {\n%x = Placeholder() dtype=", type,
                        "\n%y = Identity(%x) on \"DEV\"\n%z = Identity(%y) on \"DEV\"\n}");
  };
  const auto session = OnDevice(identity("float32"));
  for (const Tensor& value : {Noise(DType::kFloat, 5, 1), Noise(DType::kFloat, 0, 1),
                              Noise(DType::kFloat, 100'000, 1), Tensor::Scalar(2.5f)}) {
    const auto got = session->Run({{"x", value}}, {"y", "z", "x"});
    ASSERT_TRUE(got.ok()) << got.status();
    for (const Tensor& result : *got) {
      EXPECT_EQ(result.device(), nullptr);
      EXPECT_TRUE(SameBytes(value, result));
    }
  }
  for (const auto& [type, dtype] : {std::pair{"bool", DType::kBool},
                                    {"complex128", DType::kComplex128},
                                    {"bfloat16", DType::kBfloat16},
                                    {"uint64", DType::kUint64}}) {
    const Tensor value = Noise(dtype, 33, 2);
    const auto got = OnDevice(identity(type))->Run({{"x", value}}, {"z"});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(SameBytes(value, (*got)[0])) << type;
  }
}

TEST_P(DevicePrograms, ValuesPassThroughIt) {
  if (type_->name != "CPU") {
    const auto copies = OnDevice(
        "graph {\n%x = Placeholder() dtype=float32\n%a = Neg(%x)\n"
        "%b = Identity(%a) on \"DEV\"\n%c = Neg(%b)\n}");
    Watcher watcher;
    const auto got =
        copies->Run({{"x", Tensor::Vector<float>({1, 2})}}, {"c"}, {}, {.observer = &watcher});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(watcher.count(absl::StrCat("Identity on ", name_)), 1);
    EXPECT_NE(watcher.sum(), 0);
  }
  ExpectEqual(R"(
graph {
  %x = Placeholder() dtype=float32
  %a = Neg(%x)
  %b = Identity(%a) on "DEV"
  %c = Exp(%b)
  %d = AddV2(%b, %c)
})",
              {{{"x", Noise(DType::kFloat, 3, 7)}}, {{"x", Tensor::Vector<float>({0, 1, 2})}}},
              {"b", "c"});
}

TEST_P(DevicePrograms, PrimitivesOfConditionalsLieOnIt) {
  const std::string text = R"(
graph {
  %x = Placeholder() dtype=float32
  %p = Placeholder() dtype=bool shape=()
  %sw = Switch(%x, %p) : (float32, float32) on "DEV"
  %no = Identity(%sw) : float32 on "DEV"
  %yes = Neg(%sw:1) : float32
  %y = Merge(%no, %yes) : (float32, int32) on "DEV"
  %z = Exp(%y) : float32
})";
  std::vector<Feeds> runs;
  for (const bool p : {false, true})
    runs.push_back({{"x", Tensor::Vector<float>({1, 2, 3})}, {"p", Tensor::Scalar(p)}});
  ExpectEqual(text, runs, {"y", "y:1", "z"});
}

// What is dead crosses as dead, there and back.
TEST_P(DevicePrograms, DeadValuesCross) {
  const std::string text = R"(
graph {
  %x = Placeholder() dtype=float32
  %p = Placeholder() dtype=bool shape=()
  %sw = Switch(%x, %p) : (float32, float32)
  %a = Identity(%sw) : float32 on "DEV"
  %b = Neg(%a) : float32
  %c = Identity(%sw:1) : float32 on "DEV"
  %d = Exp(%c) : float32
  %e = Identity(%d) : float32 on "DEV"
  %y = Merge(%b, %e) : (float32, int32)
})";
  std::vector<Feeds> runs;
  for (const bool p : {false, true})
    runs.push_back({{"x", Tensor::Vector<float>({1, 2, 3})}, {"p", Tensor::Scalar(p)}});
  ExpectEqual(text, runs, {"y", "y:1"});
}

// Also where the device is the first.
TEST_P(DevicePrograms, WhatIsFedCanBeFetched) {
  const std::string set = absl::StrCat(absl::AsciiStrToLower(type_->name), ":1");
  const auto session = SessionFor(R"(
graph {
  %s = Placeholder() dtype=string shape=(1)
  %x = Placeholder() dtype=float32 shape=(2)
})",
                                  {.devices = type_->name == "CPU" ? set : set + ",cpu:1"});
  ASSERT_NE(session, nullptr);
  const auto got = session->Run(
      {{"s", Tensor::Vector<std::string>({"a"})}, {"x", Tensor::Vector<float>({1, 2})}},
      {"s", "x"});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ((*got)[0].values<std::string>()[0], "a");
  EXPECT_EQ((*got)[1].values<float>()[1], 2);
}

TEST_P(DevicePrograms, BranchesLieOnIt) {
  const std::string text = R"(
graph {
  %x = Placeholder() dtype=float32
  %p = Placeholder() dtype=bool shape=()
  %y = StatelessIf(%p, %x) then_branch=@yes else_branch=@no : float32
}
func @yes(%x: float32) -> (y: float32) {
  %in = Identity(%x) : float32 on "DEV"
  %neg = Neg(%in) : float32
  %out = Identity(%neg) : float32 on "DEV"
  return %out
}
func @no(%x: float32) -> (y: float32) {
  %out = Identity(%x) : float32 on "DEV"
  return %out
}
)";
  std::vector<Feeds> runs;
  for (const bool p : {false, true})
    runs.push_back({{"x", Tensor::Vector<float>({1, 2, 3})}, {"p", Tensor::Scalar(p)}});
  ExpectEqual(text, runs, {"y"});
}

TEST_P(DevicePrograms, LoopsLieOnIt) {
  std::vector<Feeds> runs;
  for (const int n : {0, 1, 2, 50}) runs.push_back(LoopFeeds(n, 1.5f));
  ExpectEqual(kLoop, runs, {"loop", "loop:2"});
}

TEST_P(DevicePrograms, LoopsWithinLoopsLieOnIt) {
  const std::string text = R"(
graph {
  %n = Placeholder() dtype=int32 : int32
  %x = Placeholder() dtype=float32 : float32
  %zero = Const() value=int32{0} : int32
  %loop = StatelessWhile(%zero, %n, %x) cond=@more body=@outer : (int32, int32, float32)
}
func @more(%i: int32, %n: int32, %x: float32) -> (p: bool) {
  %less = Less(%i, %n) : bool
  return %less
}
func @outer(%i: int32, %n: int32, %x: float32) -> (i: int32, n: int32, x: float32) {
  %k = Const() value=int32{1} : int32
  %zero = Const() value=int32{0} : int32
  %next = AddV2(%i, %k) : int32
  %there = Identity(%x) : float32 on "DEV"
  %inner = StatelessWhile(%zero, %i, %there) cond=@more body=@inner : (int32, int32, float32)
  %here = Neg(%inner:2) : float32
  %out = Identity(%here) : float32 on "DEV"
  return %next, %n, %out
}
func @inner(%i: int32, %n: int32, %x: float32) -> (i: int32, n: int32, x: float32) {
  %k = Const() value=int32{1} : int32
  %next = AddV2(%i, %k) : int32
  %sin = Sin(%x) : float32
  %out = Identity(%sin) : float32 on "DEV"
  return %next, %n, %out
}
)";
  std::vector<Feeds> runs;
  for (const int n : {0, 1, 5}) {
    runs.push_back({{"n", Tensor::Scalar(int32_t{n})}, {"x", Tensor::Vector<float>({1, 2, 3})}});
  }
  ExpectEqual(text, runs, {"loop:2"});
}

TEST_P(DevicePrograms, GradientsOfLoopsPassThroughIt) {
  const std::string text = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=(3) : float32
  %w = Placeholder() dtype=float32 shape=(3) : float32
  %one = OnesLike(%x)
  %dx = SymbolicGradient(%x, %w, %one) f=@f Tin=[float32, float32, float32] Tout=[float32, float32]
}
func @f(%x: float32, %w: float32) -> (y: float32) {
  %zero = Const() value=int32{0} : int32
  %n = Const() value=int32{6} : int32
  %loop = StatelessWhile(%zero, %n, %x, %w) cond=@more body=@step : (int32, int32, float32, float32)
  return %loop:2
}
)";
  const std::string functions = std::string(kLoop).substr(std::string(kLoop).find("func @more"));
  ExpectEqual(text + functions, {LoopFeeds(6, 1.25f), LoopFeeds(6, -0.5f)}, {"dx", "dx:1"},
              {.soft_placement = true});
}

TEST_P(DevicePrograms, ErrorsReachEverybody) {
  const auto session = OnDevice(kLoop);
  const auto got = session->Run(LoopFeeds(1000, 1e30f), {"loop:2"});
  EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument) << got.status();
  EXPECT_THAT(std::string(got.status().message()),
              AllOf(HasSubstr("not a number"), HasSubstr("checked"), HasSubstr("iteration 1 of")));
  EXPECT_TRUE(session->Run(LoopFeeds(3, 2), {"loop:2"}).ok());
}

TEST_P(DevicePrograms, RunsEndAtTheDeadlineAndWhenCancelled) {
  const auto session = OnDevice(kLoop);
  const auto late = session->Run(LoopFeeds(2'000'000'000, 1), {"loop:2"}, {}, {.timeout_ms = 30});
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded) << late.status();
  Cancellation cancellation;
  std::thread canceller([&] { cancellation.Cancel(absl::CancelledError("enough")); });
  const auto stopped =
      session->Run(LoopFeeds(2'000'000'000, 1), {"loop:2"}, {}, {.cancellation = &cancellation});
  canceller.join();
  EXPECT_EQ(stopped.status().code(), absl::StatusCode::kCancelled) << stopped.status();
}

TEST_P(DevicePrograms, RunsFromManyThreads) {
  const auto session = OnDevice(kLoop);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const auto got = session->Run(LoopFeeds(t, 2), {"loop:2"});
        ASSERT_TRUE(got.ok()) << got.status();
        EXPECT_EQ((*got)[0].values<float>()[0], static_cast<float>(1 << t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace gyre::testing
