// Many runs of many programs, one after the other and at the same time, on all engines, in all
// forms, with cancellations, deadlines, budgets, mistakes and signals in between. Whatever was not
// disturbed gives the right values, and memory, descriptors and threads stay what they were.
#include <pthread.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "base/thread_pool.h"
#include "exec/sequential/background.h"
#include "gtest/gtest.h"
#include "gyre/core/options.h"
#include "session/names.h"
#include "soak/process_state.h"
#include "support/compile_setting.h"
#include "support/run_text.h"
#include "support/transcript.h"

namespace gyre::testing {
namespace {

constexpr size_t kPrograms = 200;
constexpr int kDrivers = 2;

std::vector<Setting> Settings() {
  return {
      SettingOf("reference", "reference", 1, ""),
      SettingOf("one thread", "dataflow", 1, ""),
      SettingOf("two threads", "dataflow", 2, ""),
      SettingOf("raised", "dataflow", 1, "raised"),
      SettingOf("optimized", "dataflow", 2, "optimized"),
      SettingOf("relowered", "dataflow", 2, "relowered"),
  };
}

// A golden case and what comes of it in a session of its own, by the reference engine.
struct Subject {
  LoadedCase loaded;
  std::vector<RunResult> want;
  bool keeps_nothing = false;  // a session gives the same again
};

std::vector<Subject> Subjects(std::mt19937_64& random) {
  const SessionOptions options = Settings().front().options;
  std::vector<Subject> subjects;
  for (LoadedCase& loaded : SampleCases(kPrograms, random)) {
    std::vector<RunResult> want = RunCase(loaded, options);
    Subject subject = {std::move(loaded), std::move(want)};
    if (subject.loaded.golden.init.empty()) {
      const auto session = Session::Create(subject.loaded.program, options);
      subject.keeps_nothing = session.ok();
      for (int repeat = 0; repeat < 2 && subject.keeps_nothing; ++repeat) {
        for (size_t i = 0; i < subject.want.size(); ++i) {
          const golden::Step& step = subject.loaded.golden.steps[i];
          const RunResult got = (*session)->Run(step.feeds, step.fetches, step.targets);
          subject.keeps_nothing &= !BitDifference(got, subject.want[i]);
        }
      }
    }
    subjects.push_back(std::move(subject));
  }
  return subjects;
}

// A session, ready to run all steps of a subject; null where the program has not this form.
struct Ready {
  std::unique_ptr<Session> session;
  std::vector<Session::Callable> callables;
};

std::shared_ptr<const Ready> MakeReady(const Subject& subject, const Setting& setting) {
  auto ready = std::make_shared<Ready>();
  auto session = Session::Create(subject.loaded.program, setting.options);
  if (!session.ok()) return nullptr;
  ready->session = *std::move(session);
  for (const golden::Step& step : subject.loaded.golden.steps) {
    auto callable = ready->session->Prepare(NamesOf(step.feeds), step.fetches, step.targets);
    if (!callable.ok()) return nullptr;
    ready->callables.push_back(*std::move(callable));
  }
  return ready;
}

// Cancels what it is given, as soon as it comes to it, on a thread of its own.
class Canceller {
 public:
  Canceller() : thread_([this] { Work(); }) {}
  ~Canceller() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void Cancel(std::shared_ptr<Cancellation> run) {
    {
      const std::lock_guard lock(mutex_);
      runs_.push_back(std::move(run));
    }
    changed_.notify_all();
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_over_ || !runs_.empty(); });
      if (runs_.empty()) return;
      const std::shared_ptr<Cancellation> run = std::move(runs_.back());
      runs_.pop_back();
      lock.unlock();
      run->Cancel(absl::CancelledError("the soak has cancelled this run"));
      lock.lock();
    }
  }

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Cancellation>> runs_;
  bool is_over_ = false;
  std::thread thread_;
};

// As long as it lives, SIGALRM comes to the process every millisecond or so, with a handler that
// does nothing; drivers send themselves SIGUSR1 beside.
class Signals {
 public:
  Signals() {
    struct sigaction nothing = {};
    nothing.sa_handler = [](int) {};
    sigaction(SIGALRM, &nothing, &old_alarm_);
    sigaction(SIGUSR1, &nothing, &old_user_);
    SetTimer(1100);
  }
  ~Signals() {
    SetTimer(0);
    sigaction(SIGALRM, &old_alarm_, nullptr);
    sigaction(SIGUSR1, &old_user_, nullptr);
  }

 private:
  static void SetTimer(int64_t micros) {
    const itimerval timer = {{0, micros}, {0, micros}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
  struct sigaction old_alarm_ = {};
  struct sigaction old_user_ = {};
};

class Soak {
 public:
  Soak(const std::vector<Subject>& subjects, uint64_t seed) : subjects_(subjects), seed_(seed) {}

  // `runs` more runs, by all drivers together; then all sessions are dropped.
  ProcessState Run(int64_t runs) {
    ++phase_;
    left_ = runs;
    std::vector<std::thread> drivers;
    for (int driver = 0; driver < kDrivers; ++driver) {
      drivers.emplace_back([this, driver] {
        std::mt19937_64 random(seed_ * 1000 + phase_ * 10 + static_cast<uint64_t>(driver));
        while (left_.load(std::memory_order_relaxed) > 0 && !has_failed_) Step(random);
      });
    }
    for (std::thread& driver : drivers) driver.join();
    ready_.clear();
    return ReadLastingState();
  }
  int64_t disturbed() const { return disturbed_; }

 private:
  void Step(std::mt19937_64& random) {
    const size_t number = random() % subjects_.size();
    const size_t setting = random() % settings_.size();
    if (random() % 50 == 0) pthread_kill(pthread_self(), SIGUSR1);
    if (!subjects_[number].keeps_nothing || random() % 64 == 0) {
      RunWhole(subjects_[number], settings_[setting]);
    } else {
      RunPrepared(number, setting, random);
    }
  }

  // All of a case in a session of its own.
  void RunWhole(const Subject& subject, const Setting& setting) {
    const auto got = RunCase(subject.loaded, setting.options);
    left_ -= static_cast<int64_t>(got.size());
    for (const RunResult& result : got) {
      if (IsOfOtherForm(result.status())) return;
    }
    if (const auto difference = BitDifference(got, subject.want))
      Complain(subject, setting, *difference);
  }

  void RunPrepared(size_t number, size_t setting, std::mt19937_64& random) {
    const Subject& subject = subjects_[number];
    const std::shared_ptr<const Ready> ready = Find(number, setting, random() % 100 == 0);
    if (ready == nullptr) return;
    for (size_t i = 0; i < ready->callables.size(); ++i) {
      const golden::Step& step = subject.loaded.golden.steps[i];
      const RunResult& want = subject.want[i];
      RunOptions options;
      std::vector<Tensor> values = ValuesOf(step.feeds);
      std::shared_ptr<Cancellation> cancellation;
      absl::StatusCode may_be = absl::StatusCode::kOk;
      switch (random() % 16) {
        case 0:
          cancellation = std::make_shared<Cancellation>();
          options.cancellation = cancellation.get();
          canceller_.Cancel(cancellation);
          may_be = absl::StatusCode::kCancelled;
          break;
        case 1:
          options.timeout_ms = 1;
          may_be = absl::StatusCode::kDeadlineExceeded;
          break;
        case 2:
          options.budget_bytes = 1 + static_cast<int64_t>(random() % 20'000);
          may_be = absl::StatusCode::kResourceExhausted;
          break;
        case 3:
          values.emplace_back();
          may_be = absl::StatusCode::kInvalidArgument;
          break;
        default:
          break;
      }
      const RunResult got = ready->callables[i].Run(values, options);
      left_.fetch_sub(1, std::memory_order_relaxed);
      if (may_be != absl::StatusCode::kOk) disturbed_.fetch_add(1, std::memory_order_relaxed);
      if (may_be != absl::StatusCode::kOk && got.status().code() == may_be) continue;
      if (const auto difference = BitDifference(got, want))
        Complain(subject, settings_[setting], absl::StrCat("step ", i, ": ", *difference));
    }
  }

  // Sessions are shared by the drivers, and now and then (`anew`) dropped for a new one.
  std::shared_ptr<const Ready> Find(size_t number, size_t setting, bool anew) {
    const std::pair<size_t, size_t> key = {number, setting};
    {
      const std::lock_guard lock(mutex_);
      const auto it = ready_.find(key);
      if (it != ready_.end() && !anew) return it->second;
    }
    std::shared_ptr<const Ready> made = MakeReady(subjects_[number], settings_[setting]);
    const std::lock_guard lock(mutex_);
    ready_.insert_or_assign(key, made);
    return made;
  }

  static bool IsOfOtherForm(const absl::Status& status) {
    return absl::StrContains(status.message(), "the graph has no structured form");
  }

  void Complain(const Subject& subject, const Setting& setting, const std::string& what) {
    const std::lock_guard lock(mutex_);
    has_failed_ = true;
    ADD_FAILURE() << subject.loaded.golden.id() << " on " << setting.name
                  << ", GYRE_TEST_SEED=" << seed_ << ": " << what;
  }

  const std::vector<Subject>& subjects_;
  const std::vector<Setting> settings_ = Settings();
  const uint64_t seed_;
  uint64_t phase_ = 0;
  std::atomic<int64_t> left_{0};
  std::atomic<int64_t> disturbed_{0};
  std::atomic<bool> has_failed_{false};
  Canceller canceller_;
  std::mutex mutex_;
  std::map<std::pair<size_t, size_t>, std::shared_ptr<const Ready>> ready_;  // guarded by mutex_
};

void CompileALoop() {
  const CompileSetting at_once("after:1");
  const auto session = SessionFor(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %loop = StatelessWhile(%n) cond=@more body=@step : int32
}
func @more(%i: int32) -> (p: bool) {
  %zero = Const() value=int32{0} : int32
  %p = Greater(%i, %zero) : bool
  return %p
}
func @step(%i: int32) -> (j: int32) {
  %one = Const() value=int32{1} : int32
  %j = Sub(%i, %one) : int32
  return %j
}
)");
  EXPECT_EQ(RunScalar<int32_t>(*session, {{"n:0", Tensor::Scalar<int32_t>(100)}}, "loop:0"), 0);
}

TEST(Soak, KeepsNothingOfAMillionRuns) {
  const int64_t runs = IsLongTest() ? 1'000'000 : 10'000;
  std::mt19937_64 random(TestSeed());
  const std::vector<Subject> subjects = Subjects(random);
  ASSERT_EQ(subjects.size(), kPrograms);
  // Some runs ask for these sooner or later: the pool's thread, the code generator and its thread.
  ThreadPool::Shared().Submit([] {}, 1);
  CompileALoop();
  sequential::CompileInBackground([] {});
  const Signals signals;
  Soak soak(subjects, TestSeed());
  const int64_t start = SystemClock().NowNanos();
  const ProcessState warm = soak.Run(runs / 10);
  std::cout << "GYRE_TEST_SEED=" << TestSeed() << "\n 10 %: " << ToText(warm) << "\n";
  const ProcessState half = soak.Run(runs / 10 * 4);
  std::cout << " 50 %: " << ToText(half) << "\n";
  const ProcessState full = soak.Run(runs / 2);
  const double seconds = static_cast<double>(SystemClock().NowNanos() - start) / 1e9;
  std::cout << "100 %: " << ToText(full) << "\n"
            << runs << " runs, " << soak.disturbed() << " of them disturbed, "
            << static_cast<int64_t>(static_cast<double>(runs) / seconds) << " a second\n";
  EXPECT_EQ(full.descriptors, warm.descriptors);
  EXPECT_EQ(full.threads, warm.threads);
  // What threads of the pool keep of the heap for later, and in how many pieces it lies.
  constexpr int64_t kKept = 4 << 20;
  EXPECT_LT(full.heap_bytes, warm.heap_bytes + kKept);
  EXPECT_LT(full.resident_bytes, warm.resident_bytes + 4 * kKept);
}

}  // namespace
}  // namespace gyre::testing
