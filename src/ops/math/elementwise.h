// Kernels of elementwise ops, made from a function of one or two elements.
//
// An op is a struct F with `static T Apply(T x)` or `static R Apply(T x, T y)`, overloaded or a
// template over the types it is computed in: half and bfloat16 are computed in float and rounded
// once. It may also have
//   kVector     the op's vector code (simd.h), used where there is some for the type
//   Valid(x,y)  which pairs have a result; a pair that has none fails the op with INVALID_ARGUMENT
//   and kError
// Scalars are computed at the top of each kernel, without a look at shapes or an allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ops/dispatch.h"
#include "ops/kernel.h"
#include "ops/math/simd.h"
#include "ops/registry.h"

namespace gyre {

// Elements per piece of a large tensor: some ten to a few hundred microseconds of work.
inline constexpr int64_t kElementwiseGrain = 16384;

// The type in which a T is computed.
template <typename T>
using ComputeType = std::conditional_t<kIsSmallFloat<T>, float, T>;

// Runs `body(begin, end)` over [0, n) as ParallelRun does, in pieces of kElementwiseGrain; what is
// smaller at once.
template <typename Body>
absl::Status ForPieces(const KernelContext& ctx, int64_t n, const Body& body) {
  if (n <= kElementwiseGrain) {
    body(0, n);
    return absl::OkStatus();
  }
  // The reference fits a std::function without an allocation; the body's captures would not.
  return ctx.ParallelRun(n, kElementwiseGrain,
                         [&body](int64_t begin, int64_t end) { body(begin, end); });
}

// What one node's elementwise kernel works with, whatever its types.
struct UnaryCall {
  UnaryRow row;
  DType result;
  uint8_t input_size;  // bytes per element
  uint8_t result_size;
};
struct BinaryCall {
  BinaryRow row;
  DType result;
  uint8_t input_size;
  uint8_t result_size;
  const char* error;  // for a row that fails; null when it cannot
};

// Computes output 0 from input 0, or from inputs 0 and 1 broadcast together; in place where nobody
// else sees an input.
absl::Status RunUnary(KernelContext& ctx, const UnaryCall& call);
absl::Status RunBinary(KernelContext& ctx, const BinaryCall& call);
// As RunBinary, for inputs that must have the same shape (INVALID_ARGUMENT).
absl::Status RunBinarySameShape(KernelContext& ctx, const BinaryCall& call);

namespace internal {

// What F gives for T: T itself where it computes in T's type, else F's own type (bool for a
// comparison).
template <typename R, typename T>
using ResultType = std::conditional_t<std::is_same_v<R, ComputeType<T>>, T, R>;

template <typename F, typename T>
concept HasUnaryApply = requires(ComputeType<T> x) { F::Apply(x); };
template <typename F>
concept HasVectorCode = requires { F::kVector; };
template <typename F, typename T>
concept HasValid = requires(T x) { F::Valid(x, x); };

template <typename F>
constexpr const char* ErrorOf() {
  if constexpr (requires { F::kError; }) {
    return F::kError;
  } else {
    return nullptr;
  }
}

}  // namespace internal

// y = F(x) for a type that has F::Apply.
template <typename F, typename T>
struct Unary {
  using C = ComputeType<T>;
  using R = internal::ResultType<decltype(F::Apply(C())), T>;

  static R One(T x) { return static_cast<R>(F::Apply(static_cast<C>(x))); }
  static bool Scalar(const void* const* inputs, void* output) noexcept {
    *static_cast<R*>(output) = One(*static_cast<const T*>(inputs[0]));
    return true;
  }

  static void Row(const void* input, void* output, int64_t n) {
    const T* x = static_cast<const T*>(input);
    R* y = static_cast<R*>(output);
    for (int64_t i = 0; i < n; ++i) y[i] = One(x[i]);
  }

  static UnaryRow BestRow() {
    static const UnaryRow row = [] {
      UnaryRow found = nullptr;
      if constexpr (internal::HasVectorCode<F>) found = simd::FindRow(F::kVector, DTypeOf<T>);
      return found != nullptr ? found : &Row;
    }();
    return row;
  }
  static bool Rows(const void*, const void* const* inputs, size_t, uint32_t, void* output,
                   int64_t n) {
    BestRow()(inputs[0], output, n);
    return true;
  }

  static absl::Status Run(KernelContext& ctx) {
    const Tensor& x = ctx.input(0);
    if (x.shape().IsScalar()) {
      ctx.set_output(0, Tensor::Scalar<R>(One(x.scalar<T>())));
      return absl::OkStatus();
    }
    return RunUnary(ctx, {BestRow(), DTypeOf<R>, sizeof(T), sizeof(R)});
  }
};

// y = F(x) for the real types of an op that vector code alone computes: scalars take the same path.
template <typename F, typename T>
  requires(internal::HasVectorCode<F> && !internal::HasUnaryApply<F, T>)
struct Unary<F, T> {
  using C = ComputeType<T>;

  // Of elements as they are computed: a T, or a float.
  static UnaryRow ComputeRow() {
    static const UnaryRow row = simd::FindRow(F::kVector, DTypeOf<C>);
    return row;
  }
  static UnaryRow VectorRow()
    requires(!kIsSmallFloat<T>)
  {
    return ComputeRow();
  }

  static void Row(const void* input, void* output, int64_t n) {
    const T* x = static_cast<const T*>(input);
    T* y = static_cast<T*>(output);
    constexpr int64_t kBlock = 256;
    C block[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t count = n - begin < kBlock ? n - begin : kBlock;
      for (int64_t i = 0; i < count; ++i) block[i] = static_cast<C>(x[begin + i]);
      ComputeRow()(block, block, count);
      for (int64_t i = 0; i < count; ++i) y[begin + i] = static_cast<T>(block[i]);
    }
  }

  static UnaryRow BestRow() { return kIsSmallFloat<T> ? &Row : ComputeRow(); }
  static bool Rows(const void*, const void* const* inputs, size_t, uint32_t, void* output,
                   int64_t n) {
    BestRow()(inputs[0], output, n);
    return true;
  }

  static UnaryOne<C> ComputeOne() {
    static const UnaryOne<C> one = simd::FindOne(F::kVector, C());
    return one;
  }
  static UnaryOne<T> VectorOne()
    requires(!kIsSmallFloat<T>)
  {
    return ComputeOne();
  }

  static T One(T x) { return static_cast<T>(ComputeOne()(static_cast<C>(x))); }
  static bool Scalar(const void* const* inputs, void* output) noexcept {
    *static_cast<T*>(output) = One(*static_cast<const T*>(inputs[0]));
    return true;
  }

  static absl::Status Run(KernelContext& ctx) {
    const Tensor& x = ctx.input(0);
    if (x.shape().IsScalar()) {
      ctx.set_output(0, Tensor::Scalar<T>(One(x.scalar<T>())));
      return absl::OkStatus();
    }
    return RunUnary(ctx, {BestRow(), DTypeOf<T>, sizeof(T), sizeof(T)});
  }
};

// z = F(x, y).
template <typename F, typename T, bool kBroadcast = true>
struct Binary {
  static constexpr bool kBroadcasts = kBroadcast;
  using C = ComputeType<T>;
  using R = internal::ResultType<decltype(F::Apply(C(), C())), T>;
  // An operand at hand: a copy in a register, save for strings.
  using Held = std::conditional_t<std::is_same_v<T, std::string>, const C&, const C>;

  static bool Scalar(const void* const* inputs, void* output) noexcept
    requires(!std::is_same_v<T, std::string>)
  {
    const C a = static_cast<C>(*static_cast<const T*>(inputs[0]));
    const C b = static_cast<C>(*static_cast<const T*>(inputs[1]));
    if constexpr (internal::HasValid<F, C>) {
      if (!F::Valid(a, b)) return false;
    }
    *static_cast<R*>(output) = static_cast<R>(F::Apply(a, b));
    return true;
  }

  template <bool kScalarX, bool kScalarY>
  static bool Stretch(const T* x, const T* y, R* z, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      Held a = static_cast<Held>(x[kScalarX ? 0 : i]);
      Held b = static_cast<Held>(y[kScalarY ? 0 : i]);
      if constexpr (internal::HasValid<F, C>) {
        if (!F::Valid(a, b)) return false;
      }
      z[i] = static_cast<R>(F::Apply(a, b));
    }
    return true;
  }

  static bool Row(const void* xs, const void* ys, void* zs, int64_t n, Operands operands) {
    const T* x = static_cast<const T*>(xs);
    const T* y = static_cast<const T*>(ys);
    R* z = static_cast<R*>(zs);
    switch (operands) {
      case Operands::kScalarX:
        return Stretch<true, false>(x, y, z, n);
      case Operands::kScalarY:
        return Stretch<false, true>(x, y, z, n);
      default:
        return Stretch<false, false>(x, y, z, n);
    }
  }

  static BinaryRow BestRow() {
    static const BinaryRow row = [] {
      BinaryRow found = nullptr;
      if constexpr (internal::HasVectorCode<F>) found = simd::FindRow(F::kVector, DTypeOf<T>);
      return found != nullptr ? found : &Row;
    }();
    return row;
  }
  static bool Rows(const void*, const void* const* inputs, size_t, uint32_t repeated, void* output,
                   int64_t n) {
    const Operands operands = repeated == 1   ? Operands::kScalarX
                              : repeated == 2 ? Operands::kScalarY
                                              : Operands::kVectors;
    return BestRow()(inputs[0], inputs[1], output, n, operands);
  }

  static absl::Status Run(KernelContext& ctx) {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    if (x.shape().IsScalar() && y.shape().IsScalar()) {
      Held a = static_cast<Held>(x.scalar<T>());
      Held b = static_cast<Held>(y.scalar<T>());
      if constexpr (internal::HasValid<F, C>) {
        if (!F::Valid(a, b)) return absl::InvalidArgumentError(F::kError);
      }
      ctx.set_output(0, Tensor::Scalar<R>(static_cast<R>(F::Apply(a, b))));
      return absl::OkStatus();
    }
    const BinaryCall call = {BestRow(), DTypeOf<R>, sizeof(T), sizeof(R), internal::ErrorOf<F>()};
    return kBroadcast ? RunBinary(ctx, call) : RunBinarySameShape(ctx, call);
  }
};

// The row that adds two stretches of numbers of `dtype`; null when they have no sum. Implemented in
// arithmetic.cc.
BinaryRow AddRow(DType dtype);

// Lists of types for schemas, and the registration of ops whose schema is the common one.
inline constexpr absl::string_view kSignedTypes =
    "{bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}";
inline constexpr absl::string_view kAnyNumberTypes =
    "{bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, uint32, uint64, "
    "complex64, complex128}";
inline constexpr absl::string_view kFloatAndComplexTypes =
    "{bfloat16, half, float, double, complex64, complex128}";
inline constexpr absl::string_view kFloatTypes = "{bfloat16, half, float, double}";

using FloatAndComplexTypes = Types<float, double, Half, BFloat16, complex64, complex128>;
using SignedTypes =
    Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, complex64, complex128>;

// `name(x: T) -> y: T {T: types}`, pure and elementwise; its kernel never fails.
void AddUnaryOp(OpRegistry& ops, absl::string_view name, std::vector<absl::string_view> api,
                absl::string_view types, absl::string_view doc, KernelFactory kernel,
                Gradient gradient = {}, SimplifyFn simplify = nullptr);

// Broadcasts; and where x and y are scalars that are known sizes, so is the result: compute(x, y).
absl::Status BroadcastOfSizes(ShapeContext& c, int64_t (*compute)(int64_t x, int64_t y));

// Further rules of a binary op.
struct BinaryRules {
  bool commutative = false;
  SimplifyFn simplify = nullptr;
  FailureFn failure = fails::ByShapes;
  Role role = Role::kOther;
  ShapeFn shape = nullptr;  // broadcasts
};
// `name(x: T, y: T) -> z: T {T: types}`, pure and elementwise, broadcasting.
void AddBinaryOp(OpRegistry& ops, absl::string_view name, std::vector<absl::string_view> api,
                 absl::string_view types, absl::string_view doc, KernelFactory kernel,
                 Gradient gradient = {}, BinaryRules rules = {});

}  // namespace gyre
