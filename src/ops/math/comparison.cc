// Comparisons of two tensors: order of real numbers, equality of anything that has a value.
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/math/broadcast.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

struct LessFn {
  static constexpr simd::CompareOp kVector = simd::CompareOp::kLess;
  template <typename T>
  static bool Apply(const T& x, const T& y) {
    return x < y;
  }
};

struct LessEqualFn {
  static constexpr simd::CompareOp kVector = simd::CompareOp::kLessEqual;
  template <typename T>
  static bool Apply(const T& x, const T& y) {
    return x <= y;
  }
};

struct GreaterFn {
  static constexpr simd::CompareOp kVector = simd::CompareOp::kGreater;
  template <typename T>
  static bool Apply(const T& x, const T& y) {
    return x > y;
  }
};

struct GreaterEqualFn {
  static constexpr simd::CompareOp kVector = simd::CompareOp::kGreaterEqual;
  template <typename T>
  static bool Apply(const T& x, const T& y) {
    return x >= y;
  }
};

struct EqualFn {
  static constexpr bool kWhenIncompatible = false;
  static constexpr simd::CompareOp kVector = simd::CompareOp::kEqual;
  template <typename T>
  static bool Apply(const T& x, const T& y) {
    return x == y;
  }
};

struct NotEqualFn {
  static constexpr bool kWhenIncompatible = true;
  static constexpr simd::CompareOp kVector = simd::CompareOp::kNotEqual;
  template <typename T>
  static bool Apply(const T& x, const T& y) {
    return x != y;
  }
};

template <typename T>
using LessKernel = Binary<LessFn, T>;
template <typename T>
using LessEqualKernel = Binary<LessEqualFn, T>;
template <typename T>
using GreaterKernel = Binary<GreaterFn, T>;
template <typename T>
using GreaterEqualKernel = Binary<GreaterEqualFn, T>;

// bool and the quantised types are compared as the integers that they are stored as.
DType StoredAs(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kQuint8:
      return DType::kUint8;
    case DType::kQint8:
      return DType::kInt8;
    case DType::kQint16:
      return DType::kInt16;
    case DType::kQuint16:
      return DType::kUint16;
    case DType::kQint32:
      return DType::kInt32;
    default:
      return dtype;
  }
}

using EquatableTypes =
    Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
          uint32_t, uint64_t, complex64, complex128, std::string>;

template <typename F>
struct EqualityAttrs {
  using Run = absl::Status (*)(KernelContext&);

  static absl::StatusOr<EqualityAttrs> Make(const Node& node) {
    EqualityAttrs attrs;
    attrs.incompatible_shape_error = NodeAttr<bool>(node, "incompatible_shape_error");
    const DType dtype = NodeAttr<DType>(node, "T");
    const absl::Status found = VisitType<EquatableTypes>(StoredAs(dtype), [&](auto tag) {
      attrs.run = &Binary<F, typename decltype(tag)::type>::Run;
      return absl::OkStatus();
    });
    if (!found.ok()) {
      return absl::UnimplementedError(
          absl::StrCat(node.op_name, " does not compare values of type ", DTypeName(dtype)));
    }
    return attrs;
  }

  bool incompatible_shape_error = true;
  Run run = nullptr;
};

template <typename F>
absl::Status Equality(KernelContext& ctx, const EqualityAttrs<F>& attrs) {
  const Shape& x = ctx.input(0).shape();
  const Shape& y = ctx.input(1).shape();
  if (!attrs.incompatible_shape_error && x != y && !shape::BroadcastShapes(x, y).ok()) {
    ctx.set_output(0, Tensor::Scalar<bool>(F::kWhenIncompatible));
    return absl::OkStatus();
  }
  return attrs.run(ctx);
}

// The broadcast shape; a scalar if the shapes don't broadcast and that is allowed.
absl::Status EqualityShape(ShapeContext& c) {
  if (c.attrs().GetOr<bool>("incompatible_shape_error", true)) return shape::Broadcast(c);
  if (!c.input(0).IsFullyKnown() || !c.input(1).IsFullyKnown()) return absl::OkStatus();
  absl::StatusOr<PartialShape> shape = shape::BroadcastShapes(c.input(0), c.input(1));
  c.set_output(0, shape.ok() ? *std::move(shape) : PartialShape::Scalar());
  return absl::OkStatus();
}

void AddOrder(OpRegistry& ops, absl::string_view name, std::vector<absl::string_view> api,
              absl::string_view doc, KernelFactory kernel) {
  ops.Add({.schema = absl::StrCat(name, "(x: T, y: T) -> z: bool {T: realnumbertype}"),
           .doc = doc,
           .api = std::move(api),
           .traits = {.elementwise = true},
           .shape = shape::Broadcast,
           .gradient = NotDifferentiable("the result is bool"),
           .failure = fails::ByShapes,
           .kernel = std::move(kernel)});
}

// Tensors that cannot be broadcast together may be asked for, too.
absl::Status EqualityBatch(BatchContext& c) {
  if (!c.attr<bool>("incompatible_shape_error", true))
    return batch::Refuse("its inputs may be of different shapes");
  return batch::Elementwise(c);
}

template <typename F>
absl::StatusOr<Kernel> MakeEquality(const Node& node) {
  GYRE_ASSIGN_OR_RETURN(Kernel kernel, Compute<&Equality<F>>()(node));
  VisitType<EquatableTypes>(StoredAs(NodeAttr<DType>(node, "T")), [&](auto tag) {
    using K = Binary<F, typename decltype(tag)::type>;
    if constexpr (HasScalarCode<K>) {
      kernel.scalar = &kScalarCode<K>;
      kernel.rows = &kRowCode<K>;
    }
    return absl::OkStatus();
  }).IgnoreError();
  return kernel;
}

void AddEquality(OpRegistry& ops, absl::string_view name, std::vector<absl::string_view> api,
                 absl::string_view doc, KernelFactory kernel) {
  ops.Add({.schema = absl::StrCat(
               name, "(x: T, y: T) -> z: bool {T: type; incompatible_shape_error: bool = true}"),
           .doc = doc,
           .api = std::move(api),
           .traits = {.elementwise = true, .commutative = true},
           .shape = EqualityShape,
           .gradient = NotDifferentiable("the result is bool"),
           .batch = {EqualityBatch},
           .failure = fails::ByShapes,
           .kernel = std::move(kernel)});
}

}  // namespace

void RegisterComparison(OpRegistry& ops) {
  AddOrder(ops, "Less", {"math.less", "less"}, "x < y; false where either is NaN.",
           ForTypes<LessKernel, RealTypes>("T"));
  AddOrder(ops, "LessEqual", {"math.less_equal", "less_equal"},
           "x <= y; false where either is NaN.", ForTypes<LessEqualKernel, RealTypes>("T"));
  AddOrder(ops, "Greater", {"math.greater", "greater"}, "x > y; false where either is NaN.",
           ForTypes<GreaterKernel, RealTypes>("T"));
  AddOrder(ops, "GreaterEqual", {"math.greater_equal", "greater_equal"},
           "x >= y; false where either is NaN.", ForTypes<GreaterEqualKernel, RealTypes>("T"));
  AddEquality(ops, "Equal", {"math.equal", "equal"}, "x == y; false where either is NaN.",
              MakeEquality<EqualFn>);
  AddEquality(ops, "NotEqual", {"math.not_equal", "not_equal"}, "x != y; true where either is NaN.",
              MakeEquality<NotEqualFn>);
}

}  // namespace gyre
