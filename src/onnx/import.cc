#include "onnx/import.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "base/work.h"
#include "google/protobuf/arena.h"
#include "onnx/names.h"
#include "onnx/op_table.h"
#include "onnx/tensor_data.h"
#include "onnx/types.h"
#include "tensor/io/file.h"
#include "wire/parse.h"

namespace gyre {
namespace {

using onnx::Names;
using onnx::Type;
using onnx::Value;

absl::StatusOr<OnnxType> TypeOf(const Type& type) {
  OnnxType result;
  if (type.is_tensor()) {
    GYRE_ASSIGN_OR_RETURN(result.dtype, onnx::DTypeOfElem(type.elem_type));
    return result;
  }
  result.kind = type.kind == onnx::Kind::kSequence ? OnnxKind::kSequence : OnnxKind::kOptional;
  if (type.element == nullptr) return result;
  GYRE_ASSIGN_OR_RETURN(OnnxType element, TypeOf(*type.element));
  result.element = std::make_shared<const OnnxType>(std::move(element));
  return result;
}

// Reads the main graph: inputs, initializers, nodes, outputs.
class Importer {
 public:
  Importer(const onnx::wire::ModelProto& proto, const OpLookup& ops,
           const OnnxImportOptions& options)
      : options_(options),
        model_(proto, options.folder, ops),
        scope_(model_.writing, "", nullptr),
        names_(model_, scope_),
        ops_(ops) {}

  absl::StatusOr<OnnxModel> Import() {
    const onnx::wire::GraphProto& graph = model_.proto.graph();
    for (const auto& initializer : graph.initializer()) has_value_.insert(initializer.name());
    for (const auto& initializer : graph.sparse_initializer())
      has_value_.insert(initializer.values().name());
    for (const auto& input : graph.input()) {
      if (has_value_.count(input.name()) > 0) continue;
      const absl::Status status = AddInput(input);
      if (!status.ok()) return Annotate(status, absl::StrCat("input '", input.name(), "'"));
    }
    GYRE_RETURN_IF_ERROR(ReadInitializers(graph));
    names_.ReadShapes(graph);
    names_.ReadNodes(graph.node());
    GYRE_RETURN_IF_ERROR(Status());
    for (const auto& output : graph.output()) {
      const absl::Status status = AddOutput(output);
      if (!status.ok()) return Annotate(status, absl::StrCat("output '", output.name(), "'"));
    }
    return Finish();
  }

 private:
  absl::Status Status() const {
    const absl::Status& status = const_cast<onnx::Scope&>(scope_).b().status();
    return model_.where.empty() ? status : Annotate(status, model_.where);
  }

  absl::Status AddInput(const onnx::wire::ValueInfoProto& input) {
    GYRE_ASSIGN_OR_RETURN(const Type type, onnx::ReadType(input.type()));
    GYRE_ASSIGN_OR_RETURN(const DType dtype, onnx::CarrierOf(type));
    PartialShape shape = onnx::ReadShape(input.type());
    if (!type.is_tensor()) shape = PartialShape::Scalar();
    return Placeholder(input.name(), type, dtype, std::move(shape));
  }

  absl::Status Placeholder(const std::string& name, const Type& type, DType dtype,
                           PartialShape shape) {
    GYRE_ASSIGN_OR_RETURN(
        const Endpoint at,
        scope_.function().Add1("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}},
                               {.name = onnx::NodeName(name)}));
    names_.Set(name, {scope_.b().At(at), type});
    GYRE_ASSIGN_OR_RETURN(OnnxType what, TypeOf(type));
    result_.inputs.push_back({name, EndpointOf(at), std::move(what), std::move(shape)});
    return Status();
  }

  bool IsReplaced(const std::string& initializer) const {
    return options_.replaced.count(onnx::NodeName(initializer)) > 0;
  }

  // Those that are to be trained, or replaced: placeholders, with what they hold beside the
  // program.
  absl::Status ReadInitializers(const onnx::wire::GraphProto& graph) {
    if (!options_.trainable_initializers && options_.replaced.empty()) {
      names_.ReadInitializers(graph);
      return Status();
    }
    onnx::wire::GraphProto rest;
    for (const onnx::wire::TensorProto& proto : graph.initializer()) {
      const auto dtype = onnx::DTypeOfElem(proto.data_type());
      const bool is_trained = options_.trainable_initializers && dtype.ok() && IsFloating(*dtype);
      if (!dtype.ok() || (!is_trained && !IsReplaced(proto.name()))) {
        *rest.add_initializer() = proto;
        continue;
      }
      GYRE_ASSIGN_OR_RETURN(Tensor value, onnx::ReadTensor(proto, options_.folder));
      GYRE_RETURN_IF_ERROR(Placeholder(proto.name(), Type::Tensor(proto.data_type()), *dtype,
                                       PartialShape(value.shape())));
      const std::string endpoint = result_.inputs.back().endpoint;
      result_.inputs.pop_back();
      result_.initializers.push_back({proto.name(), endpoint, std::move(value)});
    }
    *rest.mutable_sparse_initializer() = graph.sparse_initializer();
    names_.ReadInitializers(rest);
    return Status();
  }

  absl::Status AddOutput(const onnx::wire::ValueInfoProto& output) {
    const Value value = names_.Get(output.name());
    GYRE_RETURN_IF_ERROR(Status());
    GYRE_ASSIGN_OR_RETURN(const Endpoint at,
                          scope_.function().Add1("Identity", {value.expr.endpoint()}, {},
                                                 {.name = onnx::NodeName(output.name())}));
    GYRE_ASSIGN_OR_RETURN(OnnxType type, TypeOf(value.type));
    result_.outputs.push_back(
        {output.name(), EndpointOf(at), std::move(type), scope_.ShapeOf(value.expr)});
    return absl::OkStatus();
  }

  std::string EndpointOf(Endpoint at) {
    return absl::StrCat(scope_.function().node(at.node).name, ":", at.slot);
  }

  absl::StatusOr<OnnxModel> Finish() {
    GYRE_RETURN_IF_ERROR(Status());
    ProgramBuilder builder(ops_);
    builder.SetMain(scope_.function().Build());
    for (Function& function : model_.writing.functions) builder.SetFunction(std::move(function));
    result_.program = builder.Build();
    return std::move(result_);
  }

  const OnnxImportOptions& options_;
  onnx::Model model_;
  onnx::Scope scope_;
  Names names_;
  const OpLookup& ops_;
  HashSet<std::string> has_value_;
  OnnxModel result_;
};

}  // namespace

absl::StatusOr<OnnxModel> ImportOnnx(absl::string_view bytes, const OpLookup& ops,
                                     const OnnxImportOptions& options) {
  return CatchOutOfMemory("this model", [&] {
    return RunStage("reading", [&]() -> absl::StatusOr<OnnxModel> {
      google::protobuf::Arena arena;
      const auto* const proto = ParseMessage<onnx::wire::ModelProto>(bytes, &arena);
      if (proto == nullptr || !proto->has_graph()) {
        return absl::InvalidArgumentError(
            "not an ONNX model: no such message, or nested too deeply, or without a graph");
      }
      return Importer(*proto, ops, options).Import();
    });
  });
}

absl::StatusOr<OnnxModel> ImportOnnxFile(const std::string& path, const OpLookup& ops,
                                         OnnxImportOptions options) {
  GYRE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  options.folder = FolderOf(path);
  absl::StatusOr<OnnxModel> model = ImportOnnx(bytes, ops, options);
  if (!model.ok()) return Annotate(model.status(), path);
  return model;
}

bool IsOnnxName(absl::string_view path) { return absl::EndsWith(path, ".onnx"); }

std::vector<std::string> OnnxOps() { return onnx::OpNames(); }

}  // namespace gyre
