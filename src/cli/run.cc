// `gyre run`: one session, one or more runs, results printed or written to a file.
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "cli/cluster/cluster_option.h"
#include "cli/command.h"
#include "cli/engines.h"
#include "cli/print_tensor.h"
#include "cli/progress.h"
#include "cli/run/request.h"
#include "cli/shared_options.h"
#include "cli/watch.h"
#include "devices/device_set.h"
#include "gyre/core/session.h"
#include "session/form.h"
#include "session/names.h"
#include "tensor/io/file.h"
#include "tensor/io/npy.h"
#include "tensor/io/safetensors.h"

namespace gyre::cli {
namespace {

constexpr absl::string_view kThen = "--then";
constexpr int64_t kMaxThreads = 1024;

constexpr Option kOptions[] = {
    {"--feed", "NAME=VALUE",
     "feed a tensor: 3, [[1,2],[3,4]], true, \"text\", each with :DTYPE\nif need be; @FILE.npy; "
     "@FILE.safetensors[:NAME]",
     'f', true},
    {"--fetch", "NAME[,NAME]", "print these tensors", 'y', true},
    {"--target", "OP[,OP]", "run these ops for their effects", 't', true},
    {"--signature", "NAME",
     "run this signature of a model: --feed names its inputs,\n--fetch its outputs (default: all)",
     's'},
    {"--tags", "TAG[,TAG]", "of a model: which of its graphs, by all of its tags", '\0', true},
    {"--save", "PATH",
     "of a model: write it again after the last run, with the\nvalues that its variables have "
     "then"},
    {"--init", "OP[,OP]", "run these first, one run each (they fill variables)", '\0', true},
    {"--out", "FILE",
     "write the fetched tensors to FILE.npy (one) or\nFILE.safetensors (any number) instead of "
     "printing them"},
    {"--then", "",
     "what follows describes another run of the same session:\nits own --feed, --fetch, --target, "
     "--signature and --out"},
    {"--engine", "NAME",
     "which engine runs the graph: dataflow (the default),\nreference, or compiled: native code "
     "for small loops"},
    {"--compile", "WHEN",
     "when small loops become native code: auto (once they have\nrun for some milliseconds, the "
     "default), always (before the\nfirst run), never, or contract: as always, and a * b + c may "
     "be\nrounded once in them, for speed"},
    {"--form", "NAME",
     "run the graph as it is (imported, the default), raised,\nrelowered, reraised or optimized: "
     "see 'gyre help check'"},
    {"--timeout", "MS",
     "fail after so many milliseconds, for calling workers, for\nloading the graph and for each "
     "run"},
    {"--budget", "BYTES",
     "fail when tensors hold more, or the program does (which\nmay have 64 MiB in any case): 1500, "
     "64K, 10M, 2G"},
    {"--devices", "cpu:N[,cuda:N]",
     "run on devices of this process, nodes where the graph asks:\nparts of the processor, GPUs, "
     "and "
     "null:N, which compute\nnothing, for tests"},
    kClusterOption,
    kTransportOption,
    kTokenOption,
    kSpinOption,
    {"--window", "N",
     "iterations of one loop in flight at once, where the loop\nallows as many; default: as many "
     "as "
     "pay"},
    {"--threads", "N", "threads that work on a run; default: one per core"},
    {"--seed", "N", "seed of random ops that have none of their own, from 1 on"},
    {"--trace", "FILE",
     "write a timeline of all runs: open it at ui.perfetto.dev,\nor sum it up with 'gyre trace "
     "FILE'"},
    {"--trace-limit", "N", "firings that the timeline holds at most; default: 1000000"},
    {"--stats", "", "print what nodes and loops cost, to stderr"},
    {"--trap-nan", "", "fail at the first node that makes a NaN or an infinity"},
    {"--fetch-each", "NODE[:SLOT]",
     "print a value from inside a loop, for every iteration;\nthat of a function's body is "
     "FUNCTION/NODE",
     '\0', true},
};

absl::Status Report(const Request& request, const std::vector<Tensor>& results, std::ostream& out) {
  if (request.out.empty()) {
    for (size_t i = 0; i < results.size(); ++i) PrintTensor(request.names[i], results[i], out);
    return absl::OkStatus();
  }
  if (absl::EndsWith(request.out, ".npy")) {
    GYRE_RETURN_IF_ERROR(WriteNpy(request.out, results[0]));
  } else {
    std::vector<std::pair<std::string, Tensor>> named;
    named.reserve(results.size());
    for (size_t i = 0; i < results.size(); ++i) named.emplace_back(request.names[i], results[i]);
    GYRE_RETURN_IF_ERROR(WriteSafetensors(request.out, named));
  }
  out << "wrote " << absl::StrJoin(request.names, ", ") << " to " << request.out << "\n";
  return absl::OkStatus();
}

// The words of each run: what "--then" separates. The first run's also describe the session.
std::vector<std::vector<std::string>> SplitRuns(absl::Span<const std::string> words) {
  std::vector<std::vector<std::string>> runs(1);
  for (const std::string& word : words) {
    if (word == kThen) {
      runs.emplace_back();
    } else {
      runs.back().push_back(word);
    }
  }
  return runs;
}

// The arguments of a run after the first.
absl::StatusOr<Arguments> ParseFurtherRun(const std::vector<std::string>& words) {
  constexpr absl::string_view kOfOneRun[] = {"--feed", "--fetch", "--target", "--signature",
                                             "--out"};
  absl::StatusOr<Arguments> arguments = ParseArguments(kOptions, words);
  if (!arguments.ok()) return Annotate(arguments.status(), "after --then");
  for (const Option& option : kOptions) {
    if (!arguments->Has(option.name) || absl::c_linear_search(kOfOneRun, option.name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("after --then: ", option.name, " is for all runs: give it before ", kThen));
  }
  if (!arguments->positional().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("after --then: '", arguments->positional()[0], "' is one argument too many"));
  }
  return arguments;
}

absl::StatusOr<SessionOptions> ReadSessionOptions(const Arguments& arguments) {
  SessionOptions options;
  GYRE_ASSIGN_OR_RETURN(options.engine, ReadEngine(arguments));
  GYRE_ASSIGN_OR_RETURN(options.compile,
                        ParseCompileMode(arguments.Get("--compile").value_or("auto")));
  GYRE_ASSIGN_OR_RETURN(options.form,
                        ParseProgramForm(arguments.Get("--form").value_or("imported")));
  options.devices = arguments.Get("--devices").value_or("");
  if (!options.devices.empty()) GYRE_RETURN_IF_ERROR(ParseDeviceSet(options.devices).status());
  GYRE_ASSIGN_OR_RETURN(const int64_t window, arguments.Int("--window", 1, INT32_MAX, 0));
  options.parallel.window = static_cast<int>(window);
  GYRE_ASSIGN_OR_RETURN(const int64_t threads, arguments.Int("--threads", 1, kMaxThreads, 0));
  options.parallel.threads = static_cast<int>(threads);
  GYRE_ASSIGN_OR_RETURN(const int64_t seed, arguments.Int("--seed", 1, INT64_MAX, 0));
  options.seed = static_cast<uint64_t>(seed);
  return options;
}

// What the command line asks for, apart from the graph.
struct RunPlan {
  std::string graph;
  ClusterRequest cluster;
  std::vector<std::string> tags;
  std::string save;
  SessionOptions session;
  RunOptions run;
  WatchOptions watch;
  std::vector<std::string> init;
  std::vector<Arguments> runs;
};

// What runs write goes to files of their own: one would replace what another has written.
absl::Status CheckWrittenOnce(absl::Span<const Arguments> runs) {
  std::map<std::filesystem::path, absl::string_view> written;
  for (const Arguments& run : runs) {
    for (const absl::string_view option : {"--out", "--trace"}) {
      const std::optional<std::string> file = run.Get(option);
      if (!file || file->empty()) continue;
      std::error_code ignored;
      const auto [it, is_new] = written.emplace(
          std::filesystem::weakly_canonical(std::filesystem::absolute(*file, ignored), ignored),
          option);
      if (is_new) continue;
      return absl::InvalidArgumentError(absl::StrCat(option, ": ", *file, " is written by another ",
                                                     it->second,
                                                     " already: give each a file of its own"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RunPlan> ReadPlan(absl::Span<const std::string> words) {
  const std::vector<std::vector<std::string>> runs = SplitRuns(words);
  GYRE_ASSIGN_OR_RETURN(Arguments first, ParseFor(kRunCommand, runs[0], 1, 1));
  RunPlan plan;
  plan.graph = first.positional()[0];
  plan.tags = first.List("--tags");
  plan.save = first.Get("--save").value_or("");
  plan.init = first.List("--init");
  GYRE_ASSIGN_OR_RETURN(plan.session, ReadSessionOptions(first));
  GYRE_ASSIGN_OR_RETURN(plan.run, ReadLimits(first));
  GYRE_ASSIGN_OR_RETURN(plan.watch, ReadWatchOptions(first));
  GYRE_ASSIGN_OR_RETURN(plan.cluster, ReadCluster(first));
  plan.runs.push_back(std::move(first));
  for (size_t i = 1; i < runs.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(Arguments further, ParseFurtherRun(runs[i]));
    plan.runs.push_back(std::move(further));
  }
  GYRE_RETURN_IF_ERROR(CheckWrittenOnce(plan.runs));
  // A name that leads nowhere is a mistake of the command line; what the file holds is not.
  GYRE_RETURN_IF_ERROR(CheckIsThere(plan.graph));
  GYRE_RETURN_IF_ERROR(CheckCanBeWritten("--trace", plan.runs[0].Get("--trace").value_or("")));
  for (const Arguments& run : plan.runs)
    GYRE_RETURN_IF_ERROR(CheckCanBeWritten("--out", run.Get("--out").value_or("")));
  return plan;
}

absl::StatusOr<GraphOrModel> LoadProgram(const RunPlan& plan, const AskedCluster& cluster) {
  const PreparationLimit limit(plan.run);
  if (!plan.tags.empty() && !SavedModel::IsAt(plan.graph))
    return absl::InvalidArgumentError("--tags is for models: a folder with saved_model.pb");
  SessionOptions session = plan.session;
  session.cluster = cluster.engine;
  return LoadGraphOrModel(plan.graph, {.tags = plan.tags, .session = std::move(session)});
}

absl::StatusOr<std::vector<Request>> MakeRequests(const RunPlan& plan, const GraphOrModel& loaded) {
  const PreparationLimit limit(plan.run);
  std::vector<Request> requests;
  const MainNames names(loaded.session().program());
  GYRE_RETURN_IF_ERROR(names.FindSignature({}, {}, plan.init).status());
  for (const Arguments& run : plan.runs) {
    GYRE_ASSIGN_OR_RETURN(Request request, MakeRequest(loaded, run));
    requests.push_back(std::move(request));
  }
  return requests;
}

// Runs requests one after the other, watched as the command line asks for.
class Runner {
 public:
  Runner(const RunPlan& plan, Session& session, const Streams& streams, RunProgressLine& progress)
      : plan_(plan),
        session_(session),
        streams_(streams),
        progress_(progress),
        watch_(plan.watch) {}

  // The programs that run, where they are not as imported. Errors are those of the program.
  absl::Status MakeForms(const std::vector<Request>& requests) {
    if (plan_.session.form == ProgramForm::kImported) return absl::OkStatus();
    const PreparationLimit limit(plan_.run);
    for (const Request& request : requests) {
      GYRE_ASSIGN_OR_RETURN(forms_.emplace_back(), InForm(request));
    }
    return absl::OkStatus();
  }
  // Errors are those of the command line.
  absl::Status Prepare() { return watch_.Prepare(session_.program(), forms_); }

  absl::Status RunAll(const std::vector<Request>& requests) {
    absl::Status status = RunEach(requests);
    // The timeline of a run that failed shows how it got there.
    status.Update(watch_.Finish(streams_));
    return status;
  }

 private:
  absl::Status RunEach(const std::vector<Request>& requests) {
    for (const std::string& op : plan_.init)
      GYRE_RETURN_IF_ERROR(RunOne(absl::StrCat("init ", op), {.targets = {op}}).status());
    for (size_t i = 0; i < requests.size(); ++i) {
      const std::string name = requests.size() == 1 ? "run" : absl::StrCat("run ", i + 1);
      const auto results = RunOne(name, requests[i]);
      if (results.ok()) GYRE_RETURN_IF_ERROR(Report(requests[i], *results, streams_.out));
      watch_.ReportRun(streams_);
      GYRE_RETURN_IF_ERROR(results.status());
    }
    return absl::OkStatus();
  }

  // The program that a request runs.
  absl::StatusOr<std::shared_ptr<const Program>> InForm(const Request& request) const {
    std::vector<std::string> feeds;
    for (const auto& [name, value] : request.feeds) feeds.push_back(name);
    const std::shared_ptr<const Program> program = session_.shared_program();
    GYRE_ASSIGN_OR_RETURN(RunSignature signature, MainNames(*program).FindSignature(
                                                      feeds, request.fetches, request.targets));
    Staged staged = MakeStaged(program, std::move(signature));
    GYRE_ASSIGN_OR_RETURN(staged, ToForm(std::move(staged), plan_.session));
    return staged.program;
  }

  absl::StatusOr<std::vector<Tensor>> RunOne(const std::string& name, const Request& request) {
    RunOptions options = plan_.run;
    options.observer = watch_.StartRun(name);
    options.progress = progress_.probe();
    progress_.Begin();
    auto results = session_.Run(request.feeds, request.fetches, request.targets, options);
    progress_.End();
    return results;
  }

  const RunPlan& plan_;
  Session& session_;
  const Streams& streams_;
  RunProgressLine& progress_;
  std::vector<std::shared_ptr<const Program>> forms_;
  Watch watch_;
};

int Run(absl::Span<const std::string> words, const Streams& streams) {
  const absl::StatusOr<RunPlan> plan = ReadPlan(words);
  if (!plan.ok()) return Misuse(kRunCommand, streams, plan.status());
  const auto cluster = Connect(plan->cluster, plan->run.timeout_ms, streams);
  if (!cluster.ok()) return NotConnected(kRunCommand, streams, cluster.status());
  RunProgressLine progress(streams);  // from here on SIGUSR1 is a question
  const auto loaded = LoadProgram(*plan, *cluster);
  if (!loaded.ok()) return NotLoaded(kRunCommand, streams, plan->graph, loaded.status());
  if (!plan->save.empty() && loaded->model == nullptr) {
    return Misuse(kRunCommand, streams,
                  absl::InvalidArgumentError("--save is for models; 'gyre convert' writes graphs"));
  }
  const auto requests = MakeRequests(*plan, *loaded);
  if (!requests.ok()) {
    const bool is_limit =
        absl::IsResourceExhausted(requests.status()) || absl::IsDeadlineExceeded(requests.status());
    return is_limit ? Failure(kRunCommand, streams, requests.status())
                    : Misuse(kRunCommand, streams, requests.status());
  }
  Runner runner(*plan, loaded->session(), streams, progress);
  if (absl::Status status = runner.MakeForms(*requests); !status.ok())
    return Failure(kRunCommand, streams, status);
  if (absl::Status status = runner.Prepare(); !status.ok())
    return Misuse(kRunCommand, streams, status);
  absl::Status status = runner.RunAll(*requests);
  if (status.ok() && !plan->save.empty()) {
    status = loaded->model->Save(plan->save);
    if (status.ok()) streams.out << "wrote " << plan->save << "\n";
  }
  return status.ok() ? kSuccess : Failure(kRunCommand, streams, status);
}

}  // namespace

const Command kRunCommand = {
    "run",
    "GRAPH --feed NAME=VALUE... --fetch NAME...",
    "Runs a graph (.pb, .pbtxt, .gyre, .onnx) or a model (a SavedModel's folder, or .meta with\n"
    "its checkpoint) and prints what is fetched.",
    kOptions,
    "A fed value takes its element type and shape from the graph where it says: one number\n"
    "fills a known shape, and a flat list is folded into it. Without --fetch and --target,\n"
    "`gyre run GRAPH` lists what can be fed and fetched.\n"
    "A long run says on a terminal how far its loops are; on SIGUSR1 (kill -USR1 PID) it says\n"
    "so in any case, on stderr.\n\n"
    "  gyre run loop.pb --feed n=10 --fetch sum\n"
    "  gyre run model --signature serving_default --feed 'x=[1,2,3]'\n"
    "  gyre run model --signature train --feed x=@x.npy --save trained\n"
    "  gyre run loop.pb --feed n=10 --fetch sum --fetch-each while/add --trace loop.json\n"
    "  gyre run train.pb --init w/Assign --feed x=@x.npy --fetch loss --then --fetch w_now",
    &Run,
};

}  // namespace gyre::cli
