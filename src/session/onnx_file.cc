#include "session/onnx_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "grad/symbolic_gradient.h"
#include "passes/pipeline.h"
#include "passes/prune.h"
#include "passes/raise/raise.h"
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

}  // namespace

absl::StatusOr<OnnxFile> ExportAsOnnx(const Staged& asked, const OnnxNames& names,
                                      const OnnxExportOptions& options) {
  OnnxInterface interface;
  interface.variables = names.variables;
  const Function& main = asked.program->main();
  for (size_t i = 0; i < asked.signature.feeds.size(); ++i) {
    const Endpoint at = asked.signature.feeds[i];
    OnnxPort port;
    port.name = i < names.inputs.size() ? names.inputs[i] : NameOf(main, at);
    port.shape = ShapeOf(main, at);
    if (i < names.input_types.size()) port.type = names.input_types[i];
    interface.inputs.push_back(std::move(port));
  }
  for (size_t i = 0; i < asked.signature.fetches.size(); ++i) {
    OnnxPort port;
    port.name =
        i < names.outputs.size() ? names.outputs[i] : NameOf(main, asked.signature.fetches[i]);
    interface.outputs.push_back(std::move(port));
  }
  GYRE_ASSIGN_OR_RETURN(Staged staged, PrunePass(asked));
  if (HasSymbolicGradients(*staged.program)) {
    GYRE_ASSIGN_OR_RETURN(staged.program, ExpandSymbolicGradients(staged.program));
  }
  GYRE_ASSIGN_OR_RETURN(staged, Raise(staged));
  GYRE_ASSIGN_OR_RETURN(staged, Optimize(staged));
  for (size_t i = 0; i < interface.inputs.size(); ++i)
    interface.inputs[i].at = staged.signature.feeds[i];
  for (size_t i = 0; i < interface.outputs.size(); ++i)
    interface.outputs[i].at = staged.signature.fetches[i];
  return ExportOnnx(*staged.program, interface, options);
}

absl::Status SaveAsOnnx(const Staged& asked, const OnnxNames& names, const std::string& path) {
  OnnxExportOptions options;
  options.data_name = absl::StrCat(path.substr(path.rfind('/') + 1), ".data");
  GYRE_ASSIGN_OR_RETURN(const OnnxFile file, ExportAsOnnx(asked, names, options));
  if (!file.data.empty()) {
    const std::vector<absl::string_view> pieces(file.data.begin(), file.data.end());
    GYRE_RETURN_IF_ERROR(WriteFile(absl::StrCat(path, ".data"), pieces));
  }
  return WriteFile(path, {file.model});
}

}  // namespace gyre
