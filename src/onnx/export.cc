#include "onnx/export.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/shape_inference.h"
#include "onnx/write/model_writer.h"
#include "onnx/write/program_writer.h"

namespace gyre {
namespace {

using onnx::ModelValue;
using onnx::ModelValues;

absl::Status Annotated(const absl::Status& status, const std::string& where) {
  return where.empty() ? status : Annotate(status, where);
}

class Exporter {
 public:
  Exporter(const Program& program, const OnnxInterface& interface)
      : program_(program), interface_(interface), model_(&proto_) {}

  absl::StatusOr<onnx::wire::ModelProto*> Export() {
    ShapeOptions options;
    for (const OnnxPort& input : interface_.inputs) options.fed[input.at] = input.shape;
    for (const auto& [at, value] : interface_.constants) {
      options.fed[at] = PartialShape(value.shape());
      ModelValue& known = given_[at] = onnx::Emitter::Known(value);
      known.wanted_name = program_.main().node(at.node).name;
    }
    GYRE_ASSIGN_OR_RETURN(const ShapeTable shapes, InferShapes(program_, options));
    for (const OnnxPort& input : interface_.inputs) GYRE_RETURN_IF_ERROR(AddInput(input));
    std::vector<std::string> names;
    for (const OnnxPort& output : interface_.outputs) names.push_back(model_.NewName(output.name));
    onnx::ProgramWriter writer(program_, shapes, interface_.variables, model_);
    std::vector<Endpoint> wanted;
    for (const OnnxPort& output : interface_.outputs) wanted.push_back(output.at);
    ModelValues results = writer.WriteMain(given_, wanted);
    if (model_.failed()) return Annotated(model_.status(), writer.where());
    onnx::Emitter emitter(model_);
    model_.set_stem("output");
    for (size_t i = 0; i < results.size(); ++i) {
      const bool is_flow = results[i].kind != onnx::Kind::kTensor &&
                           DTypeAt(interface_.outputs[i].at) != DType::kVariant;
      if (is_flow) model_.Fail(absl::UnimplementedError("the flow of an array is no value"));
      if (results[i].kind == onnx::Kind::kSequence) results[i] = emitter.AsSequence(results[i]);
      model_.AddOutput(results[i], true, names[i]);
      if (model_.failed())
        return Annotate(model_.status(), absl::StrCat("output '", interface_.outputs[i].name, "'"));
    }
    model_.Finish();
    return &proto_;
  }

 private:
  absl::Status AddInput(const OnnxPort& input) {
    ModelValue value;
    value.dtype = DTypeAt(input.at);
    value.shape = input.shape;
    if (input.type.kind != OnnxKind::kTensor) {
      const OnnxType* element = &input.type;
      value.kind =
          input.type.kind == OnnxKind::kSequence ? onnx::Kind::kSequence : onnx::Kind::kOptional;
      element = element->element.get();
      if (element != nullptr && element->kind == OnnxKind::kSequence &&
          input.type.kind == OnnxKind::kOptional) {
        value.holds_list = true;
        element = element->element.get();
      }
      if (element == nullptr || element->kind != OnnxKind::kTensor) {
        return absl::UnimplementedError(
            absl::StrCat("input '", input.name, "' holds what ONNX's ops do not know"));
      }
      value.dtype = element->dtype;
      value.shape = PartialShape();
    }
    if (onnx::ElemOfDType(value.dtype) == 0) {
      return absl::UnimplementedError(absl::StrCat("input '", input.name, "' is of type ",
                                                   DTypeName(value.dtype), ", which ONNX lacks"));
    }
    value.name = model_.NewName(input.name);
    model_.AddInput(value);
    given_.emplace(input.at, std::move(value));
    return model_.status();
  }

  DType DTypeAt(Endpoint at) const {
    return program_.main().node(at.node).signature.outputs[at.slot].dtype;
  }

  const Program& program_;
  const OnnxInterface& interface_;
  onnx::wire::ModelProto proto_;
  onnx::ModelWriter model_;
  HashMap<Endpoint, ModelValue> given_;
};

// Takes the data of large tensors out of the model.
void MoveData(onnx::wire::GraphProto& graph, const std::string& name, OnnxFile& file) {
  constexpr size_t kLeast = 1024, kAlignment = 64;
  int64_t offset = 0;
  for (onnx::wire::TensorProto& tensor : *graph.mutable_initializer()) {
    if (tensor.raw_data().size() < kLeast) continue;
    std::string& data = file.data.emplace_back(std::move(*tensor.mutable_raw_data()));
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::wire::TensorProto::EXTERNAL);
    const auto say = [&](const char* key, const std::string& value) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    say("location", name);
    say("offset", absl::StrCat(offset));
    say("length", absl::StrCat(data.size()));
    data.resize((data.size() + kAlignment - 1) / kAlignment * kAlignment);
    offset += static_cast<int64_t>(data.size());
  }
}

absl::StatusOr<OnnxFile> Serialized(onnx::wire::ModelProto& proto,
                                    const OnnxExportOptions& options) {
  OnnxFile file;
  if (!options.data_name.empty() &&
      proto.ByteSizeLong() > static_cast<size_t>(options.most_bytes)) {
    MoveData(*proto.mutable_graph(), options.data_name, file);
  }
  if (proto.ByteSizeLong() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return absl::ResourceExhaustedError(
        "the model takes more than the 2 GiB that a message may have");
  }
  file.model = proto.SerializeAsString();
  return file;
}

}  // namespace

absl::StatusOr<OnnxFile> ExportOnnx(const Program& program, const OnnxInterface& interface,
                                    const OnnxExportOptions& options) {
  return CatchOutOfMemory("this model", [&] {
    return RunStage("writing", [&]() -> absl::StatusOr<OnnxFile> {
      Exporter exporter(program, interface);
      GYRE_ASSIGN_OR_RETURN(onnx::wire::ModelProto* const proto, exporter.Export());
      return Serialized(*proto, options);
    });
  });
}

}  // namespace gyre
