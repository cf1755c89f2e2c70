#include "onnx/write/tensor_proto.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/work.h"
#include "onnx/types.h"

namespace gyre::onnx {

absl::Status WriteTensor(const Tensor& tensor, wire::TensorProto* proto) {
  const int elem_type = ElemOfDType(tensor.dtype());
  if (elem_type == 0) {
    return absl::UnimplementedError(
        absl::StrCat("ONNX has no tensors of ", DTypeName(tensor.dtype())));
  }
  SpendWorkMemory(static_cast<int64_t>(tensor.bytes()));
  proto->set_data_type(elem_type);
  for (const int64_t dim : tensor.shape().dims()) proto->add_dims(dim);
  if (tensor.dtype() == DType::kString) {
    for (const std::string& text : tensor.values<std::string>()) proto->add_string_data(text);
  } else {
    proto->set_raw_data(tensor.raw_data(), tensor.bytes());
  }
  return absl::OkStatus();
}

}  // namespace gyre::onnx
