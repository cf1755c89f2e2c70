#include "ops/control/condition.h"

#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"

namespace gyre {

absl::StatusOr<bool> Truth(const Tensor& condition) {
  if (!condition.shape().IsScalar()) return condition.num_elements() > 0;
  if (condition.dtype() == DType::kBool) return condition.scalar<uint8_t>() != 0;
  if (condition.dtype() == DType::kString) return !condition.scalar<std::string>().empty();
  bool truth = false;
  const absl::Status known = VisitType<RealTypes>(condition.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      truth = static_cast<float>(condition.scalar<T>()) != 0;
    } else {
      truth = condition.scalar<T>() != T(0);
    }
    return absl::OkStatus();
  });
  if (known.ok()) return truth;
  return absl::InvalidArgumentError(absl::StrCat("a scalar of type ", DTypeName(condition.dtype()),
                                                 " is neither true nor false"));
}

}  // namespace gyre
