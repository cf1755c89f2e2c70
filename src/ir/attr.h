// Attribute values of nodes and functions: what GraphDef calls AttrValue, as plain C++ values.
//
// AttrMap keeps its entries sorted by name, so that equal maps print and export equally. Values are
// immutable by habit: transforms copy a node and replace attributes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "gyre/core/dtype.h"
#include "gyre/core/export.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"

namespace gyre {

class AttrMap;

// A function by name, with the attributes that instantiate it (usually none).
struct FunctionRef {
  std::string name;
  std::shared_ptr<const AttrMap> attrs;  // null: none

  friend bool operator==(const FunctionRef& a, const FunctionRef& b);
};

// "$name" in the body of a polymorphic function: replaced when the function is instantiated.
struct AttrPlaceholder {
  std::string name;
  friend bool operator==(const AttrPlaceholder&, const AttrPlaceholder&) = default;
};

// A list with no elements, of a kind that only the schema knows.
struct EmptyList {
  friend bool operator==(const EmptyList&, const EmptyList&) = default;
};

using AttrValue =
    std::variant<std::monostate, std::string, int64_t, float, bool, DType, PartialShape, Tensor,
                 FunctionRef, AttrPlaceholder, EmptyList, std::vector<std::string>,
                 std::vector<int64_t>, std::vector<float>, std::vector<bool>, std::vector<DType>,
                 std::vector<PartialShape>, std::vector<Tensor>, std::vector<FunctionRef>>;

// Equal kind and equal content (tensors bit for bit).
GYRE_EXPORT bool AttrEquals(const AttrValue& a, const AttrValue& b);
// The text form of a value: `3`, `"loop"`, `float32`, `[2,?]`, `@body`, `[1, 2]`. Long tensors are
// summarised.
GYRE_EXPORT std::string AttrToString(const AttrValue& value);

// Name → value, sorted by name.
class GYRE_EXPORT AttrMap {
 public:
  using Entry = std::pair<std::string, AttrValue>;

  AttrMap() = default;
  AttrMap(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) Set(entry.first, entry.second);
  }

  // Of entries in any order, whose names differ: faster than one Set after the other, which moves
  // what stands behind.
  static AttrMap FromEntries(std::vector<Entry> entries);

  bool Has(absl::string_view name) const { return Find(name) != nullptr; }
  // Null when absent.
  const AttrValue* Find(absl::string_view name) const;
  // Null when absent or of another kind.
  template <typename T>
  const T* Get(absl::string_view name) const {
    const AttrValue* value = Find(name);
    return value == nullptr ? nullptr : std::get_if<T>(value);
  }
  // The value, or `fallback` when absent or of another kind.
  template <typename T>
  T GetOr(absl::string_view name, T fallback) const {
    const T* value = Get<T>(name);
    return value == nullptr ? std::move(fallback) : *value;
  }
  void Set(absl::string_view name, AttrValue value);
  void Erase(absl::string_view name);

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace gyre
