// What the registry knows of ops, as dicts.
#include "ir/attr_kind.h"
#include "ir/op_def.h"
#include "ops/registry.h"
#include "python/attrs.h"
#include "python/dtype.h"
#include "python/execute.h"

namespace gyre::python {
namespace {

nb::dict ArgInfo(const ArgDef& arg) {
  nb::dict info;
  info["name"] = ToStr(arg.name);
  if (arg.dtype != DType::kInvalid) info["dtype"] = ToPython(arg.dtype, arg.is_ref);
  if (!arg.type_attr.empty()) info["type_attr"] = ToStr(arg.type_attr);
  if (!arg.number_attr.empty()) info["number_attr"] = ToStr(arg.number_attr);
  if (!arg.type_list_attr.empty()) info["type_list_attr"] = ToStr(arg.type_list_attr);
  info["doc"] = "";
  return info;
}

nb::dict AttrInfo(const AttrDef& attr) {
  nb::dict info;
  info["name"] = ToStr(attr.name);
  info["type"] = ToStr(attr.is_list ? absl::StrCat("list(", AttrKindName(attr.kind), ")")
                                    : std::string(AttrKindName(attr.kind)));
  if (attr.default_value) info["default"] = ToPython(*attr.default_value);
  nb::list allowed;
  for (const DType dtype : attr.allowed_types) allowed.append(ToPython(dtype));
  for (const std::string& text : attr.allowed_strings) allowed.append(ToStr(text));
  if (nb::len(allowed) > 0) info["allowed"] = allowed;
  if (attr.minimum) info["minimum"] = *attr.minimum;
  info["doc"] = "";
  return info;
}

// The public names of an op.
nb::list Names(const OpDef& op) {
  nb::list names;
  for (const std::string& name : Ops().PublicNames(op.name)) names.append(ToStr(name));
  return names;
}

nb::dict OpInfo(nb::handle name) {
  const OpDef& op = FindOp(TextOf(name, "the name of an op"));
  nb::list inputs, outputs, attrs;
  for (const ArgDef& arg : op.inputs) inputs.append(ArgInfo(arg));
  for (const ArgDef& arg : op.outputs) outputs.append(ArgInfo(arg));
  for (const AttrDef& attr : op.attrs) attrs.append(AttrInfo(attr));
  nb::dict info;
  info["name"] = ToStr(op.name);
  info["doc"] = ToStr(op.doc);
  info["inputs"] = inputs;
  info["outputs"] = outputs;
  info["attrs"] = attrs;
  info["api"] = Names(op);
  info["elementwise"] = op.traits.elementwise;
  info["stateful"] = op.stateful();
  return info;
}

nb::list OpNames() {
  nb::list names;
  for (const OpDef* op : Ops().All()) names.append(ToStr(op->name));
  return names;
}

// Of the built-in ops: what a plug-in brings has no public names.
nb::dict PublicNames() {
  nb::dict found;
  for (const OpDef* op : Ops().Own()) {
    const nb::list names = Names(*op);
    if (nb::len(names) > 0) found[ToStr(op->name)] = names;
  }
  return found;
}

}  // namespace

void BindOpInfo(nb::module_& m) {
  m.def("op_info", &OpInfo, nb::arg("op"), "Inputs, outputs and attributes of an op.");
  m.def("public_names", &PublicNames, "Of each op with a public function: its names.");
  m.def("op_names", &OpNames, "The names of all ops.");
}

}  // namespace gyre::python
