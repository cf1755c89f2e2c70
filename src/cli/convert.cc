// `gyre convert`: a graph from one file format to another.
#include "cli/command.h"
#include "cli/shared_options.h"
#include "session/program_file.h"

namespace gyre::cli {
namespace {

constexpr Option kOptions[] = {kPreparationTimeout, kPreparationBudget};

int Run(absl::Span<const std::string> words, const Streams& streams) {
  const absl::StatusOr<Arguments> arguments = ParseFor(kConvertCommand, words, 2, 2);
  if (!arguments.ok()) return Misuse(kConvertCommand, streams, arguments.status());
  const auto limit = HoldToLimits(*arguments);
  if (!limit.ok()) return Misuse(kConvertCommand, streams, limit.status());
  const std::string &from = arguments->positional()[0], &to = arguments->positional()[1];
  const auto program = LoadProgramFile(from);
  if (!program.ok()) return NotLoaded(kConvertCommand, streams, from, program.status());
  const absl::Status status = SaveProgramFile(**program, to);
  if (!status.ok()) return Failure(kConvertCommand, streams, status);
  streams.out << "wrote " << to << "\n";
  return kSuccess;
}

}  // namespace

const Command kConvertCommand = {
    "convert",
    "GRAPH FILE [OPTION...]",
    "Writes a graph to another file, in the format that its name ends with.",
    kOptions,
    ".pb is a GraphDef, .pbtxt the same as text, .gyre the form that `gyre show --full` prints.\n"
    "Nothing is lost on the way, fields that Gyre does not know included; only .pbtxt leaves out\n"
    "fields without a name.\n\n"
    "  gyre convert graph.pb graph.gyre",
    &Run,
};

}  // namespace gyre::cli
