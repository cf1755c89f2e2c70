#include "graphdef/import.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/refusals.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "base/work.h"
#include "google/protobuf/arena.h"
#include "graphdef/body_reader.h"
#include "graphdef/function_library.h"
#include "graphdef/graph_format.h"
#include "graphdef/node_reader.h"
#include "graphdef/wire_format.h"

namespace gyre {
namespace {

absl::Status CheckVersions(const wire::VersionDef& versions) {
  const auto& bad = versions.bad_consumers();
  if (versions.min_consumer() > kGraphVersion || versions.producer() < 0 ||
      std::find(bad.begin(), bad.end(), kGraphVersion) != bad.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the file is of version ", versions.producer(), " and needs a reader of version ",
        versions.min_consumer(), " or later", bad.empty() ? "" : ", some excepted",
        "; this one reads version ", kGraphVersion));
  }
  return absl::OkStatus();
}

// The parts of the file that no member of Program holds: debug information, generic functions,
// registered gradients, unknown fields.
std::string ProgramExtra(const wire::GraphDef& graph) {
  google::protobuf::Arena arena;
  auto& extra = *google::protobuf::Arena::CreateMessage<wire::GraphDef>(&arena);
  if (graph.has_debug_info()) *extra.mutable_debug_info() = graph.debug_info();
  extra.set_version(graph.version());
  wire::VersionDef& versions = *extra.mutable_versions();
  versions = graph.versions();
  versions.clear_producer();
  versions.clear_min_consumer();
  if (versions.ByteSizeLong() == 0) extra.clear_versions();
  wire::FunctionDefLibrary& library = *extra.mutable_library();
  for (const wire::FunctionDef& function : graph.library().function()) {
    if (function.signature().attr_size() > 0) *library.add_function() = function;
  }
  *library.mutable_registered_gradients() = graph.library().registered_gradients();
  CopyUnknownFields(graph.library(), &library);
  if (library.ByteSizeLong() == 0) extra.clear_library();
  CopyUnknownFields(graph, &extra);
  return SerializeExtra(extra);
}

absl::Status AddGradients(const wire::FunctionDefLibrary& library, ProgramBuilder& builder) {
  std::map<std::string, std::string> seen;
  for (const wire::GradientDef& gradient : library.gradient()) {
    const auto [it, is_new] = seen.emplace(gradient.function_name(), gradient.gradient_func());
    if (!is_new && it->second != gradient.gradient_func()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the library has two gradients of function ", gradient.function_name()));
    }
    builder.SetGradientFunction(gradient.function_name(), gradient.gradient_func());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Program>> ImportGraphDef(absl::string_view bytes,
                                                              const OpLookup& ops,
                                                              const ImportOptions& options) {
  return CatchOutOfMemory("this graph", [&] {
    return RunStage("reading", [&]() -> absl::StatusOr<std::shared_ptr<const Program>> {
      google::protobuf::Arena arena;
      GYRE_ASSIGN_OR_RETURN(const wire::GraphDef* graph,
                            ParseGraphDef(bytes, options.format, &arena));
      GYRE_RETURN_IF_ERROR(CheckVersions(graph->versions()));
      DecodeLimits limits{options.max_expanded_bytes};
      GYRE_ASSIGN_OR_RETURN(const auto library,
                            FunctionLibrary::Make(graph->library(), ops, limits));
      NodeReader reader(ops, *library, limits);
      ProgramBuilder builder(ops);
      GYRE_ASSIGN_OR_RETURN(Function main, ReadMainGraph(*graph, reader));
      builder.SetMain(std::move(main));
      while (const FunctionInstance* instance = library->TakeUnread()) {
        GYRE_ASSIGN_OR_RETURN(Function function, ReadFunction(*instance, reader));
        builder.SetFunction(std::move(function));
      }
      GYRE_RETURN_IF_ERROR(AddGradients(graph->library(), builder));
      builder.SetVersions(graph->versions().producer(), graph->versions().min_consumer());
      builder.SetWireExtra(ProgramExtra(*graph));
      std::shared_ptr<const Program> program = builder.Build();
      if (options.refuse_unknown_ops) GYRE_RETURN_IF_ERROR(CheckAllOps(*program));
      return program;
    });
  });
}

}  // namespace gyre
