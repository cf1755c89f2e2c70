// Truth values. They are stored as bytes and read as such: any byte but 0 is true.
#include "ir/shape_context.h"
#include "ir/simplify_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

struct AndFn {
  static bool Apply(uint8_t x, uint8_t y) { return (x != 0) & (y != 0); }
};

struct OrFn {
  static bool Apply(uint8_t x, uint8_t y) { return (x | y) != 0; }
};

struct NotFn {
  static bool Apply(uint8_t x) { return x == 0; }
};

// `neutral` and x is x; the other value wins, where it has the result's shape.
void Logical(SimplifyContext& s, bool neutral) {
  for (const int i : {0, 1}) {
    const Tensor* constant = s.constant(i);
    const Endpoint other = s.input(1 - i);
    if (constant == nullptr || !constant->shape().IsScalar()) continue;
    if (constant->scalar<bool>() == neutral) return s.Replace(0, other);
    const PartialShape shape = s.ShapeOf(other);
    if (shape.has_rank() && shape.rank() == 0 && s.IsFree(other)) return s.Replace(0, s.input(i));
  }
}

void AndSimplify(SimplifyContext& s) { Logical(s, true); }
void OrSimplify(SimplifyContext& s) { Logical(s, false); }

}  // namespace

void RegisterLogical(OpRegistry& ops) {
  ops.Add({.schema = "LogicalAnd(x: bool, y: bool) -> z: bool",
           .doc = "x and y.",
           .api = {"math.logical_and", "logical_and"},
           .traits = {.elementwise = true, .commutative = true},
           .shape = shape::Broadcast,
           .gradient = NotDifferentiable("the result is bool"),
           .simplify = AndSimplify,
           .failure = fails::ByShapes,
           .kernel = ComputeBy<Binary<AndFn, uint8_t>>()});
  ops.Add({.schema = "LogicalOr(x: bool, y: bool) -> z: bool",
           .doc = "x or y.",
           .api = {"math.logical_or", "logical_or"},
           .traits = {.elementwise = true, .commutative = true},
           .shape = shape::Broadcast,
           .gradient = NotDifferentiable("the result is bool"),
           .simplify = OrSimplify,
           .failure = fails::ByShapes,
           .kernel = ComputeBy<Binary<OrFn, uint8_t>>()});
  ops.Add({.schema = "LogicalNot(x: bool) -> y: bool",
           .doc = "not x.",
           .api = {"math.logical_not", "logical_not"},
           .traits = {.elementwise = true},
           .shape = shape::SameAsInput,
           .gradient = NotDifferentiable("the result is bool"),
           .simplify = simplify::Involution,
           .failure = fails::Never,
           .kernel = ComputeBy<Unary<NotFn, uint8_t>>()});
}

}  // namespace gyre
