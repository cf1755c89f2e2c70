#include "ir/op_def.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/work.h"

namespace gyre {
namespace {

// More slots than any real node has; keeps a hostile N or list from asking for gigabytes.
constexpr int64_t kMaxSlots = 1 << 20;

// The inputs whose type an attribute is, as people name them.
std::string InputsOfType(const OpDef& op, const AttrDef& attr) {
  std::vector<std::string> names;
  for (const ArgDef& input : op.inputs) {
    if (input.type_attr == attr.name || input.type_list_attr == attr.name)
      names.push_back(absl::StrCat("'", input.name, "'"));
  }
  if (names.empty()) return "";
  return absl::StrCat(names.size() == 1 ? "input " : "inputs ", absl::StrJoin(names, ", "));
}

absl::Status TypeError(const OpDef& op, const AttrDef& attr, DType type) {
  const std::string allowed =
      absl::StrJoin(attr.allowed_types, ", ",
                    [](std::string* out, DType d) { absl::StrAppend(out, DTypeName(d)); });
  const std::string inputs = InputsOfType(op, attr);
  return absl::InvalidArgumentError(
      inputs.empty() ? absl::StrCat("attribute ", attr.name, " of op ", op.name, " must be one of ",
                                    allowed, ", but is ", DTypeName(type))
                     : absl::StrCat(inputs, " of ", op.name, " must be of dtype ", allowed,
                                    ", but is ", DTypeName(type), ": cast converts numbers"));
}

absl::Status AttrError(const OpDef& op, const AttrDef& attr, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("attribute ", attr.name, " of op ", op.name, " ", what));
}

template <typename T>
bool HoldsKind(const AttrValue& value, bool is_list) {
  return is_list ? std::holds_alternative<std::vector<T>>(value) : std::holds_alternative<T>(value);
}

bool KindFits(const AttrDef& def, const AttrValue& value) {
  switch (def.kind) {
    case AttrKind::kString:
      return HoldsKind<std::string>(value, def.is_list);
    case AttrKind::kInt:
      return HoldsKind<int64_t>(value, def.is_list);
    case AttrKind::kFloat:
      return HoldsKind<float>(value, def.is_list);
    case AttrKind::kBool:
      return HoldsKind<bool>(value, def.is_list);
    case AttrKind::kType:
      return HoldsKind<DType>(value, def.is_list);
    case AttrKind::kShape:
      return HoldsKind<PartialShape>(value, def.is_list);
    case AttrKind::kTensor:
      return HoldsKind<Tensor>(value, def.is_list);
    case AttrKind::kFunc:
      return HoldsKind<FunctionRef>(value, def.is_list);
  }
  return false;
}

AttrValue EmptyListOf(AttrKind kind) {
  switch (kind) {
    case AttrKind::kString:
      return std::vector<std::string>();
    case AttrKind::kInt:
      return std::vector<int64_t>();
    case AttrKind::kFloat:
      return std::vector<float>();
    case AttrKind::kBool:
      return std::vector<bool>();
    case AttrKind::kType:
      return std::vector<DType>();
    case AttrKind::kShape:
      return std::vector<PartialShape>();
    case AttrKind::kTensor:
      return std::vector<Tensor>();
    case AttrKind::kFunc:
      return std::vector<FunctionRef>();
  }
  return EmptyList();
}

size_t ListLength(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> size_t {
        if constexpr (requires {
                        v.size();
                        typename std::decay_t<decltype(v)>::value_type;
                      }) {
          return v.size();
        } else {
          return 0;
        }
      },
      value);
}

absl::Status CheckBounds(const OpDef& op, const AttrDef& def, const AttrValue& value) {
  if (def.minimum) {
    const int64_t* number = std::get_if<int64_t>(&value);
    const int64_t actual = number != nullptr ? *number : static_cast<int64_t>(ListLength(value));
    if (actual < *def.minimum) {
      return AttrError(
          op, def,
          absl::StrCat(def.is_list ? "must have at least " : "must be at least ", *def.minimum,
                       def.is_list ? " elements, but has " : ", but is ", actual));
    }
  }
  const auto type_allowed = [&](DType d) {
    return def.allowed_types.empty() ||
           std::find(def.allowed_types.begin(), def.allowed_types.end(), d) !=
               def.allowed_types.end();
  };
  std::vector<DType> types;
  if (const DType* type = std::get_if<DType>(&value)) types = {*type};
  if (const auto* list = std::get_if<std::vector<DType>>(&value)) types = *list;
  for (const DType type : types) {
    if (type == DType::kInvalid) return AttrError(op, def, "is not a type");
    if (!type_allowed(type)) return TypeError(op, def, type);
  }
  if (const auto* text = std::get_if<std::string>(&value);
      text != nullptr && !def.allowed_strings.empty()) {
    if (std::find(def.allowed_strings.begin(), def.allowed_strings.end(), *text) ==
        def.allowed_strings.end()) {
      return AttrError(op, def,
                       absl::StrCat("must be one of '", absl::StrJoin(def.allowed_strings, "', '"),
                                    "', but is '", *text, "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAttr(const OpDef& op, const AttrDef& def, AttrMap& attrs) {
  const AttrValue* value = attrs.Find(def.name);
  if (value == nullptr) {
    if (!def.default_value) return AttrError(op, def, "is missing");
    attrs.Set(def.name, *def.default_value);
    return absl::OkStatus();
  }
  if (std::holds_alternative<EmptyList>(*value) && def.is_list) {
    attrs.Set(def.name, EmptyListOf(def.kind));
    value = attrs.Find(def.name);
  }
  if (std::holds_alternative<AttrPlaceholder>(*value)) {
    return AttrError(op, def,
                     "is a placeholder: the function it stands in has not been instantiated");
  }
  if (!KindFits(def, *value)) {
    static constexpr absl::string_view kNames[] = {"a string", "an integer", "a float",
                                                   "a bool",   "a type",     "a shape",
                                                   "a tensor", "a function"};
    return AttrError(
        op, def,
        absl::StrCat("must be ", def.is_list ? "a list, each element " : "",
                     kNames[static_cast<int>(def.kind)], ", but is ", AttrToString(*value)));
  }
  return CheckBounds(op, def, *value);
}

// What stages keep for one input or output of a node, beyond those that each node may have: where
// it leads, its type and shape, its place in a plan. An estimate, as kWorkBytesOfNode.
constexpr int64_t kWorkBytesOfSlot = 256;
constexpr size_t kSlotsOfNode = 16;

// The slots of one formal argument.
absl::StatusOr<std::vector<NodeSignature::Slot>> ResolveArg(const OpDef& op, const AttrMap& attrs,
                                                            const ArgDef& arg) {
  std::vector<NodeSignature::Slot> slots;
  if (!arg.type_list_attr.empty()) {
    const auto* types = attrs.Get<std::vector<DType>>(arg.type_list_attr);
    if (types == nullptr)
      return BugError(absl::StrCat("op ", op.name, " lacks the list ", arg.type_list_attr));
    for (const DType type : *types) slots.push_back({type, arg.is_ref});
    return slots;
  }
  DType dtype = arg.dtype;
  if (!arg.type_attr.empty()) dtype = attrs.GetOr<DType>(arg.type_attr, DType::kInvalid);
  const int64_t count = arg.number_attr.empty() ? 1 : attrs.GetOr<int64_t>(arg.number_attr, 0);
  if (count < 0 || count > kMaxSlots) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", arg.number_attr, " of op ",
                                                   op.name, " is ", count,
                                                   ", which is out of range"));
  }
  slots.assign(static_cast<size_t>(count), {dtype, arg.is_ref});
  return slots;
}

absl::Status ResolveArgs(const OpDef& op, const AttrMap& attrs, const std::vector<ArgDef>& args,
                         std::vector<NodeSignature::Slot>& slots) {
  for (const ArgDef& arg : args) {
    GYRE_ASSIGN_OR_RETURN(const auto more, ResolveArg(op, attrs, arg));
    slots.insert(slots.end(), more.begin(), more.end());
  }
  return absl::OkStatus();
}

}  // namespace

const AttrDef* OpDef::FindAttr(absl::string_view attr_name) const {
  const auto it = std::find_if(attrs.begin(), attrs.end(),
                               [&](const AttrDef& a) { return a.name == attr_name; });
  return it == attrs.end() ? nullptr : &*it;
}

absl::StatusOr<NodeSignature> ResolveSignature(const OpDef& op, AttrMap& attrs) {
  for (const AttrDef& def : op.attrs) GYRE_RETURN_IF_ERROR(CheckAttr(op, def, attrs));
  NodeSignature signature;
  GYRE_RETURN_IF_ERROR(ResolveArgs(op, attrs, op.inputs, signature.inputs));
  GYRE_RETURN_IF_ERROR(ResolveArgs(op, attrs, op.outputs, signature.outputs));
  const size_t slots = signature.inputs.size() + signature.outputs.size();
  if (slots > kSlotsOfNode)
    SpendWorkMemory(static_cast<int64_t>(slots - kSlotsOfNode) * kWorkBytesOfSlot);
  return signature;
}

absl::StatusOr<std::pair<int, int>> ArgRange(const OpDef& op, const AttrMap& attrs, bool is_output,
                                             int arg) {
  const std::vector<ArgDef>& args = is_output ? op.outputs : op.inputs;
  if (arg < 0 || arg >= static_cast<int>(args.size())) {
    return BugError(absl::StrCat("op ", op.name, " has no argument ", arg));
  }
  int begin = 0;
  for (int i = 0;; ++i) {
    GYRE_ASSIGN_OR_RETURN(const auto slots, ResolveArg(op, attrs, args[i]));
    const int end = begin + static_cast<int>(slots.size());
    if (i == arg) return std::make_pair(begin, end);
    begin = end;
  }
}

}  // namespace gyre
