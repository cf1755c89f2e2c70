#include "graphdef/function_library.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "graphdef/wire_format.h"

namespace gyre {
namespace {

// Bounds on what generic functions may blow a file up to: a function that calls itself with ever
// larger attributes has no end. Costs count nodes and bytes of attributes.
constexpr int64_t kMaxInstanceCost = int64_t{1} << 26;
constexpr int64_t kMaxBindingCost = int64_t{1} << 16;
constexpr int64_t kMaxListLength = int64_t{1} << 16;

// The cost of `value`, or more than `limit` once that is passed: shared parts count as often as
// they are seen, so the walk must be cut short.
int64_t AttrCost(const AttrValue& value, int64_t limit);

int64_t MapCost(const AttrMap& attrs, int64_t limit) {
  int64_t cost = 0;
  for (const auto& [name, value] : attrs) {
    if (cost > limit) break;
    cost += static_cast<int64_t>(name.size()) + AttrCost(value, limit - cost);
  }
  return cost;
}

int64_t RefCost(const FunctionRef& ref, int64_t limit) {
  const int64_t cost = 16 + static_cast<int64_t>(ref.name.size());
  return ref.attrs == nullptr ? cost : cost + MapCost(*ref.attrs, limit - cost);
}

int64_t AttrCost(const AttrValue& value, int64_t limit) {
  if (const auto* ref = std::get_if<FunctionRef>(&value)) return RefCost(*ref, limit);
  if (const auto* refs = std::get_if<std::vector<FunctionRef>>(&value)) {
    int64_t cost = 16;
    for (size_t i = 0; i < refs->size() && cost <= limit; ++i)
      cost += RefCost((*refs)[i], limit - cost);
    return cost;
  }
  if (const auto* text = std::get_if<std::string>(&value))
    return 16 + static_cast<int64_t>(text->size());
  return std::visit(
      [](const auto& v) -> int64_t {
        if constexpr (requires {
                        v.begin();
                        typename std::decay_t<decltype(v)>::value_type;
                      }) {
          return 16 + 16 * static_cast<int64_t>(v.size());
        } else {
          return 16;
        }
      },
      value);
}

absl::StatusOr<DType> FormalType(const wire::OpDef::ArgDef& arg, const AttrMap& bindings) {
  if (arg.type_attr().empty()) return DecodeDType(arg.type());
  const DType* dtype = bindings.Get<DType>(arg.type_attr());
  if (dtype != nullptr) return *dtype;
  return absl::InvalidArgumentError(
      absl::StrCat("its type, attribute ", arg.type_attr(), ", is not given"));
}

absl::StatusOr<FormalArg> ResolveFormal(const wire::OpDef::ArgDef& arg, const AttrMap& bindings) {
  FormalArg formal{arg.name(), {}};
  if (arg.name().empty()) return absl::InvalidArgumentError("it has no name");
  if (!arg.type_list_attr().empty()) {
    const auto* types = bindings.Get<std::vector<DType>>(arg.type_list_attr());
    if (types == nullptr && bindings.Get<EmptyList>(arg.type_list_attr()) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("its list of types, attribute ", arg.type_list_attr(), ", is not given"));
    }
    for (size_t i = 0; types != nullptr && i < types->size(); ++i) {
      formal.slots.push_back({(*types)[i], arg.is_ref()});
    }
    return formal;
  }
  GYRE_ASSIGN_OR_RETURN(const DType dtype, FormalType(arg, bindings));
  int64_t count = 1;
  if (!arg.number_attr().empty()) {
    const int64_t* number = bindings.Get<int64_t>(arg.number_attr());
    if (number == nullptr || *number < 0 || *number > kMaxListLength) {
      return absl::InvalidArgumentError(
          absl::StrCat("its length, attribute ", arg.number_attr(), ", is not a sound number"));
    }
    count = *number;
  }
  formal.slots.assign(static_cast<size_t>(count), {dtype, arg.is_ref()});
  return formal;
}

template <typename Args>
absl::StatusOr<std::vector<FormalArg>> ResolveFormals(const wire::FunctionDef& def,
                                                      const Args& args, const AttrMap& bindings) {
  std::vector<FormalArg> formals;
  for (const wire::OpDef::ArgDef& arg : args) {
    absl::StatusOr<FormalArg> formal = ResolveFormal(arg, bindings);
    if (!formal.ok()) {
      return Annotate(formal.status(),
                      absl::StrCat("function ", def.signature().name(), ", argument ", arg.name()));
    }
    formals.push_back(*std::move(formal));
  }
  return formals;
}

// "Square_T_float32": what the instance is made from and for.
std::string DescribeInstance(const wire::FunctionDef& def, const AttrMap& bindings) {
  constexpr size_t kMaxLength = 100;
  std::string name = def.signature().name();
  for (const auto& [attr, value] : bindings) {
    if (name.size() < kMaxLength) absl::StrAppend(&name, "_", attr, "_", AttrToString(value));
  }
  if (bindings.empty()) return name;
  name.resize(std::min(name.size(), std::max(kMaxLength, def.signature().name().size())));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '/' || c == '>' || c == '-'; },
      '_');
  return name;
}

bool SameBindings(const AttrMap& a, const AttrMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && AttrEquals(x.second, y.second);
  });
}

}  // namespace

std::string FormalArg::SlotName(size_t i) const {
  return slots.size() == 1 ? name : absl::StrCat(name, "_", i);
}

absl::StatusOr<std::unique_ptr<FunctionLibrary>> FunctionLibrary::Make(
    const wire::FunctionDefLibrary& proto, const OpLookup& ops, DecodeLimits& limits) {
  std::unique_ptr<FunctionLibrary> library(new FunctionLibrary(ops, limits));
  library->cost_left_ = kMaxInstanceCost;
  GYRE_RETURN_IF_ERROR(library->AddDefs(proto));
  library->FindStateful(proto);
  for (const wire::FunctionDef& def : proto.function()) {
    if (def.signature().attr_size() > 0) continue;
    GYRE_RETURN_IF_ERROR(library->Instantiate(def.signature().name(), AttrMap()).status());
  }
  return library;
}

absl::Status FunctionLibrary::AddDefs(const wire::FunctionDefLibrary& proto) {
  for (const wire::FunctionDef& def : proto.function()) {
    const std::string& name = def.signature().name();
    if (name.empty()) return absl::InvalidArgumentError("a function of the library has no name");
    if (ops_.Find(name) != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("function ", name, " has the name of an op"));
    }
    const auto [it, is_new] = defs_.emplace(name, &def);
    if (!is_new && SerializeExtra(*it->second) != SerializeExtra(def)) {
      return absl::InvalidArgumentError(absl::StrCat("the library has two functions named ", name));
    }
    names_.Reserve(name);
  }
  return absl::OkStatus();
}

// A function has effects when it says so, when one of its nodes has, or when it calls by name a
// function that has: found by walking from callees to callers.
void FunctionLibrary::FindStateful(const wire::FunctionDefLibrary& proto) {
  HashMap<absl::string_view, std::vector<const wire::FunctionDef*>> callers;
  std::vector<const wire::FunctionDef*> work;
  for (const wire::FunctionDef& def : proto.function()) {
    bool stateful = def.signature().is_stateful();
    for (const wire::NodeDef& node : def.node_def()) {
      const OpDef* op = ops_.Find(node.op());
      stateful |= op != nullptr && op->stateful();
      if (op == nullptr && Has(node.op())) callers[node.op()].push_back(&def);
    }
    if (stateful && stateful_.insert(&def).second) work.push_back(&def);
  }
  while (!work.empty()) {
    const std::string& name = work.back()->signature().name();
    work.pop_back();
    for (const wire::FunctionDef* caller : callers[name]) {
      if (stateful_.insert(caller).second) work.push_back(caller);
    }
  }
}

bool FunctionLibrary::DeclaresAttr(absl::string_view name, absl::string_view attr) const {
  const auto& attrs = defs_.at(name)->signature().attr();
  return std::any_of(attrs.begin(), attrs.end(), [&](const auto& a) { return a.name() == attr; });
}

absl::Status FunctionLibrary::Charge(int64_t cost) {
  if (cost > cost_left_) {
    return absl::InvalidArgumentError(
        "the generic functions of the library call each other with ever more or ever larger "
        "attributes");
  }
  cost_left_ -= cost;
  return absl::OkStatus();
}

absl::StatusOr<AttrMap> FunctionLibrary::BindingsFor(const wire::FunctionDef& def,
                                                     const AttrMap& attrs) {
  AttrMap bindings;
  for (const wire::OpDef::AttrDef& attr : def.signature().attr()) {
    const AttrValue* given = attrs.Find(attr.name());
    AttrValue value;
    if (given != nullptr) {
      value = *given;
    } else if (attr.has_default_value()) {
      absl::StatusOr<AttrValue> decoded = DecodeAttr(attr.default_value(), limits_);
      if (!decoded.ok()) return internal::AnnotateAttr(decoded.status(), attr.name());
      value = *std::move(decoded);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("attribute ", attr.name(), " is missing"));
    }
    bindings.Set(attr.name(), std::move(value));
    if (MapCost(bindings, kMaxBindingCost) > kMaxBindingCost) {
      return absl::InvalidArgumentError(absl::StrCat("attribute ", attr.name(), " is too large"));
    }
  }
  return bindings;
}

absl::StatusOr<const FunctionInstance*> FunctionLibrary::Instantiate(absl::string_view name,
                                                                     const AttrMap& attrs) {
  const wire::FunctionDef& def = *defs_.at(name);
  absl::StatusOr<AttrMap> bindings = BindingsFor(def, attrs);
  if (!bindings.ok()) return Annotate(bindings.status(), absl::StrCat("function ", name));
  std::vector<const FunctionInstance*>& instances = instances_[std::string(name)];
  const int64_t cost = MapCost(*bindings, kMaxBindingCost);
  for (const FunctionInstance* instance : instances) {
    GYRE_RETURN_IF_ERROR(Charge(cost));
    if (SameBindings(instance->bindings, *bindings)) return instance;
  }
  auto instance = std::make_unique<FunctionInstance>();
  instance->def = &def;
  if (instance->is_generic()) GYRE_RETURN_IF_ERROR(Charge(1000 + cost + 10 * def.node_def_size()));
  GYRE_ASSIGN_OR_RETURN(instance->inputs,
                        ResolveFormals(def, def.signature().input_arg(), *bindings));
  GYRE_ASSIGN_OR_RETURN(instance->outputs,
                        ResolveFormals(def, def.signature().output_arg(), *bindings));
  const std::string wanted = DescribeInstance(def, *bindings);
  instance->name = instance->is_generic() ? names_.Claim(wanted) : wanted;
  instance->bindings = *std::move(bindings);
  instance->stateful = stateful_.contains(&def);
  instances.push_back(instance.get());
  all_.push_back(std::move(instance));
  return all_.back().get();
}

const FunctionInstance* FunctionLibrary::TakeUnread() {
  return handed_out_ < all_.size() ? all_[handed_out_++].get() : nullptr;
}

absl::StatusOr<AttrValue> FunctionLibrary::Bind(const AttrValue& value, const AttrMap& bindings) {
  const auto bind_ref = [&](const FunctionRef& ref) -> absl::StatusOr<FunctionRef> {
    if (ref.attrs == nullptr) return ref;
    AttrMap inner;
    for (const auto& [name, attr] : *ref.attrs) {
      GYRE_ASSIGN_OR_RETURN(AttrValue bound, Bind(attr, bindings));
      inner.Set(name, std::move(bound));
    }
    return FunctionRef{ref.name, std::make_shared<const AttrMap>(std::move(inner))};
  };
  if (const auto* placeholder = std::get_if<AttrPlaceholder>(&value)) {
    const AttrValue* bound = bindings.Find(placeholder->name);
    if (bound == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("it stands for attribute ", placeholder->name,
                                                     ", which the function does not declare"));
    }
    GYRE_RETURN_IF_ERROR(Charge(AttrCost(*bound, kMaxBindingCost)));
    return *bound;
  }
  if (const auto* ref = std::get_if<FunctionRef>(&value)) return bind_ref(*ref);
  if (const auto* refs = std::get_if<std::vector<FunctionRef>>(&value)) {
    std::vector<FunctionRef> bound;
    for (const FunctionRef& ref : *refs) {
      GYRE_ASSIGN_OR_RETURN(FunctionRef one, bind_ref(ref));
      bound.push_back(std::move(one));
    }
    return AttrValue(std::move(bound));
  }
  return value;
}

}  // namespace gyre
