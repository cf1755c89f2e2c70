#include "cli/model/overview.h"

#include <string>

#include "absl/strings/str_join.h"
#include "base/status.h"
#include "bundle/reader.h"
#include "cli/model/signature.h"
#include "session/variables.h"

namespace gyre::cli {
namespace {

void PrintSignature(const std::string& name, const MetaSignature& signature, std::ostream& out) {
  out << "\nsignature " << name << "\n";
  for (const auto& [input, tensor] : signature.inputs) {
    out << "  input  " << DescribeArgument(input, tensor.dtype, tensor.shape)
        << (tensor.fallback ? ", may be left out" : "") << "\n";
  }
  for (const auto& [output, tensor] : signature.outputs)
    out << "  output " << DescribeArgument(output, tensor.dtype, tensor.shape) << "\n";
}

void PrintVariables(const Program& program, std::ostream& out) {
  const auto variables = ProgramVariables(program);
  if (variables.empty()) return;
  out << "\nvariables\n";
  for (const auto& [name, variable] : variables)
    out << "  " << DescribeArgument(name, variable.dtype, variable.shape) << "\n";
}

void PrintFunctions(const Program& program, std::ostream& out) {
  if (program.functions().empty()) return;
  out << "\nfunctions\n";
  for (const auto& [name, function] : program.functions()) {
    out << "  " << name << ": " << function->args.size() << " arguments, "
        << function->results.size() << " results, " << function->nodes.size() << " nodes\n";
  }
}

absl::Status PrintCheckpoint(const ModelFiles& files, std::ostream& out) {
  GYRE_ASSIGN_OR_RETURN(const std::string prefix, CheckpointOf(files));
  if (prefix.empty()) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(const BundleReader bundle, BundleReader::Open(prefix, files.folder));
  out << "\ncheckpoint " << prefix << "\n";
  for (const std::string& name : bundle.Names()) {
    if (name == kObjectGraphKey) continue;
    const BundleEntry& entry = *bundle.Find(name);
    out << "  " << DescribeArgument(name, entry.dtype, entry.shape);
    if (!entry.slices.empty()) out << ", in " << entry.slices.size() << " slices";
    out << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PrintModel(const ModelFiles& files, const MetaGraph& graph, std::ostream& out) {
  out << (files.is_meta_graph ? "MetaGraph " : "SavedModel ") << files.graph;
  if (!graph.tags.empty()) out << ", tags " << absl::StrJoin(graph.tags, ", ");
  if (!graph.writer.empty()) out << ", written by TensorFlow " << graph.writer;
  out << "\n" << graph.program->main().nodes.size() << " nodes\n";
  for (const auto& [name, signature] : graph.signatures) PrintSignature(name, signature, out);
  PrintVariables(*graph.program, out);
  if (!graph.assets.empty()) out << "\nassets\n";
  for (const auto& [tensor, name] : graph.assets) out << "  " << name << "\n";
  PrintFunctions(*graph.program, out);
  return PrintCheckpoint(files, out);
}

}  // namespace gyre::cli
