// `gyre passes`: what the optimiser does to a graph, pass by pass.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/asked.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "cli/table.h"
#include "ir/text/printer.h"
#include "passes/pipeline.h"
#include "session/program_file.h"

namespace gyre::cli {
namespace {

// Constants of more elements are cut short in what --dump prints.
constexpr int64_t kMostElements = 16;

constexpr Option kOptions[] = {
    kAskedFeed,
    kAskedFetch,
    kAskedTarget,
    {"--off", "NAME[,NAME]", "leave these passes out; `all`: every one", '\0', true},
    {"--only", "NAME", "this pass alone"},
    {"--dump", "", "print the graph after each pass that changed it"},
    kPreparationTimeout,
    kPreparationBudget,
};

// Without a graph: the pipeline.
void PrintPasses(std::ostream& out) {
  for (const PipelinePass& pass : PipelinePasses()) out << pass.name << ": " << pass.why << "\n";
}

void PrintReport(const PipelineReport& report, std::ostream& out) {
  Table table({"pass", "changed", "nodes before", "after", "time"});
  int64_t nanos = 0;
  for (const PassReport& pass : report) {
    table.Add({std::string(pass.name), pass.changed ? "yes" : "-", absl::StrCat(pass.nodes_before),
               pass.changed ? absl::StrCat(pass.nodes_after) : "",
               Duration(static_cast<double>(pass.nanos))});
    nanos += pass.nanos;
  }
  if (!report.empty()) {
    table.Add({"all", "", absl::StrCat(report.front().nodes_before),
               absl::StrCat(report.back().nodes_after), Duration(static_cast<double>(nanos))});
  }
  table.Print(out);
}

// Refuses options that have nothing to do.
absl::Status CheckCombination(const Arguments& arguments) {
  Idle listing = {.is_case = arguments.positional().empty(),
                  .why = "without a graph: 'gyre passes' alone says which passes there are"};
  for (const Option& option : kOptions) listing.options.push_back(option.name);
  return RefuseIdle(arguments, {listing,
                                {.is_case = arguments.Has("--only"),
                                 .options = {"--off"},
                                 .why = "with --only, which leaves out all other passes"}});
}

int Run(absl::Span<const std::string> words, const Streams& streams) {
  const absl::StatusOr<Arguments> arguments = ParseFor(kPassesCommand, words, 0, 1);
  if (!arguments.ok()) return Misuse(kPassesCommand, streams, arguments.status());
  if (const absl::Status status = CheckCombination(*arguments); !status.ok())
    return Misuse(kPassesCommand, streams, status);
  const auto limit = HoldToLimits(*arguments);
  if (!limit.ok()) return Misuse(kPassesCommand, streams, limit.status());
  PipelineOptions options;
  options.choice.off = arguments->List("--off");
  options.choice.only = arguments->Get("--only").value_or("");
  options.choice.verify = true;
  if (const absl::Status status = CheckPipelineOptions(options); !status.ok())
    return Misuse(kPassesCommand, streams, status);
  if (arguments->positional().empty()) {
    PrintPasses(streams.out);
    return kSuccess;
  }
  if (arguments->Has("--dump")) {
    options.dump = [&](absl::string_view pass, const Program& program) {
      PrintOptions print;
      print.literals.max_elements = kMostElements;
      print.wire_extra = false;
      streams.out << "after " << pass << ":\n" << PrintProgram(program, print) << "\n";
    };
  }
  const std::string& path = arguments->positional()[0];
  auto program = LoadProgramFile(path);
  if (!program.ok()) return NotLoaded(kPassesCommand, streams, path, program.status());
  const auto asked = ReadAsked(*std::move(program), *arguments);
  if (!asked.ok()) return Misuse(kPassesCommand, streams, asked.status());
  PipelineReport report;
  const absl::Status status = Optimize(*asked, options, &report).status();
  if (!status.ok()) return Failure(kPassesCommand, streams, status);
  PrintReport(report, streams.out);
  return kSuccess;
}

}  // namespace

const Command kPassesCommand = {
    "passes",
    "[GRAPH] [OPTION...]",
    "Lists the optimiser's passes, or says what each of them does to a graph.",
    kOptions,
    "Nodes are those of the main graph and of all functions that it uses. By default everything\n"
    "is wanted of the graph.\n"
    "'gyre show GRAPH --optimized' prints what comes out.",
    &Run,
};

}  // namespace gyre::cli
