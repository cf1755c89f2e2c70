// Statuses and tensors as fields of control messages. Stateless; any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "dist/proto/control.pb.h"
#include "dist/wire/tensor_codec.h"
#include "gyre/tensor.h"

namespace gyre::dist {

// Raised with every change that an older client or worker could not live with.
constexpr uint32_t kControlVersion = 2;

using TensorFields = google::protobuf::RepeatedPtrField<std::string>;

inline void ToProto(const absl::Status& status, proto::Status* out) {
  out->set_code(static_cast<int>(status.code()));
  out->set_message(std::string(status.message()));
}

inline absl::Status FromProto(const proto::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.code()), status.message());
}

// INVALID_ARGUMENT, as EncodeTensor and DecodeTensor.
inline absl::Status ToProto(absl::Span<const Tensor> tensors, TensorFields* out) {
  for (const Tensor& tensor : tensors) GYRE_RETURN_IF_ERROR(EncodeTensor(tensor, *out->Add()));
  return absl::OkStatus();
}

inline absl::StatusOr<std::vector<Tensor>> FromProto(const TensorFields& tensors,
                                                     MemoryBudget* budget) {
  std::vector<Tensor> result;
  for (const std::string& bytes : tensors) {
    absl::string_view in = bytes;
    GYRE_ASSIGN_OR_RETURN(result.emplace_back(), DecodeTensor(in, budget));
    if (!in.empty()) return absl::InvalidArgumentError("bytes follow a tensor");
  }
  return result;
}

}  // namespace gyre::dist
