#include "cli/cli.h"

#include <vector>

#include "absl/strings/string_view.h"
#include "base/suggest.h"
#include "cli/command.h"
#include "cli/ending_signals.h"

namespace gyre::cli {
namespace {

constexpr absl::string_view kVersion = "gyre 0.1.0";

const Command* const kCommands[] = {
    &kRunCommand,   &kShowCommand,  &kConvertCommand, &kCompileCommand, &kPassesCommand,
    &kPlaceCommand, &kCheckCommand, &kOpsCommand,     &kTraceCommand,   &kWorkerCommand};

const Command* FindCommand(absl::string_view name) {
  for (const Command* command : kCommands) {
    if (command->name == name) return command;
  }
  return nullptr;
}

void PrintOverview(std::ostream& out) {
  out << kVersion << ": runs dataflow graphs with dynamic control flow\n\n";
  for (const Command* command : kCommands) {
    out << "  gyre " << command->name << " " << command->synopsis << "\n      " << command->summary
        << "\n";
  }
  out << "  gyre help [COMMAND]\n      Says what a command does and takes.\n"
         "  gyre --version\n\n"
         "Exit codes: 0 it worked; 1 the graph or a check failed; 2 the command line makes no "
         "sense.\n";
}

int UnknownCommand(absl::string_view name, std::ostream& err) {
  std::vector<std::string> names = {"help"};
  for (const Command* command : kCommands) names.emplace_back(command->name);
  err << "gyre: there is no command '" << name << "'" << DidYouMean(name, names)
      << "\nSee 'gyre help'.\n";
  return kMisuse;
}

int Help(absl::Span<const std::string> words, const Streams& streams) {
  if (words.empty()) {
    PrintOverview(streams.out);
    return kSuccess;
  }
  const Command* command = FindCommand(words[0]);
  if (command == nullptr) return UnknownCommand(words[0], streams.err);
  PrintHelp(*command, streams);
  return kSuccess;
}

}  // namespace

int Main(absl::Span<const std::string> words, const Streams& streams) {
  if (words.empty()) {
    PrintOverview(streams.err);
    return kMisuse;
  }
  const std::string& name = words[0];
  const absl::Span<const std::string> rest = words.subspan(1);
  if (name == "--version") {
    streams.out << kVersion << "\n";
    return kSuccess;
  }
  if (name == "help" || name == "--help" || name == "-h") return Help(rest, streams);
  const Command* command = FindCommand(name);
  if (command == nullptr) return UnknownCommand(name, streams.err);
  for (const std::string& word : rest) {
    if (word == "--help" || word == "-h") {
      PrintHelp(*command, streams);
      return kSuccess;
    }
  }
  const EndingSignals remove_unfinished_files;
  return command->run(rest, streams);
}

}  // namespace gyre::cli
