// `gyre show`: a graph as text, in numbers, or as a picture.
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/work.h"
#include "cli/asked.h"
#include "cli/command.h"
#include "cli/model/overview.h"
#include "cli/shared_options.h"
#include "exec/sequential/explain.h"
#include "ir/shape_inference.h"
#include "ir/text/dot.h"
#include "ir/text/printer.h"
#include "ir/text/summary.h"
#include "passes/prune.h"
#include "session/form.h"
#include "session/gradient_program.h"
#include "session/model_files.h"
#include "session/program_file.h"
#include "tensor/io/file.h"

extern char** environ;

namespace gyre::cli {
namespace {

// Constants of more elements are cut short unless all is asked for.
constexpr int64_t kMostElements = 16;

constexpr Option kOptions[] = {
    {"--full", "", "nothing cut short or left out: what a .gyre file holds"},
    {"--summary", "", "counts only: ops, loops, functions"},
    {"--signature", "NAME", "of a model: what this signature runs", 's'},
    {"--tags", "TAG[,TAG]", "of a model: which of its graphs, by all of its tags", '\0', true},
    {"--dot", "", "in the language of graphviz"},
    {"--svg", "FILE", "draw it into FILE; needs graphviz's `dot`"},
    {"--raised", "", "with If, Case and While in place of Switch, Merge, Enter, …"},
    {"--lowered", "", "the other way round"},
    {"--optimized", "", "after the optimiser's passes ('gyre passes')"},
    {"--gradient", "Y:X[,Y:X]",
     "raised, with the gradients of the sum of all Y with\nrespect to each X; names may have "
     "slots, "
     "as in loss:0:w:0",
     '\0', true},
    {"--memory", "POLICY",
     "with --gradient: what loops keep for it, save (the default),\nrecompute(K) or "
     "checkpoint(BYTES)"},
    kAskedFeed,
    kAskedFetch,
    kAskedTarget,
    kPreparationTimeout,
    kPreparationBudget,
};
constexpr absl::string_view kForms[] = {"--full", "--summary", "--dot", "--svg"};
// Which form of the program (session/form.h) each option shows.
constexpr std::pair<absl::string_view, ProgramForm> kPrograms[] = {
    {"--raised", ProgramForm::kRaised},
    {"--lowered", ProgramForm::kRelowered},
    {"--optimized", ProgramForm::kOptimized}};
constexpr absl::string_view kAsked[] = {"--feed", "--fetch", "--target"};
constexpr absl::string_view kSignature = "--signature";

// A file that is gone with the object.
class TemporaryFile {
 public:
  // UNAVAILABLE when the folder for such files cannot be written.
  static absl::StatusOr<std::unique_ptr<TemporaryFile>> Write(absl::string_view content) {
    const char* folder = std::getenv("TMPDIR");
    std::string path = absl::StrCat(folder == nullptr ? "/tmp" : folder, "/gyre-XXXXXX");
    const int fd = ::mkstemp(path.data());
    if (fd < 0)
      return absl::UnavailableError(
          absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
    ::close(fd);
    std::unique_ptr<TemporaryFile> file(new TemporaryFile(path));
    GYRE_RETURN_IF_ERROR(WriteFile(path, {content}));
    return file;
  }
  ~TemporaryFile() { static_cast<void>(RemoveFile(path_)); }

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

constexpr int kDotPollMillis = 5;

// Lets graphviz draw `dot` into `picture`.
absl::Status Draw(const std::string& dot, const std::string& picture) {
  GYRE_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFile> source, TemporaryFile::Write(dot));
  GYRE_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFile> drawn, TemporaryFile::Write(""));
  std::string program = "dot", format = "-Tsvg", output = "-o", input = source->path();
  std::string result = drawn->path();
  char* const words[] = {program.data(), format.data(), output.data(),
                         result.data(),  input.data(),  nullptr};
  pid_t child;
  const int error = ::posix_spawnp(&child, "dot", nullptr, nullptr, words, environ);
  if (error == ENOENT) {
    return absl::UnavailableError(
        "graphviz is not installed (there is no `dot`); `gyre show GRAPH --dot` prints what it "
        "would draw");
  }
  if (error != 0)
    return absl::UnavailableError(absl::StrCat("cannot start dot: ", std::strerror(error)));
  int status;
  pid_t ended;
  while ((ended = ::waitpid(child, &status, WNOHANG)) != child) {
    if (ended < 0 && errno != EINTR)
      return absl::UnavailableError(absl::StrCat("lost sight of dot: ", std::strerror(errno)));
    if (const absl::Status limit = WorkLimit::Check(); !limit.ok()) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return Annotate(limit, "while dot draws");
    }
    ::poll(nullptr, 0, kDotPollMillis);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return absl::UnavailableError(absl::StrCat("dot could not draw ", picture));
  GYRE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(drawn->path()));
  return WriteFile(picture, {bytes});
}

// What a reader wants to see: inferred shapes, no long constants, no fields that Gyre does not use.
std::string PrintForReading(const Program& program) {
  PrintOptions options;
  options.literals.max_elements = kMostElements;
  options.wire_extra = false;
  // A graph whose shapes contradict each other can be looked at all the same.
  const absl::StatusOr<ShapeTable> shapes = InferShapes(program);
  if (shapes.ok()) {
    options.shape_of = [&](const Function& function, Endpoint e) {
      const bool is_main = &function == &program.main();
      const FunctionShapes* known = shapes->Find(is_main ? "" : function.name);
      return known == nullptr ? PartialShape::Unknown() : known->at(e).shape;
    };
  }
  return PrintProgram(program, options);
}

std::string Summarize(const Program& program) {
  std::string summary = PrintSummary(program);
  const std::vector<std::string> loops = sequential::ExplainLoops(program);
  if (!loops.empty())
    absl::StrAppend(&summary, "\nhow loops run:\n  ", absl::StrJoin(loops, "\n  "), "\n");
  return summary;
}

absl::Status Show(const Program& program, const Arguments& arguments, std::ostream& out) {
  const std::optional<std::string> picture = arguments.Get("--svg");
  GYRE_ASSIGN_OR_RETURN(const std::string text,
                        RunStage("printing", [&]() -> absl::StatusOr<std::string> {
                          if (picture || arguments.Has("--dot")) return PrintDot(program);
                          if (arguments.Has("--summary")) return Summarize(program);
                          if (arguments.Has("--full")) return PrintProgram(program);
                          return PrintForReading(program);
                        }));
  if (!picture) {
    out << text;
    return absl::OkStatus();
  }
  GYRE_RETURN_IF_ERROR(Draw(text, *picture));
  out << "wrote " << *picture << "\n";
  return absl::OkStatus();
}

// "y:0:x:0", "y:x" … as two names.
absl::StatusOr<std::pair<std::string, std::string>> SplitPair(const std::string& pair) {
  std::vector<std::string> names;
  for (const absl::string_view part : absl::StrSplit(pair, ':')) {
    int slot;
    if (!names.empty() && absl::SimpleAtoi(part, &slot)) {
      absl::StrAppend(&names.back(), ":", part);
    } else {
      names.emplace_back(part);
    }
  }
  if (names.size() == 2) return std::make_pair(names[0], names[1]);
  return absl::InvalidArgumentError(
      absl::StrCat("--gradient takes Y:X, the names of two tensors, not \"", pair, "\""));
}

absl::StatusOr<NamedGradientRequest> ReadGradient(const Arguments& arguments) {
  NamedGradientRequest request;
  const auto add = [](std::string name, std::vector<std::string>& names) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  };
  for (const std::string& pair : arguments.List("--gradient")) {
    GYRE_ASSIGN_OR_RETURN(auto names, SplitPair(pair));
    add(std::move(names.first), request.ys);
    add(std::move(names.second), request.xs);
  }
  request.feeds = arguments.List("--feed");
  GYRE_ASSIGN_OR_RETURN(request.memory, ReadMemoryPolicy(arguments));
  return request;
}

// What is shown of a gradient that is not there.
void SayNotConnected(const GradientProgram& made, const Streams& streams) {
  for (const std::string& why : made.why_not) {
    if (!why.empty()) streams.err << "not connected: " << why << "\n";
  }
}

// The form of the program that is asked for: the one it has, if no other is. INVALID_ARGUMENT for
// options that do not go together.
absl::StatusOr<ProgramForm> ReadForm(const Arguments& arguments) {
  int shown = 0;
  for (const absl::string_view option : kForms) shown += arguments.Has(option) ? 1 : 0;
  if (shown > 1)
    return absl::InvalidArgumentError("choose one of --full, --summary, --dot and --svg");
  ProgramForm form = ProgramForm::kImported;
  for (const auto& [option, made] : kPrograms) {
    if (!arguments.Has(option)) continue;
    if (form != ProgramForm::kImported)
      return absl::InvalidArgumentError("choose one of --raised, --lowered and --optimized");
    form = made;
  }
  for (const absl::string_view asked : kAsked) {
    if (!arguments.Has(asked)) continue;
    if (arguments.Has(kSignature)) {
      return absl::InvalidArgumentError(
          absl::StrCat(asked, " and --signature, which says it, do not go together"));
    }
    if (form != ProgramForm::kImported || (arguments.Has("--gradient") && asked == kAskedFeed.name))
      continue;
    return absl::InvalidArgumentError(
        absl::StrCat(asked, " is for --raised, --lowered and --optimized"));
  }
  if (arguments.Has("--memory") && !arguments.Has("--gradient"))
    return absl::InvalidArgumentError("--memory is for --gradient");
  if (arguments.Has("--gradient") && arguments.Has(kSignature))
    return absl::InvalidArgumentError("--gradient and --signature do not go together");
  return form;
}

// A model by itself, or what one of its signatures runs.
int ShowModel(const ModelFiles& files, ProgramForm form, const Arguments& arguments,
              const Streams& streams) {
  const absl::StatusOr<MetaGraph> graph = ReadModelGraph(files, arguments.List("--tags"));
  if (!graph.ok())
    return NotLoaded(kShowCommand, streams, arguments.positional()[0], graph.status());
  const std::optional<std::string> signature = arguments.Get(kSignature);
  if (!signature) {
    const absl::Status status = PrintModel(files, *graph, streams.out);
    return status.ok() ? kSuccess : Failure(kShowCommand, streams, status);
  }
  absl::StatusOr<Staged> asked = AskForSignature(*graph, *signature);
  if (!asked.ok()) return Misuse(kShowCommand, streams, asked.status());
  SessionOptions options;
  options.form = form;
  asked = form == ProgramForm::kImported ? PrunePass(*asked) : ToForm(*std::move(asked), options);
  if (!asked.ok()) return Failure(kShowCommand, streams, asked.status());
  const absl::Status status = Show(*asked->program, arguments, streams.out);
  return status.ok() ? kSuccess : Failure(kShowCommand, streams, status);
}

absl::StatusOr<std::shared_ptr<const Program>> ReadProgram(const std::string& path,
                                                           const std::optional<ModelFiles>& model,
                                                           const Arguments& arguments) {
  if (!model) return LoadProgramFile(path);
  GYRE_ASSIGN_OR_RETURN(const MetaGraph graph, ReadModelGraph(*model, arguments.List("--tags")));
  return graph.program;
}

// Whether the options ask for the graph of a model as a whole.
bool AsksForGraph(const Arguments& arguments, ProgramForm form) {
  return form != ProgramForm::kImported || arguments.Has("--gradient") ||
         std::any_of(std::begin(kForms), std::end(kForms),
                     [&](absl::string_view option) { return arguments.Has(option); });
}

int Run(absl::Span<const std::string> words, const Streams& streams) {
  const absl::StatusOr<Arguments> arguments = ParseFor(kShowCommand, words, 1, 1);
  if (!arguments.ok()) return Misuse(kShowCommand, streams, arguments.status());
  const absl::StatusOr<ProgramForm> asked_form = ReadForm(*arguments);
  if (!asked_form.ok()) return Misuse(kShowCommand, streams, asked_form.status());
  const ProgramForm form = *asked_form;
  const auto limit = HoldToLimits(*arguments);
  if (!limit.ok()) return Misuse(kShowCommand, streams, limit.status());
  const auto request = ReadGradient(*arguments);
  if (!request.ok()) return Misuse(kShowCommand, streams, request.status());
  const std::string& path = arguments->positional()[0];
  const std::optional<ModelFiles> model = FindModelFiles(path);
  if (model && (arguments->Has(kSignature) || !AsksForGraph(*arguments, form)))
    return ShowModel(*model, form, *arguments, streams);
  for (const absl::string_view option : {kSignature, absl::string_view("--tags")}) {
    if (model || !arguments->Has(option)) continue;
    return Misuse(kShowCommand, streams,
                  absl::InvalidArgumentError(absl::StrCat(
                      option, " is for models: a folder with saved_model.pb, or NAME.meta")));
  }
  auto program = ReadProgram(path, model, *arguments);
  if (!program.ok()) return NotLoaded(kShowCommand, streams, path, program.status());
  if (arguments->Has("--gradient")) {
    const auto made = MakeGradientProgram(*std::move(program), *request);
    if (!made.ok()) return Failure(kShowCommand, streams, made.status());
    SayNotConnected(*made, streams);
    program = made->program;
  }
  if (form != ProgramForm::kImported) {
    const auto asked = ReadAsked(*std::move(program), *arguments);
    if (!asked.ok()) return Misuse(kShowCommand, streams, asked.status());
    SessionOptions options;
    options.form = form;
    const auto made = ToForm(*asked, options);
    if (!made.ok()) return Failure(kShowCommand, streams, made.status());
    program = made->program;
  }
  const absl::Status status = Show(**program, *arguments, streams.out);
  return status.ok() ? kSuccess : Failure(kShowCommand, streams, status);
}

}  // namespace

const Command kShowCommand = {
    "show",
    "GRAPH [OPTION]",
    "Prints a graph as text, counts what is in it, or draws it; of a model, its signatures.",
    kOptions,
    "A model is a SavedModel's folder, or a MetaGraph (.meta). With an option that says how to "
    "show\n"
    "a graph, the whole of its graph is shown; with --signature, what that one runs.",
    &Run,
};

}  // namespace gyre::cli
