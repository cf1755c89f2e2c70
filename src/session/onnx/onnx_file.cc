#include "session/onnx/onnx_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "grad/symbolic_gradient.h"
#include "passes/pipeline.h"
#include "passes/prune.h"
#include "passes/raise/raise.h"
#include "session/names.h"
#include "session/variables.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

// The node's name, with the slot where it is not the first.
std::string NameOf(const Function& main, Endpoint at) {
  const std::string& node = main.node(at.node).name;
  return at.slot == 0 ? node : absl::StrCat(node, ":", at.slot);
}

// What is known of a placeholder's shape.
PartialShape ShapeOf(const Function& main, Endpoint at) {
  const Node& node = main.node(at.node);
  return node.kind() == OpKind::kPlaceholder
             ? node.attrs.GetOr<PartialShape>("shape", PartialShape())
             : PartialShape();
}

// What has to be fed for these.
std::vector<Endpoint> NeededPlaceholders(const Function& main, const RunSignature& signature) {
  const std::vector<bool> needed = NeededNodes(main, signature);
  std::vector<Endpoint> placeholders;
  for (const Node& node : main.nodes) {
    if (needed[node.id] && node.kind() == OpKind::kPlaceholder)
      placeholders.push_back({node.id, 0});
  }
  return placeholders;
}

OnnxInterface InterfaceOf(const OnnxSource& source) {
  OnnxInterface interface;
  interface.variables = source.variables;
  const Function& main = source.asked.program->main();
  const RunSignature& signature = source.asked.signature;
  for (size_t i = 0; i < signature.feeds.size(); ++i) {
    const Endpoint at = signature.feeds[i];
    OnnxPort& port = interface.inputs.emplace_back();
    port.name = i < source.inputs.size() ? source.inputs[i] : NameOf(main, at);
    port.shape = ShapeOf(main, at);
    if (i < source.input_types.size()) port.type = source.input_types[i];
  }
  for (size_t i = 0; i < signature.fetches.size(); ++i) {
    interface.outputs.emplace_back().name =
        i < source.outputs.size() ? source.outputs[i] : NameOf(main, signature.fetches[i]);
  }
  return interface;
}

// Ready to be written, with the same feeds and fetches.
absl::StatusOr<Staged> Prepared(const Staged& asked) {
  GYRE_ASSIGN_OR_RETURN(Staged staged, PrunePass(asked));
  if (HasSymbolicGradients(*staged.program)) {
    GYRE_ASSIGN_OR_RETURN(staged.program, ExpandSymbolicGradients(staged.program));
  }
  GYRE_ASSIGN_OR_RETURN(staged, Raise(staged));
  return Optimize(staged);
}

}  // namespace

OnnxSource SourceOf(std::shared_ptr<const Program> program, RunSignature signature) {
  OnnxSource source;
  source.asked = MakeStaged(std::move(program), std::move(signature));
  return source;
}

OnnxSource SourceOf(const OnnxModel& model) {
  OnnxSource source;
  RunSignature signature;
  const MainNames names(*model.program);
  for (const OnnxValue& input : model.inputs) {
    const auto at = names.FindEndpoint(input.endpoint);
    if (!at.ok()) continue;
    signature.feeds.push_back(*at);
    source.inputs.push_back(input.name);
    source.input_types.push_back(input.type);
  }
  for (const OnnxValue& output : model.outputs) {
    const auto at = names.FindEndpoint(output.endpoint);
    if (!at.ok()) continue;
    signature.fetches.push_back(*at);
    source.outputs.push_back(output.name);
  }
  source.asked = MakeStaged(model.program, std::move(signature));
  return source;
}

absl::StatusOr<OnnxSource> SourceOf(const Session& session, const std::vector<std::string>& feeds,
                                    const std::vector<std::string>& fetches) {
  OnnxSource source;
  GYRE_ASSIGN_OR_RETURN(RunSignature signature,
                        MainNames(session.program()).FindSignature(feeds, fetches));
  if (feeds.empty()) signature.feeds = NeededPlaceholders(session.program().main(), signature);
  source.asked = MakeStaged(session.shared_program(), std::move(signature));
  std::vector<std::string> names;
  for (const auto& [name, variable] : ProgramVariables(session.program())) names.push_back(name);
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> values, session.ReadVariables(names));
  for (size_t i = 0; i < names.size(); ++i) source.variables[names[i]] = {values[i]};
  return source;
}

absl::StatusOr<OnnxFile> ExportAsOnnx(const OnnxSource& source, const OnnxExportOptions& options) {
  OnnxInterface interface = InterfaceOf(source);
  if (interface.outputs.empty())
    return absl::InvalidArgumentError("a model of ONNX has outputs: say which");
  Staged asked = source.asked;
  for (const auto& [at, value] : source.constants) asked.signature.feeds.push_back(at);
  GYRE_ASSIGN_OR_RETURN(const Staged staged, Prepared(asked));
  const RunSignature& signature = staged.signature;
  for (size_t i = 0; i < interface.inputs.size(); ++i) interface.inputs[i].at = signature.feeds[i];
  for (size_t i = 0; i < interface.outputs.size(); ++i)
    interface.outputs[i].at = signature.fetches[i];
  for (size_t i = 0; i < source.constants.size(); ++i) {
    interface.constants.emplace_back(signature.feeds[interface.inputs.size() + i],
                                     source.constants[i].second);
  }
  return ExportOnnx(*staged.program, interface, options);
}

absl::Status SaveAsOnnx(const OnnxSource& source, const std::string& path) {
  OnnxExportOptions options;
  options.data_name = absl::StrCat(path.substr(path.rfind('/') + 1), ".data");
  GYRE_ASSIGN_OR_RETURN(const OnnxFile file, ExportAsOnnx(source, options));
  if (!file.data.empty()) {
    const std::vector<absl::string_view> pieces(file.data.begin(), file.data.end());
    GYRE_RETURN_IF_ERROR(WriteFile(absl::StrCat(path, ".data"), pieces));
  }
  return WriteFile(path, {file.model});
}

}  // namespace gyre
