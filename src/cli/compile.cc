// `gyre compile`: a graph as an object file and a C header.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/asked.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "session/ahead/compile.h"
#include "session/program_file.h"
#include "tensor/io/file.h"

namespace gyre::cli {
namespace {

constexpr absl::string_view kOutput = "--output", kHeader = "--header";

constexpr Option kOptions[] = {
    {kOutput, "FILE", "the object file", 'o'},
    {kHeader, "FILE", "the C header; default: the object file's name with .h"},
    {"--name", "NAME", "of the function; default: the object file's name"},
    kAskedFeed,
    kAskedFetch,
    {"--cpu", "NAME",
     "the processor, as LLVM calls it: generic (the default),\nx86-64-v3, native for this one, …"},
    {"--contract", "", "let a * b + c be rounded once: faster, and other bits"},
    {"--stack", "BYTES", "for what waits in recursion; default: 65536"},
    kPreparationTimeout,
    kPreparationBudget,
};

// The file's name without its folder and what follows its first dot, as far as C allows it.
std::string NameOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash != path.npos) path.remove_prefix(slash + 1);
  std::string name;
  for (const char c : path.substr(0, path.find('.'))) name += c == '-' || c == ' ' ? '_' : c;
  return name;
}

std::string HeaderBeside(absl::string_view object) {
  const size_t dot = object.rfind('.');
  const bool has_end = dot != object.npos && object.find('/', dot) == object.npos;
  return absl::StrCat(has_end ? object.substr(0, dot) : object, ".h");
}

absl::StatusOr<AheadOptions> ReadOptions(const Arguments& arguments, absl::string_view object) {
  AheadOptions options;
  options.name = arguments.Get("--name").value_or(NameOf(object));
  options.cpu = arguments.Get("--cpu").value_or(options.cpu);
  options.may_contract = arguments.Has("--contract");
  if (const auto stack = arguments.Get("--stack");
      stack && !absl::SimpleAtoi(*stack, &options.stack_bytes))
    return absl::InvalidArgumentError(absl::StrCat("--stack '", *stack, "' is no number of bytes"));
  return options;
}

int Run(absl::Span<const std::string> words, const Streams& streams) {
  const absl::StatusOr<Arguments> arguments = ParseFor(kCompileCommand, words, 1, 1);
  if (!arguments.ok()) return Misuse(kCompileCommand, streams, arguments.status());
  const auto limit = HoldToLimits(*arguments);
  if (!limit.ok()) return Misuse(kCompileCommand, streams, limit.status());
  const auto misuse = [&](const absl::Status& status) {
    return Misuse(kCompileCommand, streams, status);
  };
  const std::optional<std::string> object = arguments->Get(kOutput);
  if (!object) return misuse(absl::InvalidArgumentError("-o FILE says where the object file goes"));
  const std::string header = arguments->Get(kHeader).value_or(HeaderBeside(*object));
  if (header == *object)
    return misuse(absl::InvalidArgumentError("the object file and the header are one file"));
  const absl::StatusOr<AheadOptions> options = ReadOptions(*arguments, *object);
  if (!options.ok()) return misuse(options.status());
  for (const auto& [option, path] : {std::pair(kOutput, *object), std::pair(kHeader, header)})
    if (absl::Status status = CheckCanBeWritten(option, path); !status.ok()) return misuse(status);
  const std::string& path = arguments->positional()[0];
  auto program = LoadProgramFile(path);
  if (!program.ok()) return NotLoaded(kCompileCommand, streams, path, program.status());
  const absl::StatusOr<Staged> asked = ReadAsked(*std::move(program), *arguments);
  if (!asked.ok()) return misuse(asked.status());
  const absl::StatusOr<CompiledAhead> made = CompileAhead(*asked, *options);
  if (!made.ok()) return Failure(kCompileCommand, streams, made.status());
  absl::Status status = WriteFile(*object, {made->object});
  if (status.ok()) status = WriteFile(header, {made->header});
  if (!status.ok()) return Failure(kCompileCommand, streams, status);
  streams.out << "wrote " << *object << " and " << header << "\n";
  return kSuccess;
}

}  // namespace

const Command kCompileCommand = {
    "compile",
    "GRAPH -o FILE [OPTION...]",
    "Writes a graph as an object file with a C function, and its header.",
    kOptions,
    "They need neither Gyre nor LLVM; link them with -lm. The function takes what is fed and "
    "gives\n"
    "what is fetched, with the bits that `gyre run` gives. For programs of scalars and small\n"
    "tensors whose shapes are known, with conditionals, loops and recursion; others are refused\n"
    "with the name of the op that stands in the way.\n\n"
    "  gyre compile controller.gyre -o controller.o\n"
    "  cc main.c controller.o -lm",
    &Run,
};

}  // namespace gyre::cli
