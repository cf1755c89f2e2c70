// Truth values. They are stored as bytes and read as such: any byte but 0 is true.
#include "ir/shape_context.h"
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

}  // namespace

void RegisterLogical(OpRegistry& ops) {
  ops.Add({.schema = "LogicalAnd(x: bool, y: bool) -> z: bool",
           .doc = "x and y.",
           .traits = {.elementwise = true, .commutative = true},
           .shape = shape::Broadcast,
           .gradient = NotDifferentiable("the result is bool"),
           .kernel = Compute<&Binary<AndFn, uint8_t>::Run>()});
  ops.Add({.schema = "LogicalOr(x: bool, y: bool) -> z: bool",
           .doc = "x or y.",
           .traits = {.elementwise = true, .commutative = true},
           .shape = shape::Broadcast,
           .gradient = NotDifferentiable("the result is bool"),
           .kernel = Compute<&Binary<OrFn, uint8_t>::Run>()});
  ops.Add({.schema = "LogicalNot(x: bool) -> y: bool",
           .doc = "not x.",
           .traits = {.elementwise = true},
           .shape = shape::SameAsInput,
           .gradient = NotDifferentiable("the result is bool"),
           .kernel = Compute<&Unary<NotFn, uint8_t>::Run>()});
}

}  // namespace gyre
