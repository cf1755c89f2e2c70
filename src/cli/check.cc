// `gyre check`: runs golden cases and reports, in the order of their paths, what was not as
// expected.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/env.h"
#include "base/status.h"
#include "base/suggest.h"
#include "cli/cluster/cluster_option.h"
#include "cli/command.h"
#include "cli/engines.h"
#include "cli/shared_options.h"
#include "devices/device_set.h"
#include "golden/case.h"
#include "golden/runner.h"
#include "session/form.h"

namespace gyre::cli {
namespace {

constexpr absl::string_view kGradients = "gradients";
constexpr int64_t kDefaultTimeoutMs = 120000;
constexpr size_t kSlowest = 10;
constexpr int64_t kMaxThreads = 1024;

constexpr Option kOptions[] = {
    {"--engine", "NAME",
     "which engine runs the graphs: dataflow (the default),\nreference, or compiled: native code "
     "for small loops, with a\ncount of these at the end"},
    {"--only", "WORD[,WORD]",
     "cases of this group, tag, name or group/name;\n`gradients`: their gradient entries alone",
     '\0', true},
    {"--jobs", "N", "so many cases at once; default: one per core", 'j'},
    {"--window", "N",
     "iterations of one loop in flight at once, where the loop\nallows as many; default: as many "
     "as "
     "pay"},
    {"--threads", "N", "threads that work on a run; default: one per core"},
    {"--schedule-seed", "N", "one thread, ready nodes in an order drawn from this seed"},
    {"--devices", "cpu:N[,cuda:N]", "run on devices of this process, nodes where programs ask"},
    {"--spread", "SEED", "with --devices or --cluster: nodes go to devices drawn from this seed"},
    kClusterOption,
    kTransportOption,
    kTokenOption,
    kSpinOption,
    {"--form", "NAME",
     "run programs as they are (imported, the default), with If\nand While (raised), with "
     "primitives again (relowered) and\nthe other way once more (reraised), or optimized"},
    {"--passes-off", "NAME[,NAME]", "leave these passes out; `all`: every one", '\0', true},
    {"--passes-only", "NAME", "this pass alone"},
    {"--passes-order-seed", "N", "the passes in an order drawn from this seed"},
    {"--memory", "POLICY",
     "what loops keep for their gradients: save (the default),\nrecompute(K), their "
     "variables every K iterations, or checkpoint(BYTES)"},
    {"--as-onnx", "FOLDER",
     "write runs as ONNX models below this folder, and run what is\nread of them; what has no form "
     "there is skipped"},
    {"--timeout", "MS", "a run without a deadline of its own fails after this;\ndefault 120000"},
    {"--list", "", "say which cases there are and what they exercise"},
    {"--verbose", "",
     "also print what passed, the slowest cases and, on several\ndevices, how many edges of each "
     "case lead from one to another",
     'v'},
};

// A case folder and what was read from it.
struct Found {
  std::string folder;
  absl::StatusOr<golden::Case> golden;
};

struct Settings {
  std::vector<std::string> folders;
  golden::CheckOptions check;
  ClusterRequest cluster;
  std::vector<std::string> only;  // without `gradients`
  int jobs = 1;
  bool list = false;
  bool verbose = false;
};

absl::Status ReadForm(const Arguments& arguments, SessionOptions& session) {
  GYRE_ASSIGN_OR_RETURN(session.form,
                        ParseProgramForm(arguments.Get("--form").value_or("imported")));
  session.passes.off = arguments.List("--passes-off");
  session.passes.only = arguments.Get("--passes-only").value_or("");
  GYRE_ASSIGN_OR_RETURN(const int64_t seed, arguments.Int("--passes-order-seed", 1, INT64_MAX, 0));
  session.testing.passes_order_seed = static_cast<uint64_t>(seed);
  session.passes.verify = true;
  return CheckForm(session);
}

absl::Status ReadDevices(const Arguments& arguments, SessionOptions& session) {
  session.devices = arguments.Get("--devices").value_or("");
  // Cases ask for devices of the machine that wrote them.
  session.soft_placement = true;
  GYRE_ASSIGN_OR_RETURN(const int64_t seed, arguments.Int("--spread", 1, INT64_MAX, 0));
  session.testing.spread_seed = static_cast<uint64_t>(seed);
  if (seed != 0 && session.devices.empty() && !arguments.Has("--cluster"))
    return absl::InvalidArgumentError("--spread needs --devices, such as --devices cpu:2");
  if (session.devices.empty()) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(const auto devices, ParseDeviceSet(session.devices));
  return RefuseIdle(arguments, {{.is_case = devices.size() == 1,
                                 .options = {"--spread"},
                                 .why = "with --devices that are only one"}});
}

// Refuses options that have nothing to do beside others.
absl::Status CheckCombination(const Arguments& arguments) {
  Idle listing = {.is_case = arguments.Has("--list"), .why = "with --list, which runs nothing"};
  for (const Option& option : kOptions) {
    if (option.name != "--list" && option.name != "--only") listing.options.push_back(option.name);
  }
  const std::vector<std::string> off = arguments.List("--passes-off");
  return RefuseIdle(arguments,
                    {listing,
                     {.is_case = arguments.Has("--schedule-seed"),
                      .options = {"--threads"},
                      .why = "with --schedule-seed, which runs on one thread"},
                     {.is_case = arguments.Get("--form") != "optimized",
                      .options = {"--passes-off", "--passes-only", "--passes-order-seed"},
                      .why = "without --form=optimized, whose passes it is about"},
                     {.is_case = arguments.Has("--passes-only"),
                      .options = {"--passes-off"},
                      .why = "with --passes-only, which leaves out all other passes"},
                     {.is_case = std::find(off.begin(), off.end(), "all") != off.end(),
                      .options = {"--passes-order-seed"},
                      .why = "with --passes-off=all, which leaves no pass to order"}});
}

absl::StatusOr<Settings> ReadSettings(absl::Span<const std::string> words) {
  GYRE_ASSIGN_OR_RETURN(const Arguments arguments, ParseFor(kCheckCommand, words, 1, words.size()));
  GYRE_RETURN_IF_ERROR(CheckCombination(arguments));
  Settings settings;
  settings.folders = arguments.positional();
  GYRE_ASSIGN_OR_RETURN(settings.check.memory, ReadMemoryPolicy(arguments));
  GYRE_ASSIGN_OR_RETURN(settings.check.session.engine, ReadEngine(arguments));
  settings.check.session.print = [](absl::string_view, absl::string_view) {};
  GYRE_ASSIGN_OR_RETURN(const int64_t window, arguments.Int("--window", 1, INT32_MAX, 0));
  settings.check.session.parallel.window = static_cast<int>(window);
  GYRE_ASSIGN_OR_RETURN(const int64_t threads, arguments.Int("--threads", 1, kMaxThreads, 0));
  settings.check.session.parallel.threads = static_cast<int>(threads);
  GYRE_ASSIGN_OR_RETURN(const int64_t seed, arguments.Int("--schedule-seed", 1, INT64_MAX, 0));
  settings.check.session.testing.schedule_seed = static_cast<uint64_t>(seed);
  GYRE_RETURN_IF_ERROR(ReadDevices(arguments, settings.check.session));
  GYRE_RETURN_IF_ERROR(ReadForm(arguments, settings.check.session));
  GYRE_ASSIGN_OR_RETURN(
      settings.check.timeout_ms,
      arguments.Int("--timeout", 1, INT32_MAX, kDefaultTimeoutMs, "milliseconds"));
  GYRE_ASSIGN_OR_RETURN(const int64_t jobs, arguments.Int("--jobs", 1, 1024, NumProcessors()));
  settings.jobs = static_cast<int>(jobs);
  GYRE_ASSIGN_OR_RETURN(settings.cluster, ReadCluster(arguments));
  settings.check.as_onnx = arguments.Has("--as-onnx");
  settings.check.onnx_folder = arguments.Get("--as-onnx").value_or("");
  settings.list = arguments.Has("--list");
  settings.verbose = arguments.Has("--verbose");
  for (std::string& word : arguments.List("--only")) {
    if (word == kGradients) {
      settings.check.gradients_only = true;
    } else {
      settings.only.push_back(std::move(word));
    }
  }
  return settings;
}

// The words that --only may use for a case.
std::vector<std::string> Labels(const Found& found) {
  if (!found.golden.ok()) return {found.folder};
  std::vector<std::string> labels = found.golden->tags;
  labels.insert(labels.end(), {found.golden->group, found.golden->name, found.golden->id()});
  return labels;
}

bool IsSelected(const Found& found, const std::vector<std::string>& only) {
  if (only.empty()) return true;
  for (const std::string& label : Labels(found)) {
    if (std::find(only.begin(), only.end(), label) != only.end()) return true;
  }
  return false;
}

// The selected cases, read. NOT_FOUND when there are none, or when a word of --only fits no case.
absl::StatusOr<std::vector<Found>> SelectCases(const Settings& settings) {
  std::vector<std::string> folders;
  for (const std::string& root : settings.folders) {
    GYRE_ASSIGN_OR_RETURN(const std::vector<std::string> found, golden::FindCases(root));
    if (found.empty())
      return absl::NotFoundError(absl::StrCat("there is no case.json below ", root));
    folders.insert(folders.end(), found.begin(), found.end());
  }
  std::vector<Found> selected;
  std::set<std::string> labels;
  for (const std::string& folder : folders) {
    Found found{folder, golden::ReadCase(folder)};
    for (std::string& label : Labels(found)) labels.insert(std::move(label));
    if (IsSelected(found, settings.only)) selected.push_back(std::move(found));
  }
  for (const std::string& word : settings.only) {
    if (labels.count(word) == 0) {
      return absl::NotFoundError(
          absl::StrCat("--only ", word, ": no case has this group, tag or name",
                       DidYouMean(word, std::vector<std::string>(labels.begin(), labels.end()))));
    }
  }
  return selected;
}

// Collects the results of cases as they end, in any order, and prints them in the order of the
// cases. Thread-safe.
class Report {
 public:
  Report(const Settings& settings, const Streams& streams, size_t cases)
      : verbose_(settings.verbose), streams_(streams), cases_(cases) {}

  void Finish(size_t index, std::vector<golden::CheckResult> results) {
    std::lock_guard lock(mutex_);
    cases_[index] = {true, std::move(results)};
    ++count_;
    for (; next_ < cases_.size() && cases_[next_].ended; ++next_) {
      for (const golden::CheckResult& result : cases_[next_].results) Print(result);
    }
    if (streams_.interactive) ShowProgress();
  }

  // The slowest cases if asked for, and the line that counts; returns the exit code.
  int Close() {
    std::lock_guard lock(mutex_);
    if (streams_.interactive) streams_.err << "\r\x1b[K" << std::flush;
    if (verbose_) PrintSlowest();
    if (cut_ + uncut_ + without_edges_ > 0) PrintCuts();
    if (native_ && native_->loops + native_->conditionals > 0) PrintNative(*native_);
    streams_.out << passed_ << " passed, " << failed_ << " failed, " << skipped_ << " skipped\n";
    return failed_ > 0 ? kFailure : kSuccess;
  }

 private:
  struct Case {
    bool ended = false;
    std::vector<golden::CheckResult> results;
  };

  void Print(const golden::CheckResult& result) {
    const bool passed = result.outcome == golden::Outcome::kPassed;
    ++(passed ? passed_ : result.outcome == golden::Outcome::kFailed ? failed_ : skipped_);
    if (result.cuts)
      ++(result.cuts->edges == 0 ? without_edges_ : result.cuts->cut > 0 ? cut_ : uncut_);
    if (result.native) {
      if (!native_) native_.emplace();
      native_->Add(*result.native);
    }
    if (passed && !verbose_) return;
    if (streams_.interactive) streams_.err << "\r\x1b[K" << std::flush;
    streams_.out << (passed                                       ? "ok    "
                     : result.outcome == golden::Outcome::kFailed ? "FAIL  "
                                                                  : "skip  ")
                 << result.what;
    if (passed) {
      streams_.out << absl::StrFormat(" (%.1f ms)", result.nanos / 1e6);
      if (result.cuts) streams_.out << ": " << result.cuts->ToString();
    } else {
      streams_.out << ": " << result.why;
    }
    streams_.out << std::endl;  // at once: a later case may take long
  }

  void ShowProgress() {
    streams_.err << "\r\x1b[K" << count_ << " of " << cases_.size() << " cases, " << failed_
                 << " failed" << std::flush;
  }

  void PrintCuts() {
    const size_t eligible = cut_ + uncut_;
    streams_.out << "an edge is cut in " << cut_ << " of " << eligible
                 << " cases that have some to cut";
    if (eligible > 0) {
      streams_.out << absl::StrFormat(
          " (%.0f %%)", 100 * static_cast<double>(cut_) / static_cast<double>(eligible));
    }
    streams_.out << "; " << without_edges_ << " have none\n";
  }

  static std::string Share(int part, int all) {
    return all == 0 ? "no"
                    : absl::StrFormat("%d of %d (%.0f %%)", part, all,
                                      100 * static_cast<double>(part) / all);
  }
  void PrintNative(const sequential::NativeShare& native) {
    streams_.out << "native: " << Share(native.native_loops, native.loops) << " loops and "
                 << Share(native.native_conditionals, native.conditionals) << " conditionals\n";
    PrintTokens("loops", native.why_no_loop);
    PrintTokens("conditionals", native.why_no_conditional);
  }
  void PrintTokens(absl::string_view what, const std::map<std::string, int>& why_not) {
    std::vector<std::pair<int, std::string>> counts;
    for (const auto& [why, count] : why_not) counts.emplace_back(-count, why);
    std::sort(counts.begin(), counts.end());
    for (const auto& [count, why] : counts)
      streams_.out << absl::StrFormat("  %6d %s run as tokens: %s\n", -count, what, why);
  }

  void PrintSlowest() {
    std::vector<const golden::CheckResult*> slowest;
    for (const Case& one : cases_) {
      for (const golden::CheckResult& result : one.results) slowest.push_back(&result);
    }
    const size_t shown = std::min(kSlowest, slowest.size());
    std::partial_sort(slowest.begin(), slowest.begin() + shown, slowest.end(),
                      [](const golden::CheckResult* a, const golden::CheckResult* b) {
                        return a->nanos > b->nanos;
                      });
    streams_.out << "slowest:\n";
    for (size_t i = 0; i < shown; ++i) {
      streams_.out << absl::StrFormat("  %8.1f ms  %s\n", slowest[i]->nanos / 1e6,
                                      slowest[i]->what);
    }
  }

  const bool verbose_;
  const Streams& streams_;
  std::mutex mutex_;  // of all below
  std::vector<Case> cases_;
  size_t next_ = 0;   // the first case that is not printed yet
  size_t count_ = 0;  // cases that have ended
  size_t passed_ = 0;
  size_t failed_ = 0;
  size_t skipped_ = 0;
  // Cases on several devices.
  size_t cut_ = 0;                                 // of which an edge is cut
  size_t uncut_ = 0;                               // of which none is, though it might be
  size_t without_edges_ = 0;                       // that have none to cut
  std::optional<sequential::NativeShare> native_;  // of cases that are run as native code
};

std::vector<golden::CheckResult> Check(const Found& found, const golden::CheckOptions& options) {
  if (found.golden.ok()) return golden::RunCase(*found.golden, options);
  return {{found.folder, golden::Outcome::kFailed, std::string(found.golden.status().message())}};
}

int CheckAll(const std::vector<Found>& cases, const Settings& settings, const Streams& streams) {
  Report report(settings, streams, cases.size());
  std::atomic<size_t> next = 0;
  RunOnThreads(std::min(settings.jobs, static_cast<int>(cases.size())), [&](int) {
    for (size_t i = next++; i < cases.size(); i = next++)
      report.Finish(i, Check(cases[i], settings.check));
  });
  return report.Close();
}

void List(const std::vector<Found>& cases, std::ostream& out) {
  for (const Found& found : cases) {
    if (found.golden.ok()) {
      out << found.golden->id() << ": " << found.golden->doc << "\n";
    } else {
      out << found.folder << ": " << found.golden.status().message() << "\n";
    }
  }
}

int Run(absl::Span<const std::string> words, const Streams& streams) {
  absl::StatusOr<Settings> settings = ReadSettings(words);
  if (!settings.ok()) return Misuse(kCheckCommand, streams, settings.status());
  const absl::StatusOr<std::vector<Found>> cases = SelectCases(*settings);
  if (!cases.ok()) return Misuse(kCheckCommand, streams, cases.status());
  if (settings->list) {
    List(*cases, streams.out);
    return kSuccess;
  }
  const auto cluster = Connect(settings->cluster, settings->check.timeout_ms, streams);
  if (!cluster.ok()) return NotConnected(kCheckCommand, streams, cluster.status());
  settings->check.session.cluster = cluster->engine;
  return CheckAll(*cases, *settings, streams);
}

}  // namespace

const Command kCheckCommand = {
    "check",
    "DIR... [OPTION...]",
    "Runs every golden case at or below folders and says what differs.",
    kOptions,
    "A case is a folder with case.json, what to run and what must come out, and a graph.pb or a\n"
    "model (tests/golden/README.md, tests/saved_models/README.md). The\n"
    "last line is `N passed, N failed, N skipped`; the exit code is 1 if any failed.",
    &Run,
};

}  // namespace gyre::cli
