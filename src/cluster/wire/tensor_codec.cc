#include "cluster/wire/tensor_codec.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "ops/list/tensor_list.h"
#include "ops/variant_ops.h"

namespace gyre::cluster {
namespace {

template <typename T>
void Put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

absl::Status CutOff() { return absl::InvalidArgumentError("the bytes of a tensor are cut off"); }

template <typename T>
absl::Status Take(absl::string_view& in, T* value) {
  if (in.size() < sizeof(T)) return CutOff();
  std::memcpy(value, in.data(), sizeof(T));
  in.remove_prefix(sizeof(T));
  return absl::OkStatus();
}

absl::Status TakeBytes(absl::string_view& in, uint64_t n, absl::string_view* bytes) {
  if (in.size() < n) return CutOff();
  *bytes = in.substr(0, n);
  in.remove_prefix(n);
  return absl::OkStatus();
}

enum class VariantKind : uint8_t { kNone, kObject };

absl::Status EncodeObject(const RefPtr<Object>& object, std::string& out) {
  const NestingGuard guard;
  GYRE_RETURN_IF_ERROR(guard.Check());
  if (!object) {
    Put(out, VariantKind::kNone);
    return absl::OkStatus();
  }
  const auto* addable = dynamic_cast<const AddableObject*>(object.get());
  if (addable == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", object->type_name(), " cannot leave the process that made it"));
  }
  Put(out, VariantKind::kObject);
  GYRE_ASSIGN_OR_RETURN(const VariantParts parts, addable->TakeApart());
  Put(out, static_cast<uint8_t>(object->type_name().size()));
  absl::StrAppend(&out, object->type_name());
  Put(out, static_cast<uint32_t>(parts.state.size()));
  out += parts.state;
  Put(out, static_cast<uint64_t>(parts.components.size()));
  for (const Tensor& component : parts.components) {
    Put(out, static_cast<uint8_t>(component.has_value()));
    if (component.has_value()) GYRE_RETURN_IF_ERROR(EncodeTensor(component, out));
  }
  return absl::OkStatus();
}

absl::StatusOr<RefPtr<Object>> DecodeObject(absl::string_view& in, MemoryBudget* budget) {
  const NestingGuard guard;
  GYRE_RETURN_IF_ERROR(guard.Check());
  VariantKind kind;
  GYRE_RETURN_IF_ERROR(Take(in, &kind));
  if (kind == VariantKind::kNone) return RefPtr<Object>();
  if (kind != VariantKind::kObject)
    return absl::InvalidArgumentError("a variant holds something unknown");
  uint8_t name_bytes = 0;
  uint32_t state_bytes = 0;
  uint64_t count = 0;
  absl::string_view name, state;
  GYRE_RETURN_IF_ERROR(Take(in, &name_bytes));
  GYRE_RETURN_IF_ERROR(TakeBytes(in, name_bytes, &name));
  GYRE_RETURN_IF_ERROR(Take(in, &state_bytes));
  GYRE_RETURN_IF_ERROR(TakeBytes(in, state_bytes, &state));
  GYRE_RETURN_IF_ERROR(Take(in, &count));
  if (count > in.size()) return CutOff();  // each takes a byte at least
  VariantParts parts{std::string(state), {}};
  for (uint64_t i = 0; i < count; ++i) {
    uint8_t is_there = 0;
    GYRE_RETURN_IF_ERROR(Take(in, &is_there));
    Tensor& component = parts.components.emplace_back();
    if (is_there != 0) {
      GYRE_ASSIGN_OR_RETURN(component, DecodeTensor(in, budget));
    }
  }
  return MakeVariant(name, std::move(parts), {nullptr, budget});
}

absl::Status EncodeStrings(const Tensor& tensor, std::string& out) {
  for (const std::string& s : tensor.values<std::string>())
    Put(out, static_cast<uint64_t>(s.size()));
  for (const std::string& s : tensor.values<std::string>()) out += s;
  return absl::OkStatus();
}

absl::Status DecodeStrings(absl::string_view& in, Tensor& tensor) {
  absl::string_view lengths;
  const auto n = static_cast<uint64_t>(tensor.num_elements());
  GYRE_RETURN_IF_ERROR(TakeBytes(in, n * sizeof(uint64_t), &lengths));
  for (std::string& s : tensor.mutable_values<std::string>()) {
    uint64_t length = 0;
    absl::string_view bytes;
    GYRE_RETURN_IF_ERROR(Take(lengths, &length));
    GYRE_RETURN_IF_ERROR(TakeBytes(in, length, &bytes));
    s.assign(bytes.data(), bytes.size());
  }
  return absl::OkStatus();
}

// The least that an element takes on the wire.
int64_t LeastBytes(DType dtype) {
  if (dtype == DType::kString) return sizeof(uint64_t);
  return dtype == DType::kVariant ? 1 : static_cast<int64_t>(DTypeSize(dtype));
}

}  // namespace

DType DTypeOfByte(uint8_t number) {
  const DType dtype = DTypeFromWire(number);  // which also takes references, and gives their type
  return static_cast<uint8_t>(dtype) == number ? dtype : DType::kInvalid;
}

void NormalizeBools(Tensor& tensor) {
  auto* const bytes = static_cast<unsigned char*>(tensor.mutable_raw_data());
  const int64_t n = tensor.num_elements();
  for (int64_t i = 0; i < n; ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

absl::Status EncodeTensor(const Tensor& tensor, std::string& out) {
  if (!tensor.has_value()) return absl::InvalidArgumentError("there is no value to send");
  const DType dtype = tensor.dtype();
  if (tensor.is_ref() || dtype == DType::kResource) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a reference to a ", tensor.object() == nullptr ? "resource" : tensor.object()->type_name(),
        " cannot leave the process that made it"));
  }
  Put(out, static_cast<uint8_t>(dtype));
  Put(out, static_cast<uint8_t>(tensor.rank()));
  for (const int64_t dim : tensor.shape().dims()) Put(out, dim);
  if (dtype == DType::kString) return EncodeStrings(tensor, out);
  if (dtype != DType::kVariant) {
    out.append(static_cast<const char*>(tensor.raw_data()), tensor.bytes());
    return absl::OkStatus();
  }
  if (tensor.rank() == 0) return EncodeObject(RefPtr<Object>::Share(tensor.object()), out);
  for (const RefPtr<Object>& object : tensor.values<RefPtr<Object>>())
    GYRE_RETURN_IF_ERROR(EncodeObject(object, out));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> DecodeTensor(absl::string_view& in, MemoryBudget* budget) {
  uint8_t number = 0, rank = 0;
  GYRE_RETURN_IF_ERROR(Take(in, &number));
  GYRE_RETURN_IF_ERROR(Take(in, &rank));
  const DType dtype = DTypeOfByte(number);
  if (!IsTrivial(dtype) && dtype != DType::kString && dtype != DType::kVariant)
    return absl::InvalidArgumentError(absl::StrCat("there is no tensor of type ", number));
  Dims dims(rank);
  for (int64_t& dim : dims) GYRE_RETURN_IF_ERROR(Take(in, &dim));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  if (shape.num_elements() > static_cast<int64_t>(in.size()) / LeastBytes(dtype)) return CutOff();
  if (dtype == DType::kVariant && rank == 0) {
    GYRE_ASSIGN_OR_RETURN(RefPtr<Object> object, DecodeObject(in, budget));
    return Tensor::FromObject(dtype, std::move(object));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, shape, {nullptr, budget}));
  if (dtype == DType::kString) {
    GYRE_RETURN_IF_ERROR(DecodeStrings(in, tensor));
  } else if (dtype == DType::kVariant) {
    for (RefPtr<Object>& object : tensor.mutable_values<RefPtr<Object>>()) {
      GYRE_ASSIGN_OR_RETURN(object, DecodeObject(in, budget));
    }
  } else {
    std::memcpy(tensor.mutable_raw_data(), in.data(), tensor.bytes());
    if (dtype == DType::kBool) NormalizeBools(tensor);
    in.remove_prefix(tensor.bytes());
  }
  return tensor;
}

}  // namespace gyre::cluster
