#include "session/program_file.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/work.h"
#include "graphdef/export.h"
#include "graphdef/import.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "onnx/import.h"
#include "ops/registry.h"
#include "session/model_files.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

// Whether the bytes are Gyre's own text form: no GraphDef, binary or text, begins like that.
bool IsGyreText(absl::string_view bytes) {
  bytes = absl::StripLeadingAsciiWhitespace(bytes);
  while (absl::StartsWith(bytes, "//")) {
    const size_t end = bytes.find('\n');
    if (end == absl::string_view::npos) return false;
    bytes = absl::StripLeadingAsciiWhitespace(bytes.substr(end));
  }
  return absl::StartsWith(bytes, "graph") || absl::StartsWith(bytes, "func") ||
         absl::StartsWith(bytes, "program") || absl::StartsWith(bytes, "gradient");
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Program>> LoadProgramBytes(absl::string_view bytes) {
  return IsGyreText(bytes) ? ParseProgram(bytes, Ops()) : ImportGraphDef(bytes, Ops());
}

absl::StatusOr<std::shared_ptr<const Program>> LoadProgramFile(const std::string& path,
                                                               const LoadOptions& options) {
  if (const std::optional<ModelFiles> files = FindModelFiles(path)) {
    GYRE_ASSIGN_OR_RETURN(MetaGraph graph, ReadModelGraph(*files, {}));
    return std::move(graph.program);
  }
  if (IsOnnxName(path)) {
    OnnxImportOptions onnx;
    onnx.replaced = options.replaced;
    GYRE_ASSIGN_OR_RETURN(OnnxModel model, ImportOnnxFile(path, Ops(), std::move(onnx)));
    return std::move(model.program);
  }
  GYRE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  ImportOptions import;
  import.refuse_unknown_ops = options.refuse_unknown_ops;
  absl::StatusOr<std::shared_ptr<const Program>> program =
      absl::EndsWith(path, ".gyre") ? ParseProgram(bytes, Ops())
                                    : ImportGraphDef(bytes, Ops(), import);
  if (!program.ok()) return Annotate(program.status(), path);
  return program;
}

absl::Status SaveProgramFile(const Program& program, const std::string& path) {
  if (absl::EndsWith(path, ".gyre")) {
    GYRE_ASSIGN_OR_RETURN(const std::string text,
                          RunStage("writing", [&]() -> absl::StatusOr<std::string> {
                            return PrintProgram(program);
                          }));
    return WriteFile(path, {text});
  }
  if (!absl::EndsWith(path, ".pb") && !absl::EndsWith(path, ".pbtxt")) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name ", path, " says no format: end it with .pb, .pbtxt, .gyre or .onnx"));
  }
  const GraphFormat format =
      absl::EndsWith(path, ".pbtxt") ? GraphFormat::kText : GraphFormat::kBinary;
  GYRE_ASSIGN_OR_RETURN(const std::string bytes, ExportGraphDef(program, format));
  return WriteFile(path, {bytes});
}

}  // namespace gyre
