// Statuses and tensors as fields of control messages. Stateless; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cluster/proto/control.pb.h"
#include "gyre/core/tensor.h"

namespace gyre::cluster {

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

// The values of a run's feeds or fetches, as `what` says, in one message: `names` are theirs.
// INVALID_ARGUMENT, as EncodeTensor; RESOURCE_EXHAUSTED, before anything large is made, for more
// than `most_bytes` in all.
absl::Status ToProto(absl::Span<const Tensor> tensors, absl::string_view what,
                     absl::Span<const std::string> names, int64_t most_bytes, TensorFields* out);

// As DecodeTensor.
absl::StatusOr<std::vector<Tensor>> FromProto(const TensorFields& tensors, MemoryBudget* budget);

}  // namespace gyre::cluster
