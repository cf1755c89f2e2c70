#include "ops/state/update.h"

#include <algorithm>
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

// a / b. Of integers towards 0, where b is not 0; the least one by -1 wraps around.
template <typename T>
T Quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(-Wide(a));
    }
    return static_cast<T>(a / b);
  } else {
    return static_cast<T>(Wide(a) / Wide(b));
  }
}

// The lesser or larger of a and b, or the one that is NaN.
template <typename T>
T Extremum(bool least, T a, T b) {
  // Halves are compared as floats, integers as they are.
  const auto value = [](T x) {
    if constexpr (std::is_integral_v<T>)
      return x;
    else
      return Wide(x);
  };
  if (value(a) != value(a)) return a;
  if (value(b) != value(b)) return b;
  return (least ? value(b) < value(a) : value(a) < value(b)) ? b : a;
}

template <typename T>
void Arithmetic(UpdateOp op, T* to, const T* from, int64_t n, int64_t step) {
  switch (op) {
    case UpdateOp::kAdd:
      return Combine(to, from, n, step, [](auto a, auto b) { return a + b; });
    case UpdateOp::kSub:
      return Combine(to, from, n, step, [](auto a, auto b) { return a - b; });
    case UpdateOp::kDiv:
      for (int64_t i = 0; i < n; ++i) to[i] = Quotient(to[i], from[i * step]);
      return;
    default:
      return Combine(to, from, n, step, [](auto a, auto b) { return a * b; });
  }
}

bool IsExtremum(UpdateOp op) { return op == UpdateOp::kMin || op == UpdateOp::kMax; }

}  // namespace

absl::Status CheckUpdate(UpdateOp op, DType dtype) {
  if (op == UpdateOp::kAssign) return VisitElement(dtype, [](auto) { return absl::OkStatus(); });
  if (IsExtremum(op)) return VisitType<RealTypes>(dtype, [](auto) { return absl::OkStatus(); });
  return VisitType<NumberTypes>(dtype, [](auto) { return absl::OkStatus(); });
}

absl::Status CheckOperands(UpdateOp op, const Tensor& operands) {
  if (op != UpdateOp::kDiv) return absl::OkStatus();
  return VisitType<NumberTypes>(operands.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      const absl::Span<const T> values = operands.values<T>();
      const auto zero = std::find(values.begin(), values.end(), T{0});
      if (zero != values.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("integer division by zero: updates[", zero - values.begin(), "] is 0"));
      }
    }
    return absl::OkStatus();
  });
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
  if (IsExtremum(op)) {
    return VisitType<RealTypes>(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* const to_values = static_cast<T*>(to);
      for (int64_t i = 0; i < n; ++i) {
        to_values[i] =
            Extremum(op == UpdateOp::kMin, to_values[i], static_cast<const T*>(from)[i * step]);
      }
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
