#include "graphdef/export.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/work.h"
#include "google/protobuf/arena.h"
#include "graphdef/body_writer.h"
#include "graphdef/wire_format.h"

namespace gyre {
namespace {

// Generic functions of an import whose name a function of the program has taken over give way.
void DropReplaced(const Program& program, wire::FunctionDefLibrary* library) {
  auto* functions = library->mutable_function();
  for (int i = functions->size() - 1; i >= 0; --i) {
    if (program.FindFunction((*functions)[i].signature().name()) != nullptr)
      functions->DeleteSubrange(i, 1);
  }
}

absl::Status WriteLibrary(const Program& program, wire::GraphDef* graph) {
  DropReplaced(program, graph->mutable_library());
  for (const auto& [name, function] : program.functions()) {
    const absl::Status status =
        WriteFunction(program, *function, graph->mutable_library()->add_function());
    if (!status.ok()) return Annotate(status, absl::StrCat("function ", name));
  }
  for (const auto& [function, gradient] : program.gradient_functions()) {
    wire::GradientDef* def = graph->mutable_library()->add_gradient();
    def->set_function_name(function);
    def->set_gradient_func(gradient);
  }
  if (graph->library().ByteSizeLong() == 0) graph->clear_library();
  return absl::OkStatus();
}

absl::StatusOr<std::string> Export(const Program& program, GraphFormat format) {
  google::protobuf::Arena arena;
  auto* graph = google::protobuf::Arena::CreateMessage<wire::GraphDef>(&arena);
  GYRE_RETURN_IF_ERROR(ParseExtra(program.wire_extra(), "the program", graph));
  GYRE_RETURN_IF_ERROR(WriteMainGraph(program, graph));
  GYRE_RETURN_IF_ERROR(WriteLibrary(program, graph));
  wire::VersionDef* versions = graph->mutable_versions();
  versions->set_producer(program.producer());
  versions->set_min_consumer(program.min_consumer());
  if (versions->ByteSizeLong() == 0) graph->clear_versions();
  return SerializeGraphDef(
      *graph, format == GraphFormat::kText ? GraphFormat::kText : GraphFormat::kBinary);
}

}  // namespace

absl::StatusOr<std::string> ExportGraphDef(const Program& program, GraphFormat format) {
  return RunStage("writing", [&] { return Export(program, format); });
}

}  // namespace gyre
