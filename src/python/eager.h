// Ops that run at once: an op with given attributes and types is looked up once, then its kernel is
// called directly.
#pragma once

#include <memory>

#include "absl/types/span.h"
#include "gyre/debug.h"
#include "ir/program.h"
#include "ops/kernel.h"
#include "python/python.h"

namespace gyre::python {

// Made once, then immutable, save `attrs`.
struct EagerOp {
  Node node;
  Kernel kernel;
  AttrMap given;          // the attributes it was asked for with
  bool is_quick = false;  // takes so little time on small inputs that the GIL need not be released
  bool is_random = false;
  nb::object attrs;  // all of them as a dict, once somebody has asked
};

// The op for inputs of these types. `given` may leave out what the inputs tell. UNIMPLEMENTED,
// thrown, for ops that run only in graphs. Kept for ever where `is_cached`, if it is not null, is
// set to true.
std::shared_ptr<EagerOp> FindEagerOp(const OpDef& op, absl::Span<const Tensor> inputs,
                                     AttrMap given, bool* is_cached = nullptr);

// Runs it. `inputs` may be consumed; `outputs` are as many as the node has, without values. Throws
// what goes wrong. Releases the GIL while it runs if that may take long; Ctrl-C ends it then.
void RunEagerOp(const EagerOp& op, absl::Span<Tensor> inputs, absl::Span<Tensor> outputs);

// Whether ops and graphs that this thread runs fail where they make a NaN or an infinity, and what
// watches runs for that; null: nothing does.
void SetNanTrap(bool is_on);
NanTrap* TheNanTrap();

}  // namespace gyre::python
