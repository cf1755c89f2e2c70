// Attributes of ops as Python writes and reads them.
#pragma once

#include "ir/attr.h"
#include "ir/op_def.h"
#include "python/python.h"

namespace gyre::python {

// A Python value as the schema wants it. TypeError, which names op and attribute, where it is none.
AttrValue ToAttr(const OpDef& op, const AttrDef& def, nb::handle value);
// A dict, or None. TypeError for names that the schema does not have (save "_…").
AttrMap ToAttrs(const OpDef& op, nb::handle attrs);

// int, float, bool, bytes -> str, DType, dims, Tensor, a function's name, lists; None for no value.
nb::object ToPython(const AttrValue& value);
nb::dict ToPython(const AttrMap& attrs);

}  // namespace gyre::python
