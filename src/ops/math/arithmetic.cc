// Sums, differences, products. Integers wrap around, as two's complement does.
#include <complex>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ir/simplify_context.h"
#include "ops/math/broadcast.h"
#include "ops/math/elementwise.h"
#include "ops/mover.h"

namespace gyre {
namespace {

// Integers are computed as unsigned of at least 32 bits: no overflow is undefined there, nor in a
// promotion to int.
template <typename T>
auto Wrapping(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::make_unsigned_t<std::common_type_t<T, int>>>(x);
  } else {
    return x;
  }
}

struct AddFn {
  static constexpr simd::ArithmeticOp kVector = simd::ArithmeticOp::kAdd;
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(Wrapping(x) + Wrapping(y));
  }
};

struct SubFn {
  static constexpr simd::ArithmeticOp kVector = simd::ArithmeticOp::kSub;
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(Wrapping(x) - Wrapping(y));
  }
};

struct MulFn {
  static constexpr simd::ArithmeticOp kVector = simd::ArithmeticOp::kMul;
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(Wrapping(x) * Wrapping(y));
  }
};

struct SquaredDifferenceFn {
  template <typename T>
  static T Apply(T x, T y) {
    return MulFn::Apply(SubFn::Apply(x, y), SubFn::Apply(x, y));
  }
  // |x - y|², which is real.
  template <typename R>
  static std::complex<R> Apply(std::complex<R> x, std::complex<R> y) {
    return (x - y) * std::conj(x - y);
  }
};

struct SquareFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kSquare;
  template <typename T>
  static T Apply(T x) {
    return MulFn::Apply(x, x);
  }
};

template <typename T>
using AddKernel = Binary<AddFn, T>;
template <typename T>
using SubKernel = Binary<SubFn, T>;
template <typename T>
using MulKernel = Binary<MulFn, T>;
template <typename T>
using SquaredDifferenceKernel = Binary<SquaredDifferenceFn, T>;
template <typename T>
using SquareKernel = Unary<SquareFn, T>;

absl::Status JoinStrings(KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  const Tensor& y = ctx.input(1);
  GYRE_ASSIGN_OR_RETURN(const BroadcastPlan plan, PlanBroadcast({&x.shape(), &y.shape()}));
  GYRE_ASSIGN_OR_RETURN(Tensor z, ctx.Allocate(DType::kString, plan.shape));
  if (plan.shape.num_elements() > 0) {
    Mover<std::string> mover(ctx, z);
    const BroadcastPlan::Offsets strides = plan.dims.back().strides;
    const std::string* xs = x.values<std::string>().data();
    const std::string* ys = y.values<std::string>().data();
    std::string* zs = z.mutable_values<std::string>().data();
    GYRE_RETURN_IF_ERROR(
        ctx.ParallelRun(plan.shape.num_elements(), 1024, [&](int64_t begin, int64_t end) {
          ForEachStretch(plan, begin, end,
                         [&](const BroadcastPlan::Offsets& from, int64_t to, int64_t n) {
                           for (int64_t i = 0; i < n; ++i) {
                             const std::string& x_text = xs[from[0] + i * strides[0]];
                             const std::string& y_text = ys[from[1] + i * strides[1]];
                             if (mover.AdmitSize(x_text.size() + y_text.size()))
                               zs[to + i] = absl::StrCat(x_text, y_text);
                           }
                         });
        }));
    GYRE_RETURN_IF_ERROR(mover.status());
  }
  ctx.set_output(0, std::move(z));
  return absl::OkStatus();
}

absl::StatusOr<Kernel> MakeAdd(const Node& node) {
  if (NodeAttr<DType>(node, "T") == DType::kString) return Compute<&JoinStrings>()(node);
  return ForTypes<AddKernel, NumberTypes>("T")(node);
}

void AddGradient(GradientContext& g) {
  g.AddBroadcast(0, g.grad());
  g.AddBroadcast(1, g.grad());
}

void SubGradient(GradientContext& g) {
  g.AddBroadcast(0, g.grad());
  if (g.wants(1)) g.AddBroadcast(1, -g.grad());
}

void MulGradient(GradientContext& g) {
  if (g.wants(0)) g.AddBroadcast(0, g.grad() * Conj(g.input(1)));
  if (g.wants(1)) g.AddBroadcast(1, g.grad() * Conj(g.input(0)));
}

// Of complex numbers the result is real, so the imaginary part of its gradient counts for nothing.
void SquaredDifferenceGradient(GradientContext& g) {
  if (!g.wants(0) && !g.wants(1)) return;
  const bool is_complex = IsComplex(g.output_dtype(0));
  const Expr grad = is_complex ? Cast(RealPart(g.grad()), g.output_dtype(0)) : g.grad();
  const Expr to_x = 2.0 * grad * (g.input(0) - g.input(1));
  g.AddBroadcast(0, to_x);
  if (g.wants(1)) g.AddBroadcast(1, -to_x);
}

void AddSimplify(SimplifyContext& s) {
  const double zero = IsFloating(s.output_dtype(0)) ? -0.0 : 0.0;
  if (!simplify::IfNeutral(s, 1, zero)) simplify::IfNeutral(s, 0, zero);
}

void SubSimplify(SimplifyContext& s) { simplify::IfNeutral(s, 1, 0.0); }

void MulSimplify(SimplifyContext& s) {
  if (!simplify::IfNeutral(s, 1, 1.0)) simplify::IfNeutral(s, 0, 1.0);
}

}  // namespace

BinaryRow AddRow(DType dtype) {
  BinaryRow row = nullptr;
  VisitType<NumberTypes>(dtype, [&](auto tag) {
    row = Binary<AddFn, typename decltype(tag)::type>::BestRow();
    return absl::OkStatus();
  }).IgnoreError();
  return row;
}

void RegisterArithmetic(OpRegistry& ops) {
  ops.Add({.schema = "Add(x: T, y: T) -> z: T {T: {bfloat16, half, float, double, uint8, int8, "
                     "int16, int32, int64, "
                     "complex64, complex128, string}}",
           .doc = "x + y; strings are joined.",
           .traits = {.elementwise = true, .role = Role::kSum},
           .shape = shape::Broadcast,
           .gradient = {AddGradient},
           .simplify = AddSimplify,
           .failure = fails::ByShapes,
           .kernel = MakeAdd});
  ops.Add(
      {.schema = absl::StrCat("AddV2(x: T, y: T) -> z: T {T: ", kAnyNumberTypes, "}"),
       .doc = "x + y.",
       .api = {"math.add", "add"},
       .traits = {.elementwise = true, .commutative = true, .aggregate = true, .role = Role::kSum},
       .shape =
           [](ShapeContext& c) {
             return BroadcastOfSizes(c, [](int64_t x, int64_t y) { return x + y; });
           },
       .gradient = {AddGradient},
       .simplify = AddSimplify,
       .failure = fails::ByShapes,
       .kernel = ForTypes<AddKernel, NumberTypes>("T")});
  AddBinaryOp(ops, "Sub", {"math.subtract", "subtract", "compat.v1.sub"}, kAnyNumberTypes, "x - y.",
              ForTypes<SubKernel, NumberTypes>("T"), {SubGradient},
              {.simplify = SubSimplify, .role = Role::kDifference, .shape = [](ShapeContext& c) {
                 return BroadcastOfSizes(c, [](int64_t x, int64_t y) { return x - y; });
               }});
  AddBinaryOp(
      ops, "Mul",
      {"math.multiply", "multiply", "math.scalar_mul", "compat.v1.mul", "compat.v1.scalar_mul"},
      kAnyNumberTypes, "x * y.", ForTypes<MulKernel, NumberTypes>("T"), {MulGradient},
      {.commutative = true, .simplify = MulSimplify, .shape = [](ShapeContext& c) {
         return BroadcastOfSizes(c, [](int64_t x, int64_t y) { return x * y; });
       }});
  AddBinaryOp(
      ops, "SquaredDifference", {"math.squared_difference", "compat.v1.squared_difference"},
      "{bfloat16, half, float, double, int32, int64, complex64, complex128}",
      "(x - y)², of complex numbers |x - y|².",
      ForTypes<SquaredDifferenceKernel,
               Types<float, double, Half, BFloat16, int32_t, int64_t, complex64, complex128>>("T"),
      {SquaredDifferenceGradient}, {.commutative = true});
  AddUnaryOp(ops, "Square", {"math.square", "square"},
             "{bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, "
             "uint64, complex64, "
             "complex128}",
             "x * x.", ForTypes<SquareKernel, NumberTypes>("T"),
             {[](GradientContext& g) { g.Add(0, g.grad() * (2.0 * Conj(g.input(0)))); }});
}

}  // namespace gyre
