// RaggedVariant: the value behind a variant that holds a ragged tensor, or a row of one.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "ops/memory.h"
#include "ops/variant_ops.h"

namespace gyre {

// Immutable; any thread.
class RaggedVariant final : public AddableObject {
 public:
  static constexpr absl::string_view kTypeName = "RaggedTensorVariant";

  // `splits`: of all ragged dimensions, outermost first; none of a dense tensor. `budget` is
  // charged with what the object itself takes; RESOURCE_EXHAUSTED if that does not fit.
  static absl::StatusOr<RefPtr<Object>> Make(MemoryBudget* budget, std::vector<Tensor> splits,
                                             Tensor values);
  static absl::StatusOr<RefPtr<Object>> OfParts(VariantParts parts, Tensor::Alloc alloc);
  ~RaggedVariant() override;

  absl::string_view type_name() const override { return kTypeName; }
  const std::vector<Tensor>& splits() const { return splits_; }
  const Tensor& values() const { return values_; }
  int ragged_rank() const { return static_cast<int>(splits_.size()); }

  // Rows must be equally long.
  absl::StatusOr<RefPtr<Object>> Add(KernelContext& ctx, const Object& other) const override;
  absl::StatusOr<RefPtr<Object>> ZerosLike(KernelContext& ctx) const override;
  int64_t PayloadBytes() const override;
  absl::StatusOr<VariantParts> TakeApart() const override;

 private:
  RaggedVariant(MemoryBudget* budget, std::vector<Tensor> splits, Tensor values)
      : splits_(std::move(splits)), values_(std::move(values)), charge_(budget) {}

  std::vector<Tensor> splits_;
  Tensor values_;
  MemoryCharge charge_;
};

}  // namespace gyre
