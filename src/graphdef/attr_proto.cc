#include "graphdef/attr_proto.h"

#include <limits>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre {
namespace {

absl::StatusOr<FunctionRef> DecodeFunctionRef(const wire::NameAttrList& proto,
                                              DecodeLimits& limits) {
  FunctionRef ref{proto.name(), nullptr};
  if (proto.attr().empty()) return ref;
  AttrMap attrs;
  for (const auto& [name, value] : proto.attr()) {
    absl::StatusOr<AttrValue> decoded = DecodeAttr(value, limits);
    if (!decoded.ok()) return internal::AnnotateAttr(decoded.status(), name);
    attrs.Set(name, *std::move(decoded));
  }
  ref.attrs = std::make_shared<const AttrMap>(std::move(attrs));
  return ref;
}

template <typename T, typename List, typename Decode>
absl::StatusOr<AttrValue> DecodeElements(const List& list, Decode decode) {
  std::vector<T> values;
  values.reserve(static_cast<size_t>(list.size()));
  for (const auto& element : list) {
    GYRE_ASSIGN_OR_RETURN(T value, decode(element));
    values.push_back(std::move(value));
  }
  return AttrValue(std::move(values));
}

absl::StatusOr<AttrValue> DecodeList(const wire::AttrValue::ListValue& list, DecodeLimits& limits) {
  const int kinds = (list.s_size() > 0) + (list.i_size() > 0) + (list.f_size() > 0) +
                    (list.b_size() > 0) + (list.type_size() > 0) + (list.shape_size() > 0) +
                    (list.tensor_size() > 0) + (list.func_size() > 0);
  if (kinds > 1) return absl::InvalidArgumentError("a list must have elements of one kind only");
  if (list.s_size() > 0) return std::vector<std::string>(list.s().begin(), list.s().end());
  if (list.i_size() > 0) return std::vector<int64_t>(list.i().begin(), list.i().end());
  if (list.f_size() > 0) return std::vector<float>(list.f().begin(), list.f().end());
  if (list.b_size() > 0) return std::vector<bool>(list.b().begin(), list.b().end());
  if (list.type_size() > 0) return DecodeElements<DType>(list.type(), DecodeDType);
  if (list.shape_size() > 0) return DecodeElements<PartialShape>(list.shape(), DecodeShape);
  if (list.tensor_size() > 0) {
    return DecodeElements<Tensor>(
        list.tensor(), [&](const wire::TensorProto& t) { return DecodeTensor(t, limits); });
  }
  if (list.func_size() > 0) {
    return DecodeElements<FunctionRef>(
        list.func(), [&](const wire::NameAttrList& f) { return DecodeFunctionRef(f, limits); });
  }
  return EmptyList();
}

absl::Status EncodeFunctionRef(const FunctionRef& ref, wire::NameAttrList* proto) {
  proto->set_name(ref.name);
  if (ref.attrs == nullptr) return absl::OkStatus();
  return EncodeAttrs(*ref.attrs, proto->mutable_attr(), [](const std::string&) { return true; });
}

// A visitor with one overload per alternative of AttrValue; the first error is kept.
class Encoder {
 public:
  explicit Encoder(wire::AttrValue* proto) : proto_(proto) {}
  const absl::Status& status() const { return status_; }

  void operator()(std::monostate) {}
  void operator()(const std::string& s) { proto_->set_s(s); }
  void operator()(int64_t i) { proto_->set_i(i); }
  void operator()(float f) { proto_->set_f(f); }
  void operator()(bool b) { proto_->set_b(b); }
  void operator()(DType type) { proto_->set_type(static_cast<wire::DataType>(type)); }
  void operator()(const PartialShape& s) { EncodeShape(s, proto_->mutable_shape()); }
  void operator()(const Tensor& t) { Update(EncodeTensor(t, proto_->mutable_tensor())); }
  void operator()(const FunctionRef& f) { Update(EncodeFunctionRef(f, proto_->mutable_func())); }
  void operator()(const AttrPlaceholder& p) { proto_->set_placeholder(p.name); }
  void operator()(EmptyList) { proto_->mutable_list(); }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    wire::AttrValue::ListValue* list = proto_->mutable_list();
    for (const auto& value : values) Add(static_cast<const T&>(value), list);
  }

 private:
  using List = wire::AttrValue::ListValue;

  void Add(const std::string& s, List* list) { list->add_s(s); }
  void Add(int64_t i, List* list) { list->add_i(i); }
  void Add(float f, List* list) { list->add_f(f); }
  void Add(bool b, List* list) { list->add_b(b); }
  void Add(DType type, List* list) { list->add_type(static_cast<wire::DataType>(type)); }
  void Add(const PartialShape& s, List* list) { EncodeShape(s, list->add_shape()); }
  void Add(const Tensor& t, List* list) { Update(EncodeTensor(t, list->add_tensor())); }
  void Add(const FunctionRef& f, List* list) { Update(EncodeFunctionRef(f, list->add_func())); }
  void Update(const absl::Status& status) { status_.Update(status); }

  wire::AttrValue* proto_;
  absl::Status status_;
};

bool HasUnknownFields(const google::protobuf::Message& proto) {
  return !proto.GetReflection()->GetUnknownFields(proto).empty();
}

bool IsWhollyDecoded(const wire::TensorShapeProto& proto) {
  if (HasUnknownFields(proto)) return false;
  for (const auto& dim : proto.dim()) {
    if (!dim.name().empty() || HasUnknownFields(dim)) return false;
  }
  return true;
}

bool IsWhollyDecoded(const wire::TensorProto& proto) {
  return !HasUnknownFields(proto) && proto.version_number() == 0 &&
         IsWhollyDecoded(proto.tensor_shape());
}

bool IsWhollyDecoded(const wire::NameAttrList& proto) {
  if (HasUnknownFields(proto)) return false;
  for (const auto& [name, value] : proto.attr()) {
    if (!gyre::IsWhollyDecoded(value)) return false;
  }
  return true;
}

template <typename List>
bool AllWhollyDecoded(const List& list) {
  for (const auto& element : list) {
    if (!IsWhollyDecoded(element)) return false;
  }
  return true;
}

}  // namespace

bool IsWhollyDecoded(const wire::AttrValue& proto) {
  if (HasUnknownFields(proto)) return false;
  switch (proto.value_case()) {
    case wire::AttrValue::kShape:
      return IsWhollyDecoded(proto.shape());
    case wire::AttrValue::kTensor:
      return IsWhollyDecoded(proto.tensor());
    case wire::AttrValue::kFunc:
      return IsWhollyDecoded(proto.func());
    case wire::AttrValue::kList:
      return !HasUnknownFields(proto.list()) && AllWhollyDecoded(proto.list().shape()) &&
             AllWhollyDecoded(proto.list().tensor()) && AllWhollyDecoded(proto.list().func());
    default:
      return true;
  }
}

absl::StatusOr<AttrValue> DecodeAttr(const wire::AttrValue& proto, DecodeLimits& limits) {
  const auto as_attr = [](auto value) -> absl::StatusOr<AttrValue> {
    if (!value.ok()) return value.status();
    return AttrValue(*std::move(value));
  };
  switch (proto.value_case()) {
    case wire::AttrValue::kS:
      return proto.s();
    case wire::AttrValue::kI:
      return AttrValue(int64_t{proto.i()});
    case wire::AttrValue::kF:
      return AttrValue(proto.f());
    case wire::AttrValue::kB:
      return AttrValue(proto.b());
    case wire::AttrValue::kType:
      return as_attr(DecodeDType(proto.type()));
    case wire::AttrValue::kShape:
      return as_attr(DecodeShape(proto.shape()));
    case wire::AttrValue::kTensor:
      return as_attr(DecodeTensor(proto.tensor(), limits));
    case wire::AttrValue::kList:
      return DecodeList(proto.list(), limits);
    case wire::AttrValue::kFunc:
      return as_attr(DecodeFunctionRef(proto.func(), limits));
    case wire::AttrValue::kPlaceholder:
      return AttrValue(AttrPlaceholder{proto.placeholder()});
    case wire::AttrValue::VALUE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("no value is set, or one of a kind that is not known");
}

absl::Status EncodeAttr(const AttrValue& value, wire::AttrValue* proto) {
  Encoder encoder(proto);
  std::visit(encoder, value);
  return encoder.status();
}

namespace internal {

absl::Status AnnotateAttr(const absl::Status& status, const std::string& name) {
  return Annotate(status, absl::StrCat("attribute ", name));
}

bool StillMeans(const wire::AttrValue& proto, const AttrValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return true;  // it could not be decoded
  DecodeLimits unlimited{std::numeric_limits<int64_t>::max()};
  const absl::StatusOr<AttrValue> decoded = DecodeAttr(proto, unlimited);
  if (!decoded.ok()) return false;
  // The schema gives an empty list its kind once it is in memory.
  if (std::holds_alternative<EmptyList>(*decoded)) {
    wire::AttrValue again;
    return EncodeAttr(value, &again).ok() && again.has_list() && again.list().ByteSizeLong() == 0;
  }
  return AttrEquals(*decoded, value);
}

}  // namespace internal
}  // namespace gyre
