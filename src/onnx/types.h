// Types of ONNX values, and what carries them in Gyre: tensors as tensors, sequences as
// TensorLists, optionals as optionals. Plain values; any thread.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gyre/core/dtype.h"
#include "gyre/core/shape.h"
#include "onnx/onnx.pb.h"

namespace gyre::onnx {

enum class Kind { kTensor, kSequence, kOptional };

struct Type {
  Kind kind = Kind::kTensor;
  int elem_type = 0;                    // of a tensor: TensorProto::DataType
  std::shared_ptr<const Type> element;  // of a sequence or optional; null: nobody says

  static Type Tensor(int elem_type) { return {Kind::kTensor, elem_type, nullptr}; }
  static Type SequenceOf(Type element) {
    return {Kind::kSequence, 0, std::make_shared<const Type>(std::move(element))};
  }
  static Type OptionalOf(Type element) {
    return {Kind::kOptional, 0, std::make_shared<const Type>(std::move(element))};
  }
  bool is_tensor() const { return kind == Kind::kTensor; }
};

// The Gyre type of the elements of an ONNX tensor; the number that ONNX has for one.
// UNIMPLEMENTED for types that Gyre lacks (FLOAT8E4M3FN), INVALID_ARGUMENT for no type at all.
absl::StatusOr<DType> DTypeOfElem(int elem_type);
int ElemOfDType(DType dtype);
std::string ElemName(int elem_type);

// What a value of the type is in a program: its own dtype, or variant.
absl::StatusOr<DType> CarrierOf(const Type& type);

// Of a declaration. Dimensions that are symbols are unknown.
absl::StatusOr<Type> ReadType(const wire::TypeProto& type);
PartialShape ReadShape(const wire::TypeProto& type);

std::string ToString(const Type& type);

}  // namespace gyre::onnx
