#include <cmath>

#include "absl/strings/str_cat.h"
#include "gyre/core/debug.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct Found {
  int64_t nans = 0;
  int64_t infinities = 0;
  bool any() const { return nans + infinities > 0; }
};

// Bits of an IEEE number without its sign: above `infinity` it is a NaN.
template <typename Bits>
Found Count(const Tensor& tensor, Bits infinity) {
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto* const bits = static_cast<const Bits*>(tensor.raw_data());
  const size_t n = tensor.bytes() / sizeof(Bits);  // a complex number is two
  Found found;
  for (size_t i = 0; i < n; ++i) {
    const auto magnitude = static_cast<Bits>(bits[i] & ~kSign);
    found.nans += magnitude > infinity;
    found.infinities += magnitude == infinity;
  }
  return found;
}

Found Look(const Tensor& tensor) {
  if (!tensor.has_value() || tensor.is_ref()) return {};
  switch (tensor.dtype()) {
    case DType::kHalf:
      return Count<uint16_t>(tensor, 0x7c00);
    case DType::kBfloat16:
      return Count<uint16_t>(tensor, 0x7f80);
    case DType::kFloat:
    case DType::kComplex64:
      return Count<uint32_t>(tensor, 0x7f800000);
    case DType::kDouble:
    case DType::kComplex128:
      return Count<uint64_t>(tensor, 0x7ff0000000000000);
    default:
      return {};
  }
}

bool MakesNothing(const Firing& firing) {
  if (firing.is_plumbing || firing.is_call) return true;
  const OpDef* const op = Ops().Find(firing.op);
  if (op == nullptr) return false;
  return op->traits.forwards || op->kind == OpKind::kArg || op->kind == OpKind::kConst;
}

}  // namespace

absl::Status NanTrap::OnFired(const Firing& firing) {
  for (size_t i = 0; i < firing.outputs.size(); ++i) {
    const Tensor& output = firing.outputs[i];
    const Found found = Look(output);
    if (!found.any() || MakesNothing(firing)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the NaN trap found ", found.nans, " NaN and ", found.infinities, " Inf in output ", i,
        ", ", DTypeName(output.dtype()), output.shape().ToString()));
  }
  return absl::OkStatus();
}

}  // namespace gyre
