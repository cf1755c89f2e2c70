// Values of attributes in the text form of programs, written and read back exactly.
//
//   3   0.5   "text"   true   float32          an integer, a float, a string, a bool, a type
//   (2,?)   ()   ?                             a shape: of rank 2, a scalar's, of unknown rank
//   int32[3]{1, 2, 3}   string{"a"}            tensors; without brackets a scalar
//   float32[64,64]{0 ...}                      all elements alike
//   @body   @body{T=float32}   $T              a function, with its attributes; a placeholder
//   [1, 2]   []   [:int]                       lists; an empty one of a kind that only the schema
//   knows; of ints none                                       no value
//
// Floats are written with as many digits as it takes to read the same bits; NaNs other than the
// usual one as nan(BITS), in hexadecimal. Tensors that hold anything but a null resource or variant
// can be written, not read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/hash_map.h"
#include "gyre/core/dtype.h"
#include "ir/attr.h"
#include "ir/text/reader.h"
#include "ir/text/tensor.h"

namespace gyre {

std::string WriteAttrValue(const AttrValue& value, const LiteralOptions& options = {});
absl::StatusOr<AttrValue> ReadAttrValue(TextReader& reader);

// `name=value` pairs, separated by ", ".
std::string WriteAttrs(const AttrMap& attrs, const LiteralOptions& options = {});
// Attributes as they stand in a text, in any order.
class AttrTexts {
 public:
  // Reads the value of `name`, which stands at `mark`. An error if there is one already.
  absl::Status ReadValueOf(std::string name, size_t mark, TextReader& reader, int depth = 0);
  bool empty() const { return entries_.empty(); }
  AttrMap Take() { return AttrMap::FromEntries(std::move(entries_)); }

 private:
  std::vector<AttrMap::Entry> entries_;
  HashSet<std::string> names_;
};

// `{name=value, …}`; the opening brace has been consumed.
absl::StatusOr<AttrMap> ReadAttrsInBraces(TextReader& reader);

// "float32", or "?" for no type.
std::string WriteDType(DType dtype);

}  // namespace gyre
