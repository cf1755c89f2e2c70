// A command of the `gyre` program: what its help shows, and the function that runs it. Commands are
// constants; the table of all of them is in cli.cc.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/arguments.h"
#include "cli/streams.h"

namespace gyre::cli {

struct Command {
  absl::string_view name;
  absl::string_view synopsis;  // what follows the name: "GRAPH [OPTION...]"
  absl::string_view summary;   // one line
  absl::Span<const Option> options;
  absl::string_view notes;  // stands below the options
  // Runs the command on the words that follow its name; returns the exit code, having reported what
  // went wrong.
  int (*run)(absl::Span<const std::string> words, const Streams& streams);
};

extern const Command kRunCommand;
extern const Command kShowCommand;
extern const Command kConvertCommand;
extern const Command kCompileCommand;
extern const Command kCheckCommand;
extern const Command kPassesCommand;
extern const Command kPlaceCommand;
extern const Command kOpsCommand;
extern const Command kTraceCommand;
extern const Command kWorkerCommand;

// Parses `words` for `command`, which takes at least `least` and at most `most` plain arguments,
// and loads the plug-ins that they name. Errors are for Misuse.
absl::StatusOr<Arguments> ParseFor(const Command& command, absl::Span<const std::string> words,
                                   size_t least, size_t most);

// Report an error and return the exit code for it: the command line is wrong, or what it asked for
// failed.
int Misuse(const Command& command, const Streams& streams, const absl::Status& status);
int Failure(const Command& command, const Streams& streams, const absl::Status& status);

// OK if there is something to be loaded at `path`, a file or a model's folder; what it holds is
// another question.
absl::Status CheckIsThere(const std::string& path);

// NOT_FOUND, which names the option, if there is no folder for a file that is to be written to
// `path` after a long run; empty: none is.
absl::Status CheckCanBeWritten(absl::string_view option, const std::string& path);

// Reports why the graph at `path` was not loaded: a Misuse if there is no such file, a Failure if
// what it holds is no graph.
int NotLoaded(const Command& command, const Streams& streams, const std::string& path,
              const absl::Status& status);

// Prints what `gyre help COMMAND` shows.
void PrintHelp(const Command& command, const Streams& streams);

}  // namespace gyre::cli
