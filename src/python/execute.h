// execute(): one op, at once or as a node of the graph that is current.
#pragma once

#include <optional>

#include "absl/types/span.h"
#include "ir/attr.h"
#include "ir/op_def.h"
#include "python/python.h"
#include "python/tensor.h"

namespace gyre::python {

// NOT_FOUND, thrown, when there is none.
const OpDef& FindOp(absl::string_view name);

// One object per formal input: a Tensor, what becomes one, or a list of these where the schema says
// so. Returns the outputs, new Tensors.
std::vector<nb::object> Execute(const OpDef& op, absl::Span<const nb::handle> inputs, AttrMap attrs,
                                absl::string_view name = "");
// The same with inputs that may have their dtype already, one after the other; an op has one list
// among its inputs at most.
struct LooseInput {
  nb::handle object;                // a Tensor, or what becomes one
  const Tensor* literal = nullptr;  // instead, where there is one
};
std::vector<nb::object> Execute(const OpDef& op, absl::Span<const LooseInput> inputs, AttrMap attrs,
                                absl::string_view name);
// The first output.
nb::object Execute1(absl::string_view op, std::initializer_list<nb::handle> inputs,
                    AttrMap attrs = {});

// A Tensor of anything, symbolic while a graph is current. TypeError if it has another dtype.
nb::object Convert(nb::handle value, std::optional<DType> dtype = std::nullopt);

// The value of `__gyre_tensor__()` for what has that (variables); the object itself otherwise.
nb::object Unwrapped(nb::handle value);
// Lists with tensors among their elements, at any depth.
bool HoldsTensors(nb::handle list);

// For operands that should have one dtype, and have not. The peer's classes: INVALID_ARGUMENT where
// ops run at once, since an op fails; TypeError where a graph is made, since it cannot be.
[[noreturn]] void ThrowMixedTypes(const std::string& text);

}  // namespace gyre::python
