// From a run-time DType to a C++ type: sets of types, kernels instantiated per type, and visitors.
#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/kernel.h"

namespace gyre {

template <typename... Ts>
struct Types {};

// Those that are computed as float.
template <typename T>
inline constexpr bool kIsSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

using FloatTypes = Types<float, double, Half, BFloat16>;
using ComplexTypes = Types<complex64, complex128>;
using SignedIntTypes = Types<int8_t, int16_t, int32_t, int64_t>;
using IntTypes = Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using IndexTypes = Types<int32_t, int64_t>;
using RealTypes = Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                        uint16_t, uint32_t, uint64_t>;
using NumberTypes = Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                          uint16_t, uint32_t, uint64_t, complex64, complex128>;

// Elements that are only moved, by their size.
enum class Bytes1 : uint8_t {};
enum class Bytes2 : uint16_t {};
enum class Bytes4 : uint32_t {};
enum class Bytes8 : uint64_t {};
struct Bytes16 {
  uint64_t lo, hi;
};

template <typename T>
struct TypeTag {
  using type = T;
};

inline absl::Status NoKernelFor(DType dtype) {
  return absl::UnimplementedError(absl::StrCat("there is no kernel for ", DTypeName(dtype)));
}

namespace internal {
template <typename F, typename... Ts>
absl::Status VisitTypes(Types<Ts...>, DType dtype, F&& f) {
  absl::Status status = NoKernelFor(dtype);
  (void)((DTypeOf<Ts> == dtype ? (status = f(TypeTag<Ts>()), true) : false) || ...);
  return status;
}
}  // namespace internal

// Calls `f(TypeTag<T>())`, which returns a Status, with the T of `Set` whose DType is `dtype`;
// UNIMPLEMENTED if none.
template <typename Set, typename F>
absl::Status VisitType(DType dtype, F&& f) {
  return internal::VisitTypes(Set(), dtype, std::forward<F>(f));
}

// Calls `f(TypeTag<T>())` with a T that has the size and copying rules of `dtype`'s elements, for
// kernels that only move elements: Bytes1, … Bytes16, std::string, or RefPtr<Object>.
template <typename F>
absl::Status VisitElement(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kString:
      return f(TypeTag<std::string>());
    case DType::kResource:
    case DType::kVariant:
      return f(TypeTag<RefPtr<Object>>());
    default:
      switch (DTypeSize(dtype)) {
        case 1:
          return f(TypeTag<Bytes1>());
        case 2:
          return f(TypeTag<Bytes2>());
        case 4:
          return f(TypeTag<Bytes4>());
        case 8:
          return f(TypeTag<Bytes8>());
        case 16:
          return f(TypeTag<Bytes16>());
        default:
          return NoKernelFor(dtype);
      }
  }
}

namespace internal {
template <template <typename> class K, typename... Ts>
KernelFactory MakeForTypes(std::string attr, Types<Ts...>) {
  return [attr = std::move(attr)](const Node& node) -> absl::StatusOr<Kernel> {
    const DType* dtype = node.attrs.Get<DType>(attr);
    if (dtype == nullptr)
      return BugError(absl::StrCat("op ", node.op_name, " has no type attribute ", attr));
    absl::StatusOr<Kernel> kernel = absl::UnimplementedError(
        absl::StrCat("op ", node.op_name, " has no kernel for ", attr, " = ", DTypeName(*dtype)));
    (void)((DTypeOf<Ts> == *dtype ? (kernel = BindWithScalarCode<K<Ts>>(node), true) : false) ||
           ...);
    return kernel;
  };
}
}  // namespace internal

// `.kernel = ForTypes<RangeKernel, RealTypes>("Tidx")`: K<T>::Run is the kernel where attribute
// `attr` is T, and K<T>::Scalar and K<T>::Rows, if there are any, what it does to scalars and rows.
template <template <typename> class K, typename Set>
KernelFactory ForTypes(std::string attr) {
  return internal::MakeForTypes<K>(std::move(attr), Set());
}

}  // namespace gyre
