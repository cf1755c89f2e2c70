// The text form of programs, for people to read and for ParseProgram to read back.
//
//   program producer=2474 min_consumer=12
//
//   graph {
//     %x = Placeholder() shape=(2,?) : float32
//     %n = Const() value=int32{10} : int32
//     %loop = While(%n, %x, ^%x) body=@step cond=@less parallel_iterations=32 : (int32, float32)
//     %y = Identity(%loop:1) : float32 on "/cpu:0"
//   }
//
//   func @step(%i: int32[], %x: float32) -> (i: int32, x: float32) {
//     %one = Const() value=int32{1} : int32
//     %next = Sub(%i, %one) : int32
//     return %next, %x
//   }
//
// A node is its name, op, inputs (%name:slot, ^%name for a control input), attributes, types of its
// outputs (a Ref type ends in &), and, where there are any, device, source line and wire_extra.
// Names of other characters than letters, digits and _ . - / stand in quotes. Left out is what the
// reader can tell: attributes that have the schema's default, and those that the types of inputs
// and outputs determine. Values are written as ir/text/literal.h says.
#pragma once

#include <functional>
#include <string>

#include "base/internal_export.h"
#include "gyre/core/shape.h"
#include "ir/program.h"
#include "ir/text/tensor.h"

namespace gyre {

struct PrintOptions {
  // Cutting values short makes text that cannot be read back.
  LiteralOptions literals;
  // Whether fields of the wire that Gyre does not read are printed, so that reading the text back
  // restores them.
  bool wire_extra = true;
  // Shapes to be shown beside the types; null: none. They are comments: the reader skips them.
  std::function<PartialShape(const Function& function, Endpoint e)> shape_of;
};

GYRE_INTERNAL_EXPORT std::string PrintProgram(const Program& program,
                                              const PrintOptions& options = {});
// One `graph { … }` or `func @name … { … }` block. Requirement: edges lead to existing nodes.
std::string PrintFunction(const Function& function, const PrintOptions& options = {});
// One line, without the line end.
std::string PrintNode(const Function& function, NodeId node, const PrintOptions& options = {});

}  // namespace gyre
