// `gyre convert`: a graph from one file format to another.
#include "base/status.h"
#include "cli/asked.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "onnx/import.h"
#include "ops/registry.h"
#include "saved_model/graph_or_model.h"
#include "saved_model/signature_onnx.h"
#include "session/onnx/onnx_file.h"
#include "session/program_file.h"

namespace gyre::cli {
namespace {

constexpr absl::string_view kFeed = "--feed", kFetch = "--fetch", kSignature = "--signature";
constexpr absl::string_view kDefaultSignature = "serving_default";

constexpr Option kOptions[] = {
    {kFeed, "NAME[,NAME]", "inputs of a model.onnx that is written; default: what\nhas to be fed",
     'f', true},
    {kFetch, "NAME[,NAME]", "its outputs; default: all that nobody uses", 'y', true},
    {kSignature, "NAME",
     "of a SavedModel: what to write; default: the only one, or\nserving_default"},
    kPreparationTimeout,
    kPreparationBudget,
};

absl::StatusOr<OnnxSource> ReadSource(const std::string& path, const Arguments& arguments) {
  if (SavedModel::IsAt(path) && !arguments.Has(kFetch)) {
    GYRE_ASSIGN_OR_RETURN(const auto model, SavedModel::Load(path));
    const std::string usual = model->signatures().size() == 1 ? model->signatures().begin()->first
                                                              : std::string(kDefaultSignature);
    return SourceOf(*model, arguments.Get(kSignature).value_or(usual));
  }
  if (arguments.Has(kSignature))
    return absl::InvalidArgumentError("--signature is for models, without --fetch");
  if (IsOnnxName(path) && !arguments.Has(kFetch)) {
    GYRE_ASSIGN_OR_RETURN(const OnnxModel model, ImportOnnxFile(path, Ops()));
    return SourceOf(model);
  }
  GYRE_ASSIGN_OR_RETURN(const GraphOrModel loaded, LoadGraphOrModel(path, {}));
  if (arguments.Has(kFetch))
    return SourceOf(loaded.session(), arguments.List(kFeed), arguments.List(kFetch));
  OnnxSource source;
  GYRE_ASSIGN_OR_RETURN(source.asked, ReadAsked(loaded.session().shared_program(), arguments));
  RunSignature& signature = source.asked.signature;
  signature.targets.clear();
  if (!arguments.Has(kFeed)) {
    RunSignature for_fetches;
    for_fetches.fetches = signature.fetches;
    const std::vector<bool> needed = NeededNodes(source.asked.program->main(), for_fetches);
    std::erase_if(signature.feeds, [&](const Endpoint& at) { return !needed[at.node]; });
  }
  return source;
}

// Names what is no use for other files.
absl::Status RefuseChoices(const Arguments& arguments) {
  for (const absl::string_view option : {kFeed, kFetch, kSignature}) {
    if (arguments.Has(option)) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, " says what a model of ONNX is to hold: end its name with .onnx"));
    }
  }
  return absl::OkStatus();
}

int Run(absl::Span<const std::string> words, const Streams& streams) {
  const absl::StatusOr<Arguments> arguments = ParseFor(kConvertCommand, words, 2, 2);
  if (!arguments.ok()) return Misuse(kConvertCommand, streams, arguments.status());
  const auto limit = HoldToLimits(*arguments);
  if (!limit.ok()) return Misuse(kConvertCommand, streams, limit.status());
  const std::string &from = arguments->positional()[0], &to = arguments->positional()[1];
  absl::Status status;
  if (IsOnnxName(to)) {
    const absl::StatusOr<OnnxSource> source = ReadSource(from, *arguments);
    if (!source.ok()) return NotLoaded(kConvertCommand, streams, from, source.status());
    status = SaveAsOnnx(*source, to);
  } else {
    status = RefuseChoices(*arguments);
    if (!status.ok()) return Misuse(kConvertCommand, streams, status);
    const auto program = LoadProgramFile(from);
    if (!program.ok()) return NotLoaded(kConvertCommand, streams, from, program.status());
    status = SaveProgramFile(**program, to);
  }
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
    ".onnx is a model of ONNX: what is asked for, as far as it has a form there, with the values\n"
    "that variables have.\n\n"
    "  gyre convert graph.pb graph.gyre\n"
    "  gyre convert models/translate translate.onnx",
    &Run,
};

}  // namespace gyre::cli
