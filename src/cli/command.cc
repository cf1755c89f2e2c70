#include "cli/command.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/long_words.h"
#include "base/status.h"
#include "ops/plugin.h"
#include "tensor/io/file.h"

namespace gyre::cli {
namespace {

constexpr size_t kHelpColumn = 26;

// What every command takes.
constexpr Option kPlugin = {"--plugin", "FILE[,FILE]",
                            "load ops from shared libraries first: see gyre/core/op.h", '\0', true};

// One option, its help beginning in a column of its own.
void PrintOption(const Option& option, std::ostream& out) {
  std::string left = absl::StrCat("  ", option.name, option.value.empty() ? "" : " ", option.value);
  if (option.letter != '\0') absl::StrAppend(&left, ", -", absl::string_view(&option.letter, 1));
  for (absl::string_view line : absl::StrSplit(option.help, '\n')) {
    if (left.size() >= kHelpColumn) {
      out << left << "\n";
      left.clear();
    }
    left.resize(kHelpColumn, ' ');
    out << left << line << "\n";
    left.clear();
  }
}

}  // namespace

absl::StatusOr<Arguments> ParseFor(const Command& command, absl::Span<const std::string> words,
                                   size_t least, size_t most) {
  std::vector<Option> options(command.options.begin(), command.options.end());
  options.push_back(kPlugin);
  GYRE_ASSIGN_OR_RETURN(Arguments arguments, ParseArguments(options, words));
  const std::vector<std::string>& given = arguments.positional();
  if (given.size() < least) {
    return absl::InvalidArgumentError(
        absl::StrCat("something is missing: gyre ", command.name, " ", command.synopsis));
  }
  if (given.size() > most) {
    return absl::InvalidArgumentError(absl::StrCat("'", given[most],
                                                   "' is one argument too many: gyre ",
                                                   command.name, " ", command.synopsis));
  }
  // Before anything is read: a graph may hold their ops.
  for (const std::string& plugin : arguments.List(kPlugin.name))
    GYRE_RETURN_IF_ERROR(LoadPlugin(plugin));
  return arguments;
}

int Misuse(const Command& command, const Streams& streams, const absl::Status& status) {
  streams.err << "gyre " << command.name << ": " << CutLongWords(status.message())
              << "\nSee 'gyre help " << command.name << "'.\n";
  return kMisuse;
}

int Failure(const Command& command, const Streams& streams, const absl::Status& status) {
  streams.err << "gyre " << command.name << ": " << absl::StatusCodeToString(status.code()) << ": "
              << CutLongWords(status.message()) << "\n";
  return kFailure;
}

absl::Status CheckIsThere(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return absl::OkStatus();
  return InputFile::Open(path).status();
}

absl::Status CheckCanBeWritten(absl::string_view option, const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(option, " ", path, ": there is no folder ", folder.string()));
}

int NotLoaded(const Command& command, const Streams& streams, const std::string& path,
              const absl::Status& status) {
  return CheckIsThere(path).ok() ? Failure(command, streams, status)
                                 : Misuse(command, streams, status);
}

void PrintHelp(const Command& command, const Streams& streams) {
  streams.out << "gyre " << command.name << " " << command.synopsis << "\n\n"
              << command.summary << "\n";
  streams.out << "\n";
  for (const Option& option : command.options) PrintOption(option, streams.out);
  PrintOption(kPlugin, streams.out);
  if (!command.notes.empty()) streams.out << "\n" << command.notes << "\n";
}

}  // namespace gyre::cli
