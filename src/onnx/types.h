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
  int depth = 0;                        // of types within this one

  static Type Tensor(int elem_type) { return {Kind::kTensor, elem_type, nullptr}; }
  static Type SequenceOf(Type element) { return Holder(Kind::kSequence, std::move(element)); }
  static Type OptionalOf(Type element) { return Holder(Kind::kOptional, std::move(element)); }
  bool is_tensor() const { return kind == Kind::kTensor; }

 private:
  static Type Holder(Kind kind, Type element) {
    const int depth = element.depth + 1;
    return {kind, 0, std::make_shared<const Type>(std::move(element)), depth};
  }
};

// The Gyre type of the elements of an ONNX tensor; the number that ONNX has for one.
// INVALID_ARGUMENT for a number that is none's.
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
