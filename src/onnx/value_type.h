// What an input or output of an ONNX model is: a tensor, or something that holds such.
#pragma once

#include <memory>

#include "gyre/core/dtype.h"

namespace gyre {

enum class OnnxKind { kTensor, kSequence, kOptional };

struct OnnxType {
  OnnxKind kind = OnnxKind::kTensor;
  DType dtype = DType::kInvalid;            // of a tensor
  std::shared_ptr<const OnnxType> element;  // of a sequence or optional; null: not known
};

}  // namespace gyre
