// Ops of one's own: schema, shape rule and gradient rule, as Gyre's own ops have them, in a
// plug-in. Lesson 8 (docs/lessons) is one, from end to end; ops/plugin.h has the outline.
//
// - A schema is a line of text: ParseOpSchema (ir/op_def.h) says how it is written.
// - A shape rule says what is known of the outputs before the op runs (ir/shape_context.h);
//   `shape::SameAsInput` and its neighbours serve many ops.
// - A gradient rule writes the gradient of each input as ordinary nodes (ir/gradient_context.h), so
//   that it is differentiated again by itself; or `NotDifferentiable("why")`.
// - A kernel computes it. KernelContext (ops/kernel.h) is what it sees of a run; it runs on any
//   thread, many at once. `Compute<Fn>()` and `ForTypes<Kernel, Types>("T")` (ops/dispatch.h) make
//   of a function what a registration takes:
//
//     absl::Status Cube(gyre::KernelContext& ctx) {
//       GYRE_ASSIGN_OR_RETURN(gyre::Tensor y,
//                             ctx.ReuseOrAllocate(0, ctx.output_dtype(0), ctx.input(0).shape()));
//       const auto x = ctx.input(0).values<float>();
//       const auto out = y.mutable_values<float>();
//       for (size_t i = 0; i < out.size(); ++i) out[i] = x[i] * x[i] * x[i];
//       ctx.set_output(0, std::move(y));
//       return absl::OkStatus();
//     }
//
// The op is called by its name (gyre::call_op in gyre/graph.h) or stands in a graph that is loaded.
// Plug-ins are loaded by gyre::load_plugin (gyre/graph.h), LoadPlugin, or `gyre run --plugin FILE`.
#pragma once

#include "ir/gradient_context.h"  // IWYU pragma: export
#include "ir/op_def.h"            // IWYU pragma: export
#include "ir/shape_context.h"     // IWYU pragma: export
#include "ops/dispatch.h"         // IWYU pragma: export
#include "ops/kernel.h"           // IWYU pragma: export
#include "ops/plugin.h"           // IWYU pragma: export
#include "ops/registry.h"         // IWYU pragma: export
