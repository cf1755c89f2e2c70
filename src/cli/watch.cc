#include "cli/watch.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/suggest.h"
#include "cli/print_tensor.h"
#include "cli/table.h"
#include "session/names.h"

namespace gyre::cli {
namespace {

constexpr size_t kMostNodes = 20;
constexpr size_t kMostValues = 1000;

std::string InBody(const std::string& function, const std::string& name) {
  return function.empty() ? name : absl::StrCat(function, "/", name);
}

void PrintStatistics(const StepStatistics& statistics, std::ostream& err) {
  const std::vector<NodeStatistics> nodes = statistics.nodes();
  const bool has_devices = std::any_of(nodes.begin(), nodes.end(),
                                       [](const auto& node) { return !node.device.empty(); });
  std::vector<std::string> header = {"node", "op", "firings", "total", "mean", "max", "bytes"};
  if (has_devices) header.push_back("device");
  Table table(header);
  for (size_t i = 0; i < std::min(nodes.size(), kMostNodes); ++i) {
    const NodeStatistics& node = nodes[i];
    const auto total = static_cast<double>(node.total_nanos);
    std::vector<std::string> row = {InBody(node.function, node.name),
                                    node.op,
                                    absl::StrCat(node.firings),
                                    Duration(total),
                                    Duration(total / static_cast<double>(node.firings)),
                                    Duration(static_cast<double>(node.max_nanos)),
                                    ByteCount(static_cast<double>(node.bytes))};
    if (has_devices) row.push_back(node.device);
    table.Add(std::move(row));
  }
  table.Print(err);
  if (nodes.size() > kMostNodes) err << "  … and " << nodes.size() - kMostNodes << " more nodes\n";
  Table loops({"loop", "entered", "iterations", "most at one go"});
  for (const LoopStatistics& loop : statistics.loops()) {
    loops.Add({InBody(loop.function, loop.name), absl::StrCat(loop.entered),
               absl::StrCat(loop.iterations), absl::StrCat(loop.most)});
  }
  if (loops.num_rows() > 0) loops.Print(err);
  Table saved({"saved for the gradient of", "value", "times", "bytes"});
  for (const SavedStatistics& value : statistics.saved()) {
    saved.Add({value.loop, value.value, absl::StrCat(value.times),
               ByteCount(static_cast<double>(value.bytes))});
  }
  if (saved.num_rows() > 0) saved.Print(err);
  err << "most bytes at once: " << ByteCount(static_cast<double>(statistics.peak_bytes())) << "\n";
}

std::string LoopList(const IterationValue& value) {
  std::string text;
  for (size_t i = 0; i < value.loops.size(); ++i)
    absl::StrAppend(&text, " ", value.loops[i], "[", value.iterations[i], "]");
  return text;
}

// The function of which `name` is a node, and that node; null when there is none.
std::pair<const Function*, const Node*> FindInBodies(const Program& program,
                                                     absl::string_view name) {
  for (const auto& [function_name, function] : program.functions()) {
    if (!absl::StartsWith(name, absl::StrCat(function_name, "/"))) continue;
    const absl::string_view rest = name.substr(function_name.size() + 1);
    for (const Node& node : function->nodes)
      if (node.name == rest) return {function.get(), &node};
  }
  return {nullptr, nullptr};
}

// "FUNCTION/NODE[:SLOT]" for a name that the main graph lacks and one function alone has; else the
// name.
std::string InFunction(const Program& program, const std::string& name) {
  const std::string node = name.substr(0, name.find(':'));
  const auto has = [&](const Function& function) {
    return std::any_of(function.nodes.begin(), function.nodes.end(),
                       [&](const Node& n) { return n.name == node; });
  };
  if (has(program.main())) return name;
  std::vector<std::string> holders;
  for (const auto& [function_name, function] : program.functions())
    if (has(*function)) holders.push_back(function_name);
  return holders.size() == 1 ? InBody(holders[0], name) : name;
}

std::vector<std::string> AllNames(const Program& program) {
  std::vector<std::string> names;
  for (const Node& node : program.main().nodes) names.push_back(node.name);
  for (const auto& [function_name, function] : program.functions()) {
    for (const Node& node : function->nodes) names.push_back(InBody(function_name, node.name));
  }
  return names;
}

}  // namespace

absl::StatusOr<WatchOptions> ReadWatchOptions(const Arguments& arguments) {
  WatchOptions options;
  options.trace = arguments.Get("--trace").value_or("");
  if (arguments.Has("--trace") && options.trace.empty())
    return absl::InvalidArgumentError("--trace wants the name of a file");
  if (arguments.Has("--trace-limit") && options.trace.empty())
    return absl::InvalidArgumentError("--trace-limit limits --trace, which is not given");
  GYRE_ASSIGN_OR_RETURN(options.trace_limit, arguments.Int("--trace-limit", 1, int64_t{1} << 30,
                                                           TraceOptions().max_firings));
  options.statistics = arguments.Has("--stats");
  options.trap_nan = arguments.Has("--trap-nan");
  options.each = arguments.List("--fetch-each");
  return options;
}

absl::StatusOr<WatchedOutput> FindWatched(const Program& program, absl::string_view name) {
  GYRE_ASSIGN_OR_RETURN(const TensorName parts, ParseTensorName(name));
  const WatchedOutput watched{std::string(parts.node), parts.slot};
  const Node* node = FindInBodies(program, watched.node).second;
  for (const Node& other : program.main().nodes)
    if (other.name == watched.node) node = &other;
  if (node == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "--fetch-each ", name, ": there is no such node; that of a function is FUNCTION/NODE",
        DidYouMean(watched.node, AllNames(program))));
  }
  if (node->op != nullptr && watched.slot >= node->num_outputs()) {
    return absl::NotFoundError(absl::StrCat("--fetch-each ", name, ": ", node->op_name, " has ",
                                            node->num_outputs(), " outputs"));
  }
  return watched;
}

absl::Status Watch::Prepare(const Program& program,
                            const std::vector<std::shared_ptr<const Program>>& forms) {
  for (const std::string& name : options_.each) {
    absl::StatusOr<WatchedOutput> watched = absl::NotFoundError("");
    for (size_t i = 0; i < forms.size() && !watched.ok(); ++i)
      watched = FindWatched(*forms[i], InFunction(*forms[i], name));
    if (forms.empty()) watched = FindWatched(program, name);
    GYRE_RETURN_IF_ERROR(watched.status());
    each_.push_back(*std::move(watched));
  }
  return absl::OkStatus();
}

RunObserver* Watch::StartRun(const std::string& name) {
  auto run = std::make_unique<OfRun>();
  if (!options_.trace.empty()) {
    int64_t left = options_.trace_limit;
    for (const auto& earlier : runs_) left -= earlier->recorder->recorded();
    run->recorder = std::make_unique<TraceRecorder>(name, TraceOptions{.max_firings = left});
    run->all.Add(run->recorder.get());
  }
  if (options_.statistics) {
    run->statistics = std::make_unique<StepStatistics>();
    run->all.Add(run->statistics.get());
  }
  if (!each_.empty()) {
    run->values = std::make_unique<IterationValues>(each_);
    run->all.Add(run->values.get());
  }
  if (options_.trap_nan) run->all.Add(&trap_);
  if (run->all.empty()) return nullptr;
  runs_.push_back(std::move(run));
  return &runs_.back()->all;
}

void Watch::ReportRun(const Streams& streams) const {
  if (runs_.empty()) return;
  const OfRun& run = *runs_.back();
  for (size_t i = 0; i < each_.size(); ++i) PrintValues(run, i, streams);
  if (run.statistics != nullptr) PrintStatistics(*run.statistics, streams.err);
}

void Watch::PrintValues(const OfRun& run, size_t i, const Streams& streams) const {
  const std::string& name = options_.each[i];
  const std::vector<IterationValue> values = run.values->Get(i);
  if (const std::optional<Tensor> stacked = run.values->Stacked(i)) {
    PrintTensor(absl::StrCat(name, " in each iteration of ", values[0].loops[0], ":"), *stacked,
                streams.out);
    return;
  }
  for (size_t v = 0; v < std::min(values.size(), kMostValues); ++v)
    PrintTensor(absl::StrCat(name, LoopList(values[v])), values[v].value, streams.out);
  if (values.size() > kMostValues)
    streams.out << name << ": … and " << values.size() - kMostValues << " more values\n";
  if (const int64_t left_out = run.values->left_out(i); left_out > 0) {
    streams.err << "gyre run: " << left_out << " values of " << name << " were left out: more than "
                << ByteCount(static_cast<double>(IterationValues::kDefaultMaxBytes))
                << " are not kept\n";
  } else if (values.empty()) {
    streams.err << "gyre run: " << name << " made no value: nothing that is fetched needs it, or "
                << "it lies on a path that was not taken\n";
  }
}

absl::Status Watch::Finish(const Streams& streams) const {
  if (options_.trace.empty()) return absl::OkStatus();
  std::vector<const TraceRecorder*> recorders;
  int64_t recorded = 0, left_out = 0;
  for (const auto& run : runs_) {
    recorders.push_back(run->recorder.get());
    recorded += run->recorder->recorded();
    left_out += run->recorder->left_out();
  }
  GYRE_RETURN_IF_ERROR(WriteTrace(options_.trace, recorders));
  streams.err << "gyre run: wrote a timeline of " << recorded << " firings to " << options_.trace
              << ": for ui.perfetto.dev, and for 'gyre trace'\n";
  if (left_out > 0) {
    streams.err << "gyre run: " << left_out << " later firings were left out; --trace-limit "
                << "raises the limit of " << options_.trace_limit << "\n";
  }
  return absl::OkStatus();
}

}  // namespace gyre::cli
