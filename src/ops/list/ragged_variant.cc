#include "ops/list/ragged_variant.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "ops/list/tensor_list.h"

namespace gyre {
namespace {

bool SameSplits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() != b[i].dtype() || a[i].shape() != b[i].shape() ||
        std::memcmp(a[i].raw_data(), b[i].raw_data(), a[i].bytes()) != 0)
      return false;
  }
  return true;
}

}  // namespace

RaggedVariant::~RaggedVariant() { DropIteratively(std::move(values_)); }

absl::StatusOr<RefPtr<Object>> RaggedVariant::Make(MemoryBudget* budget, std::vector<Tensor> splits,
                                                   Tensor values) {
  const size_t bytes = sizeof(RaggedVariant) + splits.size() * sizeof(Tensor);
  auto made =
      RefPtr<RaggedVariant>::Adopt(new RaggedVariant(budget, std::move(splits), std::move(values)));
  GYRE_RETURN_IF_ERROR(made->charge_.Set(static_cast<int64_t>(bytes)));
  return RefPtr<Object>(std::move(made));
}

absl::StatusOr<RefPtr<Object>> RaggedVariant::Add(KernelContext& ctx, const Object& other) const {
  const NestingGuard guard;
  GYRE_RETURN_IF_ERROR(guard.Check());
  const auto* ragged = dynamic_cast<const RaggedVariant*>(&other);
  if (ragged == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot add a ", kTypeName, " and a ", other.type_name()));
  }
  if (!SameSplits(splits_, ragged->splits_)) {
    return absl::InvalidArgumentError("cannot add ragged tensors whose rows differ");
  }
  GYRE_ASSIGN_OR_RETURN(Tensor sum, AddTensors(ctx, values_, ragged->values_));
  return Make(ctx.env().budget, splits_, std::move(sum));
}

absl::StatusOr<RefPtr<Object>> RaggedVariant::ZerosLike(KernelContext& ctx) const {
  const NestingGuard guard;
  GYRE_RETURN_IF_ERROR(guard.Check());
  GYRE_ASSIGN_OR_RETURN(Tensor zeros, ZerosLikeTensor(ctx, values_));
  return Make(ctx.env().budget, splits_, std::move(zeros));
}

int64_t RaggedVariant::PayloadBytes() const {
  const NestingGuard guard;
  int64_t bytes = gyre::PayloadBytes(values_);
  for (const Tensor& one : splits_) bytes += gyre::PayloadBytes(one);
  return guard.Check().ok() ? bytes : 0;
}

absl::StatusOr<VariantParts> RaggedVariant::TakeApart() const {
  VariantParts parts;
  parts.components = splits_;
  parts.components.push_back(values_);
  return parts;
}

absl::StatusOr<RefPtr<Object>> RaggedVariant::OfParts(VariantParts parts, Tensor::Alloc alloc) {
  if (parts.components.empty() || !parts.components.back().has_value()) {
    return absl::InvalidArgumentError("these parts do not make a ragged tensor");
  }
  Tensor values = std::move(parts.components.back());
  parts.components.pop_back();
  for (const Tensor& splits : parts.components) {
    const bool is_index = splits.has_value() && splits.rank() == 1 &&
                          (splits.dtype() == DType::kInt64 || splits.dtype() == DType::kInt32);
    if (!is_index) return absl::InvalidArgumentError("these parts do not make a ragged tensor");
  }
  return Make(alloc.budget, std::move(parts.components), std::move(values));
}

}  // namespace gyre
