// ToBool: the truth of a tensor, as conditions take it: of a number whether it is not zero, of a
// string whether it is not empty, of anything but a scalar whether it has elements.
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/kernel.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::StatusOr<bool> ScalarTruth(const Tensor& x) {
  if (x.dtype() == DType::kBool) return x.scalar<uint8_t>() != 0;
  if (x.dtype() == DType::kString) return !x.scalar<std::string>().empty();
  bool truth = false;
  const absl::Status known = VisitType<NumberTypes>(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      truth = static_cast<float>(x.scalar<T>()) != 0;
    } else {
      truth = x.scalar<T>() != T(0);
    }
    return absl::OkStatus();
  });
  if (!known.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a scalar of type ", DTypeName(x.dtype()), " is neither true nor false"));
  }
  return truth;
}

absl::Status ToBool(KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  bool truth = x.num_elements() > 0;
  if (x.shape().IsScalar()) {
    GYRE_ASSIGN_OR_RETURN(truth, ScalarTruth(x));
  }
  ctx.set_output(0, Tensor::Scalar<bool>(truth));
  return absl::OkStatus();
}

}  // namespace

void RegisterToBool(OpRegistry& ops) {
  ops.Add({.schema = "ToBool(input: T) -> output: bool {T: type}",
           .doc = "Whether the input, if it is a scalar, is neither zero nor empty; otherwise "
                  "whether it has elements.",
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("the result is bool"),
           .kernel = Compute<&ToBool>()});
}

}  // namespace gyre
