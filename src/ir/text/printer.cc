#include "ir/text/printer.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/work.h"
#include "ir/text/arg.h"
#include "ir/text/literal.h"
#include "ir/text/reader.h"
#include "ir/type_attrs.h"

namespace gyre {
namespace {

using Slot = NodeSignature::Slot;

class FunctionPrinter {
 public:
  FunctionPrinter(const Function& function, const PrintOptions& options)
      : function_(function), options_(options) {}

  std::string Print(absl::string_view keyword) const {
    std::string out(keyword);
    if (!function_.name.empty()) absl::StrAppend(&out, " @", WriteName(function_.name));
    const bool has_signature =
        !function_.name.empty() || !function_.args.empty() || !function_.results.empty();
    if (has_signature) absl::StrAppend(&out, "(", Args(), ") -> (", Results(), ")");
    out += " {\n";
    if (!function_.doc.empty()) absl::StrAppend(&out, "  doc ", WriteQuoted(function_.doc), "\n");
    if (function_.stateful) out += "  stateful\n";
    if (options_.wire_extra && !function_.wire_extra.empty()) {
      absl::StrAppend(&out, "  wire ", WriteQuoted(function_.wire_extra), "\n");
    }
    for (const auto& [name, value] : function_.attrs)
      absl::StrAppend(&out, "  attr ", Attr(name, value), "\n");
    for (size_t i = ArgsArePlain() ? function_.args.size() : 0; i < function_.nodes.size(); ++i) {
      const std::string line = PrintNode(function_.nodes[i]);
      SpendWork(1 + static_cast<int64_t>(function_.nodes[i].inputs.size()));
      SpendWorkMemory(static_cast<int64_t>(line.size()));
      absl::StrAppend(&out, "  ", line, "\n");
    }
    return absl::StrCat(out, Return(), "}\n");
  }

  std::string PrintNode(const Node& node) const {
    std::string out = absl::StrCat("%", WriteName(node.name), " = ", WriteName(node.op_name), "(");
    std::vector<std::string> inputs;
    for (const Endpoint& e : node.inputs) inputs.push_back(Value(e));
    for (const NodeId id : node.control_inputs) inputs.push_back(absl::StrCat("^", Value({id, 0})));
    absl::StrAppend(&out, absl::StrJoin(inputs, ", "), ")");
    for (const auto& [name, value] : TelltaleAttrs(node))
      absl::StrAppend(&out, " ", Attr(name, value));
    if (!node.signature.outputs.empty()) absl::StrAppend(&out, " : ", Types(node));
    if (!node.device.empty()) absl::StrAppend(&out, " on ", WriteQuoted(node.device));
    if (!node.source.empty()) absl::StrAppend(&out, " at ", WriteQuoted(node.source));
    if (options_.wire_extra && !node.wire_extra.empty()) {
      absl::StrAppend(&out, " wire ", WriteQuoted(node.wire_extra));
    }
    return out;
  }

 private:
  std::string Value(Endpoint e) const {
    const std::string name = WriteName(function_.node(e.node).name);
    return e.slot == 0 ? absl::StrCat("%", name) : absl::StrCat("%", name, ":", e.slot);
  }

  std::string Attr(absl::string_view name, const AttrValue& value) const {
    return absl::StrCat(WriteName(name), "=", WriteAttrValue(value, options_.literals));
  }

  static std::string Type(DType dtype, bool is_ref, const PartialShape& shape) {
    std::string out = WriteDType(dtype);
    if (shape.has_rank()) absl::StrAppend(&out, "[", WriteDims(shape), "]");
    return is_ref ? out + "&" : out;
  }

  std::string Types(const Node& node) const {
    std::vector<std::string> types;
    for (int i = 0; i < node.num_outputs(); ++i) {
      const Slot& slot = node.signature.outputs[i];
      const PartialShape shape =
          options_.shape_of ? options_.shape_of(function_, {node.id, i}) : PartialShape::Unknown();
      types.push_back(Type(slot.dtype, slot.is_ref, shape));
    }
    return types.size() == 1 ? types[0] : absl::StrCat("(", absl::StrJoin(types, ", "), ")");
  }

  // The attributes that the reader could not tell by itself.
  AttrMap TelltaleAttrs(const Node& node) const {
    if (node.op == nullptr || IsGeneric(node)) return node.attrs;
    std::vector<Slot> inputs;
    for (const Endpoint& e : node.inputs) {
      const std::vector<Slot>& outputs = function_.node(e.node).signature.outputs;
      const bool exists = e.slot >= 0 && static_cast<size_t>(e.slot) < outputs.size();
      inputs.push_back(exists ? outputs[e.slot] : Slot());
    }
    const AttrMap deduced = DeduceTypeAttrs(*node.op, inputs, node.signature.outputs);
    AttrMap telltale;
    for (const auto& [name, value] : node.attrs) {
      const AttrDef* def = node.op->FindAttr(name);
      const AttrValue* assumed = deduced.Find(name);
      if (assumed == nullptr && def != nullptr && def->default_value)
        assumed = &*def->default_value;
      if (assumed != nullptr && AttrEquals(*assumed, value)) continue;
      // The schema tells of which kind an empty list is.
      const bool is_empty_list = def != nullptr && def->is_list && IsEmptyList(value);
      telltale.Set(name, is_empty_list ? AttrValue(EmptyList()) : value);
    }
    return telltale;
  }

  static bool IsEmptyList(const AttrValue& value) {
    return std::visit(
        []<typename T>(const T& v) {
          if constexpr (requires {
                          typename T::value_type;
                          v.empty();
                        } && !std::is_same_v<T, std::string>) {
            return v.empty();
          } else {
            return false;
          }
        },
        value);
  }

  // Whether each argument's node stands where a reader of `%name: type` would put it.
  bool ArgsArePlain() const {
    for (size_t i = 0; i < function_.args.size(); ++i) {
      const NodeId id = static_cast<NodeId>(i);
      if (i >= function_.arg_nodes.size() || function_.arg_nodes[i] != id ||
          i >= function_.nodes.size())
        return false;
      if (!IsPlainArg(function_.nodes[i], PlainArgNode(nullptr, id, function_.args[i])))
        return false;
    }
    return true;
  }

  static bool IsPlainArg(const Node& node, const Node& plain) {
    return node.op != nullptr && node.op_name == plain.op_name && node.name == plain.name &&
           node.inputs.empty() && node.control_inputs.empty() && node.device.empty() &&
           node.source.empty() && node.wire_extra.empty() && node.signature.inputs.empty() &&
           node.signature.outputs == plain.signature.outputs &&
           std::equal(node.attrs.begin(), node.attrs.end(), plain.attrs.begin(), plain.attrs.end(),
                      [](const AttrMap::Entry& a, const AttrMap::Entry& b) {
                        return a.first == b.first && AttrEquals(a.second, b.second);
                      });
  }

  std::string Args() const {
    const bool plain = ArgsArePlain();
    std::vector<std::string> args;
    for (size_t i = 0; i < function_.args.size(); ++i) {
      const FunctionArg& arg = function_.args[i];
      std::string out = absl::StrCat(plain ? "%" : "", WriteName(arg.name), ": ",
                                     Type(arg.dtype, arg.is_ref, arg.shape));
      if (!arg.attrs.empty())
        absl::StrAppend(&out, " {", WriteAttrs(arg.attrs, options_.literals), "}");
      if (!plain) absl::StrAppend(&out, " = ", Value({function_.arg_nodes[i], 0}));
      args.push_back(std::move(out));
    }
    return absl::StrJoin(args, ", ");
  }

  std::string Results() const {
    return absl::StrJoin(
        function_.results, ", ", [](std::string* out, const FunctionResult& result) {
          absl::StrAppend(out, WriteName(result.name), ": ", WriteDType(result.dtype));
        });
  }

  std::string Return() const {
    std::vector<std::string> values;
    for (const FunctionResult& result : function_.results) values.push_back(Value(result.value));
    for (const auto& [name, id] : function_.control_results) {
      const bool same_name = name == function_.node(id).name;
      values.push_back(absl::StrCat("^", Value({id, 0}), same_name ? "" : " as ",
                                    same_name ? "" : WriteName(name)));
    }
    return values.empty() ? "" : absl::StrCat("  return ", absl::StrJoin(values, ", "), "\n");
  }

  const Function& function_;
  const PrintOptions& options_;
};

}  // namespace

std::string PrintProgram(const Program& program, const PrintOptions& options) {
  std::string out;
  const bool has_extra = options.wire_extra && !program.wire_extra().empty();
  if (program.producer() != 0 || program.min_consumer() != 0 || has_extra) {
    out = "program";
    if (program.producer() != 0) absl::StrAppend(&out, " producer=", program.producer());
    if (program.min_consumer() != 0)
      absl::StrAppend(&out, " min_consumer=", program.min_consumer());
    if (has_extra) absl::StrAppend(&out, " wire ", WriteQuoted(program.wire_extra()));
    out += "\n\n";
  }
  for (const auto& [function, gradient] : program.gradient_functions()) {
    absl::StrAppend(&out, "gradient @", WriteName(function), " = @", WriteName(gradient), "\n");
  }
  if (!program.gradient_functions().empty()) out += "\n";
  out += FunctionPrinter(program.main(), options).Print("graph");
  for (const auto& [name, function] : program.functions()) {
    absl::StrAppend(&out, "\n", FunctionPrinter(*function, options).Print("func"));
  }
  return out;
}

std::string PrintFunction(const Function& function, const PrintOptions& options) {
  return FunctionPrinter(function, options).Print(function.name.empty() ? "graph" : "func");
}

std::string PrintNode(const Function& function, NodeId node, const PrintOptions& options) {
  return FunctionPrinter(function, options).PrintNode(function.node(node));
}

}  // namespace gyre
