// What the optimiser is worth: golden graphs as they are and optimised.
//
//   forms_bench FOLDER...     e.g. forms_bench tests/golden/models tests/golden/fuzz
//
// For each folder, over the first step of each of its cases: nodes that fire in a run, and the time
// of a run, as ratios of optimised to imported (geometric means, the smallest and the largest).
#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/env.h"
#include "golden/case.h"
#include "gyre/core/observer.h"
#include "gyre/core/session.h"
#include "session/names.h"

namespace gyre::bench {
namespace {

constexpr int kRounds = 15;
constexpr int64_t kSampleNanos = 2'000'000;

class Counter : public RunObserver {
 public:
  absl::Status OnFired(const Firing&) override {
    ++fired;
    return absl::OkStatus();
  }
  int64_t fired = 0;
};

// One form of one case.
class Subject {
 public:
  static absl::StatusOr<Subject> Make(const golden::Case& golden, const std::string& form) {
    SessionOptions options;
    options.form = *ParseProgramForm(form);
    options.parallel.threads = 1;
    options.print = [](absl::string_view, absl::string_view) {};
    auto session = Session::Load(golden.graph_path(), options);
    if (!session.ok()) return session.status();
    for (const std::string& op : golden.init) {
      const absl::Status status = (*session)->Run({}, {}, {op}).status();
      if (!status.ok()) return status;
    }
    const golden::Step& step = golden.steps.front();
    auto callable = (*session)->Prepare(NamesOf(step.feeds), step.fetches, step.targets);
    if (!callable.ok()) return callable.status();
    Subject subject(*std::move(session), *std::move(callable), ValuesOf(step.feeds));
    Counter counter;
    RunOptions run;
    run.observer = &counter;
    const absl::Status status = subject.callable_.Run(subject.feeds_, run).status();
    if (!status.ok()) return status;
    subject.fired_ = static_cast<double>(counter.fired);
    while (subject.Time() < kSampleNanos && subject.times_ < 1'000'000) subject.times_ *= 2;
    return subject;
  }

  double fired() const { return fired_; }
  // Nanoseconds of a sample of some runs.
  int64_t Time() const {
    const int64_t start = SystemClock().NowNanos();
    for (int64_t i = 0; i < times_; ++i) {
      if (!callable_.Run(feeds_).ok()) std::cerr << "a run failed\n";
    }
    return SystemClock().NowNanos() - start;
  }
  double Sample() const { return static_cast<double>(Time()) / static_cast<double>(times_); }

 private:
  Subject(std::unique_ptr<Session> session, Session::Callable callable, std::vector<Tensor> feeds)
      : session_(std::move(session)), callable_(std::move(callable)), feeds_(std::move(feeds)) {}

  std::unique_ptr<Session> session_;
  Session::Callable callable_;
  std::vector<Tensor> feeds_;
  int64_t times_ = 1;
  double fired_ = 0;
};

struct Ratios {
  std::vector<double> fired, time;
  int64_t refused = 0;
};

double GeometricMean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

void Measure(const golden::Case& golden, Ratios& ratios) {
  auto imported = Subject::Make(golden, "imported");
  auto optimized = Subject::Make(golden, "optimized");
  if (!imported.ok() || !optimized.ok()) {
    ++ratios.refused;
    return;
  }
  std::vector<double> quotients;
  for (int i = 0; i < kRounds; ++i) {
    const double before = imported->Sample();
    quotients.push_back(optimized->Sample() / before);
  }
  std::nth_element(quotients.begin(), quotients.begin() + kRounds / 2, quotients.end());
  ratios.fired.push_back(optimized->fired() / imported->fired());
  ratios.time.push_back(quotients[kRounds / 2]);
}

void Print(const std::string& what, const std::vector<double>& values) {
  std::cout << absl::StrFormat("  %-22s %.2f  (%.2f to %.2f)\n", what, GeometricMean(values),
                               *std::min_element(values.begin(), values.end()),
                               *std::max_element(values.begin(), values.end()));
}

int Main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto folders = golden::FindCases(argv[i]);
    if (!folders.ok()) {
      std::cerr << folders.status() << "\n";
      return 1;
    }
    Ratios ratios;
    for (const std::string& folder : *folders) {
      const auto golden = golden::ReadCase(folder);
      if (!golden.ok() || golden->steps.empty() || golden->steps.front().error) continue;
      Measure(*golden, ratios);
    }
    std::cout << argv[i] << ": " << ratios.time.size() << " graphs, optimised over imported\n";
    if (ratios.refused > 0) std::cout << "  " << ratios.refused << " could not be measured\n";
    if (ratios.time.empty()) continue;
    Print("nodes fired in a run", ratios.fired);
    Print("time of a run", ratios.time);
  }
  return 0;
}

}  // namespace
}  // namespace gyre::bench

int main(int argc, char** argv) { return gyre::bench::Main(argc, argv); }
