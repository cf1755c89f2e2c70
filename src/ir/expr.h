// Expr: an expression over nodes, for code that writes programs as formulas (gradient rules).
//
//   ExprBuilder b(function_builder);
//   const Expr x = b.At(endpoint);
//   const Expr y = 2.0 * b.Op("Sin", {x}) + x * x;
//   GYRE_RETURN_IF_ERROR(b.status());
//
// A mistake (an op that does not exist, types that do not fit) is remembered by the builder, the
// first one only; what is computed from it is an invalid Expr, of which more may be computed. Exprs
// are cheap to copy and good as long as their builder is. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gyre/core/export.h"
#include "ir/builder.h"

namespace gyre {

class ExprBuilder;

class GYRE_EXPORT Expr {
 public:
  Expr() = default;

  // False for one that was not set, and for what follows from a mistake.
  bool ok() const { return endpoint_.node >= 0; }
  Endpoint endpoint() const { return endpoint_; }
  // Requirement for both: made by a builder.
  DType dtype() const;
  ExprBuilder& builder() const { return *builder_; }

 private:
  friend class ExprBuilder;
  Expr(ExprBuilder* builder, Endpoint endpoint) : builder_(builder), endpoint_(endpoint) {}

  ExprBuilder* builder_ = nullptr;
  Endpoint endpoint_;
};

class GYRE_EXPORT ExprBuilder {
 public:
  // `function` must outlive the builder and its Exprs.
  explicit ExprBuilder(FunctionBuilder& function) : function_(function) {}

  // What the nodes to come have beside inputs and attributes; each is named `prefix` and its op.
  struct Style {
    std::string prefix;
    std::string device;
    std::string source;
  };
  void set_style(Style style) { style_ = std::move(style); }

  Expr At(Endpoint e) { return Expr(this, e); }
  // The first output of a new node; attributes that the inputs tell may be left out.
  Expr Op(absl::string_view op, const std::vector<Expr>& inputs, AttrMap attrs = {});
  // All outputs. As many as the op has; invalid ones after a mistake, then `if_invalid` of them.
  std::vector<Expr> Ops(absl::string_view op, const std::vector<Expr>& inputs, AttrMap attrs = {},
                        int if_invalid = 1);
  Expr Constant(const Tensor& value);
  // A scalar of a numeric type; integers take the nearest integral part. A mistake for other types.
  Expr Scalar(DType dtype, double value);
  Expr Zero(DType dtype) { return Scalar(dtype, 0); }
  // int32: a scalar, a vector.
  Expr Int(int32_t value);
  Expr Ints(absl::Span<const int32_t> values);

  void Fail(absl::Status status);
  const absl::Status& status() const { return status_; }
  FunctionBuilder& function() { return function_; }

 private:
  FunctionBuilder& function_;
  Style style_;
  absl::Status status_;
};

// Elementwise, with broadcasting; numbers take the type of the other operand.
GYRE_EXPORT Expr operator+(Expr x, Expr y);
GYRE_EXPORT Expr operator-(Expr x, Expr y);
GYRE_EXPORT Expr operator*(Expr x, Expr y);
GYRE_EXPORT Expr operator/(Expr x, Expr y);
GYRE_EXPORT Expr operator-(Expr x);
GYRE_EXPORT Expr operator+(Expr x, double y);
GYRE_EXPORT Expr operator-(Expr x, double y);
GYRE_EXPORT Expr operator-(double x, Expr y);
GYRE_EXPORT Expr operator*(double x, Expr y);
GYRE_EXPORT Expr operator/(Expr x, double y);
GYRE_EXPORT Expr operator/(double x, Expr y);

// The complex conjugate; real numbers as they are.
GYRE_EXPORT Expr Conj(Expr x);
// The parts of a complex number, and the number that is made of them.
GYRE_EXPORT Expr RealPart(Expr x);
GYRE_EXPORT Expr ImagPart(Expr x);
GYRE_EXPORT Expr MakeComplex(Expr real, Expr imag);
// As it is when it has the type.
GYRE_EXPORT Expr Cast(Expr x, DType dtype);
// `axes`: int32 vector or scalar.
GYRE_EXPORT Expr Sum(Expr x, Expr axes, bool keep_dims = false);
// `shape`: int32 or int64 vector.
GYRE_EXPORT Expr Reshape(Expr x, Expr shape);
GYRE_EXPORT Expr ZerosLike(Expr x);
GYRE_EXPORT Expr OnesLike(Expr x);
// The shape of x, an int32 vector. (A rule asks its context, which may know it.)
GYRE_EXPORT Expr ShapeOf(Expr x);
// Elements of `then` where `condition` holds, of `otherwise` elsewhere; all broadcast.
GYRE_EXPORT Expr Where(Expr condition, Expr then, Expr otherwise);
// A tensor of shape `shape` (int32 vector) filled with `value`, a scalar.
GYRE_EXPORT Expr Fill(Expr shape, Expr value);

}  // namespace gyre
