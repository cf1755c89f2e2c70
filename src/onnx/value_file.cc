#include "onnx/value_file.h"

#include <utility>

#include "base/status.h"
#include "base/work.h"
#include "google/protobuf/arena.h"
#include "onnx/tensor_data.h"
#include "onnx/types.h"
#include "onnx/write/tensor_proto.h"
#include "ops/evaluate.h"
#include "ops/list/tensor_list.h"
#include "wire/parse.h"

namespace gyre {
namespace {

namespace wire = onnx::wire;

constexpr int kTensorValue = 1, kSequenceValue = 3;

absl::StatusOr<Tensor> Read(const wire::TensorProto& proto) { return onnx::ReadTensor(proto, ""); }

absl::StatusOr<Tensor> Only(absl::StatusOr<std::vector<Tensor>> outputs) {
  if (!outputs.ok()) return outputs.status();
  return (*outputs)[0];
}

absl::StatusOr<Tensor> EmptyListOf(DType dtype) {
  const Tensor any = Tensor::Scalar<int32_t>(-1);
  return Only(EvaluateOp("EmptyTensorList", {any, any}, {{"element_dtype", dtype}}));
}

absl::StatusOr<Tensor> Read(const wire::SequenceProto& proto, const OnnxType* element);

absl::StatusOr<Tensor> Read(const wire::OptionalProto& proto) {
  CheckStack();
  absl::StatusOr<Tensor> value;
  if (proto.has_tensor_value() && proto.elem_type() == kTensorValue) {
    value = Read(proto.tensor_value());
  } else if (proto.has_sequence_value() && proto.elem_type() == kSequenceValue) {
    value = Read(proto.sequence_value(), nullptr);
  } else {
    return Only(EvaluateOp("OptionalNone", {}));
  }
  if (!value.ok()) return value;
  return Only(EvaluateOp("OptionalFromValue", {*value}));
}

absl::StatusOr<Tensor> Read(const wire::SequenceProto& proto, const OnnxType* element) {
  CheckStack();
  std::vector<Tensor> values;
  for (const auto& value : proto.tensor_values()) {
    GYRE_ASSIGN_OR_RETURN(values.emplace_back(), Read(value));
  }
  for (const auto& value : proto.sequence_values()) {
    GYRE_ASSIGN_OR_RETURN(values.emplace_back(), Read(value, nullptr));
  }
  for (const auto& value : proto.optional_values()) {
    GYRE_ASSIGN_OR_RETURN(values.emplace_back(), Read(value));
  }
  DType dtype = DType::kFloat;
  if (!values.empty()) {
    dtype = values[0].dtype();
  } else if (element != nullptr) {
    dtype = element->kind == OnnxKind::kTensor ? element->dtype : DType::kVariant;
  }
  GYRE_ASSIGN_OR_RETURN(Tensor list, EmptyListOf(dtype));
  for (const Tensor& value : values) {
    std::vector<Tensor> inputs = {std::move(list), value};  // whose list nobody else holds
    GYRE_ASSIGN_OR_RETURN(list, Only(EvaluateOp("TensorListPushBack", std::move(inputs),
                                                {{"element_dtype", dtype}})));
  }
  return list;
}

template <typename M, typename Then>
absl::StatusOr<Tensor> Parse(absl::string_view bytes, const Then& then) {
  google::protobuf::Arena arena;
  const M* const message = ParseMessage<M>(bytes, &arena);
  if (message == nullptr) return absl::InvalidArgumentError("not a value of ONNX");
  return then(*message);
}

}  // namespace

absl::StatusOr<Tensor> ReadOnnxValue(absl::string_view bytes, const OnnxType& type) {
  return RunStage("reading", [&]() -> absl::StatusOr<Tensor> {
    switch (type.kind) {
      case OnnxKind::kTensor:
        return Parse<wire::TensorProto>(bytes, [](const auto& m) { return Read(m); });
      case OnnxKind::kSequence:
        return Parse<wire::SequenceProto>(
            bytes, [&](const auto& m) { return Read(m, type.element.get()); });
      case OnnxKind::kOptional:
        return Parse<wire::OptionalProto>(bytes, [](const auto& m) { return Read(m); });
    }
    return absl::InvalidArgumentError("not a type of ONNX");
  });
}

absl::StatusOr<std::string> WriteOnnxValue(const Tensor& value) {
  return RunStage("writing", [&]() -> absl::StatusOr<std::string> {
    if (value.dtype() != DType::kVariant) {
      wire::TensorProto proto;
      GYRE_RETURN_IF_ERROR(onnx::WriteTensor(value, &proto));
      return proto.SerializeAsString();
    }
    const auto* const list = value.object_as<TensorList>();
    if (list == nullptr) return absl::UnimplementedError("a value that is neither tensor nor list");
    wire::SequenceProto proto;
    proto.set_elem_type(kTensorValue);
    for (int64_t i = 0; i < list->size(); ++i) {
      GYRE_ASSIGN_OR_RETURN(const Tensor item, list->elements.Get(i, {}));
      GYRE_RETURN_IF_ERROR(onnx::WriteTensor(item, proto.add_tensor_values()));
    }
    return proto.SerializeAsString();
  });
}

}  // namespace gyre
