// `gyre trace`: what a timeline says, as tables.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/table.h"
#include "cli/trace/reader.h"
#include "cli/trace/summary.h"

namespace gyre::cli {
namespace {

constexpr int64_t kTop = 15;
constexpr int64_t kMostTop = 1'000'000;

constexpr Option kOptions[] = {
    {"--top", "N", "ops and nodes to list; default: 15"},
};

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }
double Ratio(double a, int64_t b) { return Ratio(a, static_cast<double>(b)); }

void PrintCosts(const std::vector<TraceCost>& costs, bool by_node, size_t top, std::ostream& out) {
  std::vector<std::string> header = {by_node ? "node" : "op"};
  if (by_node) header.push_back("op");
  header.insert(header.end(), {"firings", "total", "mean", "max"});
  Table table(header);
  bool has_calls = false;
  for (size_t i = 0; i < std::min(top, costs.size()); ++i) {
    const TraceCost& cost = costs[i];
    std::vector<std::string> row;
    if (by_node) row.push_back(cost.name);
    row.push_back(cost.is_call ? absl::StrCat(cost.op, "*") : cost.op);
    row.push_back(absl::StrCat(cost.firings));
    row.push_back(Duration(cost.total));
    row.push_back(Duration(Ratio(cost.total, cost.firings)));
    row.push_back(Duration(cost.longest));
    table.Add(std::move(row));
    has_calls |= cost.is_call;
  }
  table.Print(out);
  if (costs.size() > top) out << "  … and " << costs.size() - top << " more (--top)\n";
  if (has_calls) out << "  * with all that it calls\n";
}

void PrintLoops(const std::vector<TraceLoop>& loops, std::ostream& out) {
  if (loops.empty()) return;
  Table table({"loop", "entered", "iterations", "each", "at once", "most", "busy", "longest chain",
               "of its time"});
  for (const TraceLoop& loop : loops) {
    const bool has_chain = loop.chain >= 0;
    table.Add(
        {loop.name, absl::StrCat(loop.entered), absl::StrCat(loop.begun),
         Duration(Ratio(loop.time, loop.begun)),
         absl::StrFormat("%.2f", Ratio(loop.in_flight, loop.time)),
         absl::StrCat(loop.most_in_flight), absl::StrFormat("%.2f", Ratio(loop.work, loop.time)),
         has_chain ? absl::StrCat(Duration(loop.chain), " in ", loop.chain_firings) : "unknown",
         has_chain ? absl::StrFormat("%.0f %%", 100 * Ratio(loop.chain, loop.time)) : ""});
  }
  out << "\n";
  table.Print(out);
}

void Print(const TraceSummary& summary, size_t top, std::ostream& out) {
  out << summary.run << ": " << summary.firings << " firings in " << Duration(summary.time)
      << " on " << summary.threads << (summary.threads == 1 ? " thread, " : " threads, ")
      << absl::StrFormat("%.2f", Ratio(summary.busy, summary.time)) << " of them busy\n\n";
  PrintCosts(summary.by_op, false, top, out);
  out << "\n";
  PrintCosts(summary.by_node, true, top, out);
  PrintLoops(summary.loops, out);
  out << "\n  taken from another thread's queue: " << summary.taken
      << "\n  threads woken: " << summary.wakings.size();
  if (!summary.wakings.empty()) {
    double sum = 0;
    for (const int64_t waking : summary.wakings) sum += static_cast<double>(waking);
    out << ", after " << Duration(Ratio(sum, static_cast<int64_t>(summary.wakings.size())))
        << " on average, " << Duration(static_cast<double>(summary.wakings.back())) << " at most";
  }
  out << "\n";
}

int Run(absl::Span<const std::string> words, const Streams& streams) {
  const absl::StatusOr<Arguments> arguments = ParseFor(kTraceCommand, words, 1, 1);
  if (!arguments.ok()) return Misuse(kTraceCommand, streams, arguments.status());
  const absl::StatusOr<int64_t> top = arguments->Int("--top", 1, kMostTop, kTop);
  if (!top.ok()) return Misuse(kTraceCommand, streams, top.status());
  const std::string& path = arguments->positional()[0];
  const absl::StatusOr<TraceFile> file = ReadTrace(path);
  if (!file.ok()) return NotLoaded(kTraceCommand, streams, path, file.status());
  bool is_first = true;
  for (const TraceRun& run : file->runs) {
    if (!is_first) streams.out << "\n";
    is_first = false;
    Print(Summarize(*file, run), static_cast<size_t>(*top), streams.out);
  }
  if (file->runs.empty()) streams.out << "the timeline is empty\n";
  if (file->left_out > 0) {
    streams.out << "\nThe timeline is not complete: " << file->left_out
                << " later firings were left out.\n";
  }
  return kSuccess;
}

}  // namespace

const Command kTraceCommand = {
    "trace",
    "FILE [--top N]",
    "Sums up a timeline that `gyre run --trace FILE` wrote.",
    kOptions,
    "Time per op and per node, and how often each fired. Of each loop:\n"
    "  iterations     begun, with the last one of a loop, which only decides to end\n"
    "  each           the loop's time divided by them\n"
    "  at once, most  iterations in flight, on average and at most\n"
    "  busy           threads within one of its nodes, on average\n"
    "  longest chain  the longest sequence by time of firings of which each waited for the one\n"
    "                 before, through all iterations: no number of threads makes the loop faster\n"
    "                 than that. A function that is called as one counts as one firing.\n"
    "Watching makes nodes slower: compare times within a timeline, not with runs without one.",
    &Run,
};

}  // namespace gyre::cli
