#include "ops/state/update.h"

#include <type_traits>

#include "ops/dispatch.h"

namespace gyre {
namespace {

// The type in which a and b are combined: unsigned for integers, so that overflow wraps (and no
// promotion to a signed int sneaks in); float for the 16-bit floats.
template <typename T>
auto Wide(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>(x);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return static_cast<float>(x);
  } else {
    return x;
  }
}

template <typename T, typename F>
void Combine(T* to, const T* from, int64_t n, int64_t step, F combine) {
  for (int64_t i = 0; i < n; ++i)
    to[i] = static_cast<T>(combine(Wide(to[i]), Wide(from[i * step])));
}

template <typename T>
void Arithmetic(UpdateOp op, T* to, const T* from, int64_t n, int64_t step) {
  switch (op) {
    case UpdateOp::kAdd:
      return Combine(to, from, n, step, [](auto a, auto b) { return a + b; });
    case UpdateOp::kSub:
      return Combine(to, from, n, step, [](auto a, auto b) { return a - b; });
    default:
      return Combine(to, from, n, step, [](auto a, auto b) { return a * b; });
  }
}

}  // namespace

absl::Status CheckUpdate(UpdateOp op, DType dtype) {
  if (op == UpdateOp::kAssign) return VisitElement(dtype, [](auto) { return absl::OkStatus(); });
  return VisitType<NumberTypes>(dtype, [](auto) { return absl::OkStatus(); });
}

absl::Status UpdateElements(UpdateOp op, DType dtype, void* to, const void* from, int64_t n,
                            int64_t step) {
  if (op == UpdateOp::kAssign) {
    return VisitElement(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < n; ++i)
        static_cast<T*>(to)[i] = static_cast<const T*>(from)[i * step];
      return absl::OkStatus();
    });
  }
  return VisitType<NumberTypes>(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Arithmetic(op, static_cast<T*>(to), static_cast<const T*>(from), n, step);
    return absl::OkStatus();
  });
}

absl::Status UpdateVariable(const KernelContext& ctx, UpdateOp op, int input,
                            VariableObject& variable, const Tensor& value) {
  const VariableLock lock(variable);
  Tensor& current = lock.value(variable);
  GYRE_RETURN_IF_ERROR(RequireInitialized(ctx, input, variable, current));
  if (current.shape() != value.shape()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Cannot update variable ", variable.name(), " with shape ", current.shape().ToString(),
        " using a Tensor with shape ", value.shape().ToString(), ", shapes must be equal."));
  }
  GYRE_RETURN_IF_ERROR(MakeWritable(ctx, current));
  return UpdateElements(op, variable.dtype(), current.mutable_raw_data(), value.raw_data(),
                        value.num_elements(), 1);
}

}  // namespace gyre
