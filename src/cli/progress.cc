#include "cli/progress.h"

#include <atomic>
#include <csignal>
#include <mutex>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/env.h"
#include "cli/table.h"

namespace gyre::cli {
namespace {

constexpr int64_t kFirstNanos = 1'000'000'000;
constexpr int64_t kPeriodNanos = 500'000'000;
// A line that wraps cannot be drawn over.
constexpr size_t kMostBytes = 79;

// What the handler of the signal may touch. Set before it is installed; the probe is never freed,
// since a handler may still be at work on another thread.
std::atomic<bool> was_signalled{false};
std::atomic<ProgressProbe*> signal_probe{nullptr};

extern "C" void OnProgressSignal(int) {
  was_signalled.store(true, std::memory_order_relaxed);
  if (ProgressProbe* const probe = signal_probe.load(std::memory_order_relaxed)) probe->Ask();
}

// Names come from files: nothing in them may move the cursor, and no character is cut in two.
std::string Printable(std::string text, size_t most) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (text.size() > most) {
    while (most > 0 && (text[most] & 0xc0) == 0x80) --most;
    text.resize(most);
  }
  return text;
}

// Where answers go: the line that there is, if any.
std::mutex sink_mutex;
std::function<void(const RunProgress&)> sink;  // guarded by sink_mutex

ProgressProbe& Probe() {
  static auto* const probe = new ProgressProbe([](const RunProgress& progress) {
    const std::lock_guard lock(sink_mutex);
    if (sink) sink(progress);
  });
  return *probe;
}

bool IsSameLoop(const RunProgress& a, const RunProgress& b, size_t i) {
  if (a.loops.size() <= i || a.loops[i].name != b.loops[i].name) return false;
  return i == 0 ||
         (a.loops[i - 1].iteration == b.loops[i - 1].iteration && IsSameLoop(a, b, i - 1));
}

}  // namespace

std::string DescribeProgress(const ProgressSample& last, const ProgressSample& now) {
  std::string text = absl::StrFormat("%.1f s: ", now.nanos / 1e9);
  const std::vector<RunProgress::Loop>& loops = now.progress.loops;
  for (size_t i = 0; i < loops.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "iteration " : "", loops[i].iteration, " of ", loops[i].name);
    double rate = 0;
    if (IsSameLoop(last.progress, now.progress, i) && now.nanos > last.nanos) {
      const auto done = static_cast<double>(loops[i].iteration - last.progress.loops[i].iteration);
      rate = done / static_cast<double>(now.nanos - last.nanos) * 1e9;
    } else if (i == 0 && now.nanos > 0) {
      rate = static_cast<double>(loops[i].iteration) / static_cast<double>(now.nanos) * 1e9;
    }
    if (rate >= 10) {
      absl::StrAppend(&text, " (", ShortCount(rate), "/s)");
    } else if (rate > 0) {
      absl::StrAppend(&text, " (", absl::StrFormat("%.1f", rate), "/s)");
    }
    absl::StrAppend(&text, ", ");
  }
  absl::StrAppend(&text, now.progress.is_waiting ? "waiting for " : "at ", now.progress.node);
  return text;
}

struct RunProgressLine::State {
  explicit State(const Streams& s) : streams(s) {}

  void Answer(const RunProgress& progress) {
    if (!is_running) return;
    ProgressSample now{progress, SystemClock().NowNanos() - began};
    const std::string text = DescribeProgress(last, now);
    last = std::move(now);
    if (was_signalled.exchange(false, std::memory_order_relaxed)) {
      Clear();
      streams.err << "gyre run: " << Printable(text, text.size()) << std::endl;
    }
    if (!streams.interactive || last.nanos < kFirstNanos) return;
    streams.err << "\r\x1b[K" << Printable(text, kMostBytes) << std::flush;
    is_drawn = true;
  }
  void Clear() {
    if (is_drawn) streams.err << "\r\x1b[K" << std::flush;
    is_drawn = false;
  }

  const Streams streams;
  struct sigaction previous = {};
  std::optional<Ticker> ticker;
  // Guarded by sink_mutex.
  bool is_running = false;
  bool is_drawn = false;
  int64_t began = 0;
  ProgressSample last;
};

RunProgressLine::RunProgressLine(const Streams& streams)
    : state_(std::make_unique<State>(streams)) {
  {
    const std::lock_guard lock(sink_mutex);
    sink = [state = state_.get()](const RunProgress& progress) { state->Answer(progress); };
  }
  signal_probe.store(&Probe());
  struct sigaction action = {};
  action.sa_handler = &OnProgressSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGUSR1, &action, &state_->previous);
}

RunProgressLine::~RunProgressLine() {
  End();
  ::sigaction(SIGUSR1, &state_->previous, nullptr);
  signal_probe.store(nullptr);
  const std::lock_guard lock(sink_mutex);
  sink = nullptr;
}

ProgressProbe* RunProgressLine::probe() { return &Probe(); }

void RunProgressLine::Begin() {
  {
    const std::lock_guard lock(sink_mutex);
    state_->is_running = true;
    state_->began = SystemClock().NowNanos();
    state_->last = ProgressSample();
  }
  if (state_->streams.interactive)
    state_->ticker.emplace(kFirstNanos, kPeriodNanos, [] { Probe().Ask(); });
}

void RunProgressLine::End() {
  state_->ticker.reset();
  const std::lock_guard lock(sink_mutex);
  state_->is_running = false;
  state_->Clear();
}

}  // namespace gyre::cli
