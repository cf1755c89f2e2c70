#include "ops/control/condition.h"

#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
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

absl::StatusOr<int> ChosenFunction(Selector selector, const Tensor& value, int num_functions) {
  if (selector == Selector::kPredicate) {
    GYRE_ASSIGN_OR_RETURN(const bool truth, Truth(value));
    return truth ? 0 : 1;
  }
  if (value.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("branch_index must be scalar, but it has shape ", value.shape().ToString()));
  }
  const int index = value.scalar<int32_t>();
  return index < 0 || index >= num_functions ? num_functions - 1 : index;
}

}  // namespace gyre
