// Lists and optionals taken apart and put together again, for who sends them to another process.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ops/list/ragged_variant.h"
#include "ops/list/tensor_list.h"

namespace gyre {
namespace {

absl::Status NoList() { return absl::InvalidArgumentError("these parts do not make a list"); }

}  // namespace

// The state: dtype, 1 if the elements' rank is known, then as int64 the largest size and the
// elements' dimensions.
absl::StatusOr<VariantParts> TensorList::TakeApart() const {
  VariantParts parts;
  parts.state = {static_cast<char>(dtype()), element_shape.has_rank() ? '\1' : '\0'};
  const auto put = [&](int64_t n) {
    parts.state.append(reinterpret_cast<const char*>(&n), sizeof(n));
  };
  put(max_size);
  if (element_shape.has_rank()) {
    for (const int64_t dim : element_shape.dims()) put(dim);
  }
  parts.components.resize(size());
  for (int64_t i = elements.NextStored(0); i < size(); i = elements.NextStored(i + 1)) {
    GYRE_ASSIGN_OR_RETURN(parts.components[i], elements.Get(i, {}));
  }
  return parts;
}

absl::StatusOr<RefPtr<Object>> MakeList(VariantParts parts, Tensor::Alloc alloc) {
  absl::string_view state = parts.state;
  if (state.size() < 2 + sizeof(int64_t) || state.size() % sizeof(int64_t) != 2) return NoList();
  const int number = static_cast<unsigned char>(state[0]);
  const DType dtype = DTypeFromWire(number);
  if (static_cast<int>(dtype) != number || number == 0) return NoList();
  const bool has_rank = state[1] != '\0';
  state.remove_prefix(2);
  const auto take = [&] {
    int64_t n;
    std::memcpy(&n, state.data(), sizeof(n));
    state.remove_prefix(sizeof(n));
    return n;
  };
  const int64_t max_size = take();
  Dims dims;
  while (!state.empty()) {
    if (dims.emplace_back(take()) < -1) return NoList();
  }
  if (dims.size() > Shape::kMaxRank || (!has_rank && !dims.empty())) return NoList();
  const auto size = static_cast<int64_t>(parts.components.size());
  if (size > TensorList::kMaxSize || (max_size >= 0 && size > max_size)) return NoList();
  auto list = MakeRef<TensorList>(dtype, has_rank ? PartialShape(dims) : PartialShape(), max_size);
  GYRE_RETURN_IF_ERROR(list->elements.Resize(size, alloc));
  for (int64_t i = 0; i < size; ++i) {
    Tensor& element = parts.components[i];
    if (!element.has_value()) continue;
    if (element.dtype() != dtype || !list->element_shape.Allows(element.shape())) return NoList();
    GYRE_RETURN_IF_ERROR(list->elements.Set(i, std::move(element), alloc));
  }
  return RefPtr<Object>(std::move(list));
}

absl::StatusOr<RefPtr<Object>> MakeVariant(absl::string_view type_name, VariantParts parts,
                                           Tensor::Alloc alloc) {
  if (type_name == TensorList::kTypeName) return MakeList(std::move(parts), alloc);
  if (type_name == RaggedVariant::kTypeName) return RaggedVariant::OfParts(std::move(parts), alloc);
  if (type_name == "Optional") return MakeOptional(std::move(parts), alloc);
  return absl::InvalidArgumentError(absl::StrCat("no variant holds a \"", type_name, "\""));
}

}  // namespace gyre
