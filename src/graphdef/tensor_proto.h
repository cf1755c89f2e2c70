// Tensors and shapes between memory and the wire. Stateless; any thread.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"
#include "wire/tensor.pb.h"

namespace gyre {

// What reading one file may still take up beyond what its bytes justify. The wire lets one value
// stand for a constant of any size; without a bound, ten bytes could ask for a terabyte.
struct DecodeLimits {
  int64_t expanded_bytes_left = 0;
};

// A constant. Fewer values than elements: the last value fills the rest; none at all: zeros. More
// values than elements: the first ones count. INVALID_ARGUMENT for a shape that is partial, unsound
// or at odds with tensor_content, for an unknown type, for more than `limits` allows, and for
// resources and variants, which only exist in a running session.
absl::StatusOr<Tensor> DecodeTensor(const wire::TensorProto& proto, DecodeLimits& limits);

// INVALID_ARGUMENT for resources and variants. A tensor whose elements are all alike takes the
// space of one.
absl::Status EncodeTensor(const Tensor& tensor, wire::TensorProto* proto);

// INVALID_ARGUMENT for more than Shape::kMaxRank dimensions, one below -1, or dimensions beside an
// unknown rank.
absl::StatusOr<PartialShape> DecodeShape(const wire::TensorShapeProto& proto);
void EncodeShape(const PartialShape& shape, wire::TensorShapeProto* proto);

// The type behind a number of the wire. INVALID_ARGUMENT for numbers that are not a type of values:
// zero, Ref types, types that Gyre does not know.
absl::StatusOr<DType> DecodeDType(int wire);

}  // namespace gyre
