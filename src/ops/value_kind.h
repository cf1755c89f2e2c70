// ValueKind: what stands behind a value that is not a plain tensor.
//
// A variant may be a list or an optional; a scalar float may be the flow of a TensorArray, which
// its ops hand from one to the next to say in which order they come. Each has another kind of
// gradient. Of a handle it says whether it is one of an array of gradients. Followed through
// programs by analysis/value_kinds.h; the shape of a list's elements is shape inference's
// (ValueInfo::handle).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gyre/core/dtype.h"

namespace gyre {

struct ValueKind {
  enum class Type : uint8_t { kOther, kFlow, kList, kOptional, kGradientArray };
  Type type = Type::kOther;
  DType dtype = DType::kInvalid;  // of the elements of an array or list
  // Of a list: what its elements are, if known; of an optional: all components.
  std::vector<ValueKind> parts;

  bool IsFlow() const { return type == Type::kFlow; }
  bool IsList() const { return type == Type::kList; }
  bool IsOptional() const { return type == Type::kOptional; }
  // A handle: of the array in which an imported graph adds up the gradients of another one.
  bool IsGradientArray() const { return type == Type::kGradientArray; }
  friend bool operator==(const ValueKind& a, const ValueKind& b) = default;
  friend bool operator<(const ValueKind& a, const ValueKind& b);
};

// Of the outputs of a node, or the arguments or results of a function.
using KindRow = std::vector<ValueKind>;

// The kind of what is one or the other; what is not known gives way.
ValueKind Join(const ValueKind& a, const ValueKind& b);
// Joins `b` to `a`, as far as both go.
void JoinRow(KindRow& a, const KindRow& b);

// Without what lies too deep within others to be told apart: kinds that grow with each iteration of
// a loop come to an end.
ValueKind CutToDepth(ValueKind kind);

// In words: "", "optional", "gradients", "flow float32", "list float64", "list variant list
// float64". What is in an optional is not said.
std::string KindText(const ValueKind& kind);
// Of a text that KindText has not written: kOther.
ValueKind ParseKind(absl::string_view text);
std::vector<std::string> KindTexts(const KindRow& kinds);

}  // namespace gyre
