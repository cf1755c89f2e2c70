#include "ir/type_attrs.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gyre {
namespace {

using Slots = absl::Span<const NodeSignature::Slot>;

bool IsVariadic(const ArgDef& arg) {
  return !arg.number_attr.empty() || !arg.type_list_attr.empty();
}

const std::string& LengthAttr(const ArgDef& arg) {
  return arg.type_list_attr.empty() ? arg.number_attr : arg.type_list_attr;
}

// How many slots each variadic argument takes. nullopt when the total does not tell, which it does
// if all of them have the same length attribute.
std::optional<size_t> VariadicLength(const std::vector<ArgDef>& args, size_t num_slots) {
  size_t num_variadic = 0;
  const ArgDef* first = nullptr;
  for (const ArgDef& arg : args) {
    if (!IsVariadic(arg)) continue;
    ++num_variadic;
    if (first == nullptr) first = &arg;
    if (LengthAttr(arg) != LengthAttr(*first)) return std::nullopt;
  }
  const size_t num_fixed = args.size() - num_variadic;
  if (num_slots < num_fixed) return std::nullopt;
  if (num_variadic == 0) return 0;
  if ((num_slots - num_fixed) % num_variadic != 0) return std::nullopt;
  return (num_slots - num_fixed) / num_variadic;
}

void SetIfNew(AttrMap& attrs, const std::string& name, AttrValue value) {
  if (!name.empty() && !attrs.Has(name)) attrs.Set(name, std::move(value));
}

void DeduceFrom(const ArgDef& arg, Slots slots, AttrMap& attrs) {
  SetIfNew(attrs, arg.number_attr, static_cast<int64_t>(slots.size()));
  if (!arg.type_attr.empty()) {
    const auto known =
        std::find_if(slots.begin(), slots.end(),
                     [](const NodeSignature::Slot& slot) { return slot.dtype != DType::kInvalid; });
    if (known != slots.end()) SetIfNew(attrs, arg.type_attr, known->dtype);
  }
  if (!arg.type_list_attr.empty()) {
    std::vector<DType> types;
    for (const NodeSignature::Slot& slot : slots) types.push_back(slot.dtype);
    if (std::count(types.begin(), types.end(), DType::kInvalid) == 0) {
      SetIfNew(attrs, arg.type_list_attr, std::move(types));
    }
  }
}

void DeduceFromAll(const std::vector<ArgDef>& args, Slots slots, AttrMap& attrs) {
  const std::optional<size_t> length = VariadicLength(args, slots.size());
  size_t begin = 0;
  for (const ArgDef& arg : args) {
    if (!length && IsVariadic(arg)) return;  // where the later ones begin is not known either
    const size_t n = IsVariadic(arg) ? *length : 1;
    if (begin + n > slots.size()) return;
    DeduceFrom(arg, slots.subspan(begin, n), attrs);
    begin += n;
  }
}

}  // namespace

AttrMap DeduceTypeAttrs(const OpDef& op, Slots inputs, Slots outputs) {
  AttrMap attrs;
  DeduceFromAll(op.inputs, inputs, attrs);
  DeduceFromAll(op.outputs, outputs, attrs);
  return attrs;
}

bool IsGeneric(const Node& node) {
  return std::any_of(node.attrs.begin(), node.attrs.end(), [](const AttrMap::Entry& entry) {
    return std::holds_alternative<AttrPlaceholder>(entry.second);
  });
}

}  // namespace gyre
