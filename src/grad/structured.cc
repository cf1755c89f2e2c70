#include "grad/structured.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/function_copies.h"
#include "base/status.h"
#include "ir/calls.h"
#include "ops/list/list_rules.h"
#include "passes/edit/interface.h"

namespace gyre::grad {

Origin OriginOf(const Function& function, Endpoint e) {
  for (size_t i = 0; i < function.arg_nodes.size(); ++i) {
    if (function.arg_nodes[i] == e.node) return {Origin::Place::kArgument, static_cast<int>(i)};
  }
  for (size_t r = 0; r < function.results.size(); ++r) {
    if (function.results[r].value == e) return {Origin::Place::kResult, static_cast<int>(r)};
  }
  return {};
}

std::vector<bool> WantedArgs(GradientBody& body, const Node& structured) {
  std::vector<bool> outputs(structured.num_outputs());
  for (int slot = 0; slot < structured.num_outputs(); ++slot)
    outputs[slot] = body.Has({structured.id, slot});
  const std::vector<bool> inputs = body.transform().dependence().Inputs(structured, outputs);
  std::vector<bool> wanted;
  for (size_t i = NumSelectorInputs(structured); i < inputs.size(); ++i)
    wanted.push_back(inputs[i] && body.Wants(structured.inputs[i]));
  return wanted;
}

FunctionRequest RequestOf(GradientBody& body, const std::vector<Endpoint>& args,
                          std::vector<bool> wanted) {
  FunctionRequest request;
  for (size_t i = 0; i < args.size(); ++i) {
    request.seeded.push_back(wanted[i] && body.Threads(args[i]));
    request.arg_kinds.push_back(body.KindOf(args[i]));
    request.arg_types.push_back(body.AdjointType(args[i]));
  }
  request.dense.resize(args.size());
  request.wanted = std::move(wanted);
  return request;
}

absl::Status SeedSums(GradientTransform& transform, const Function& function,
                      FunctionRequest& request) {
  // In which form gradients come if nothing is seeded but lists.
  GYRE_ASSIGN_OR_RETURN(const auto plain, transform.Differentiate(function, request));
  size_t w = 0;
  for (size_t i = 0; i < request.wanted.size(); ++i) {
    if (!request.wanted[i]) continue;
    const Endpoint arg{function.arg_nodes[i], 0};
    const bool returns =
        std::any_of(function.results.begin(), function.results.end(),
                    [&](const FunctionResult& result) { return result.value == arg; });
    if (returns && plain->forms[w] == Form::kDense) request.seeded[i] = true;
    ++w;
  }
  return absl::OkStatus();
}

void MarkAsCopy(const Function& original, Function& copy) {
  copy.attrs.Set(std::string(kCopyOfAttr), std::string(NameOfOriginal(original)));
}

void SetFunctions(const std::vector<std::string>& names, Node& structured) {
  size_t next = 0;
  for (const AttrDef& def : structured.op->attrs) {
    if (def.kind != AttrKind::kFunc) continue;
    if (!def.is_list) {
      structured.attrs.Set(def.name, FunctionRef{names[next++], nullptr});
      continue;
    }
    std::vector<FunctionRef> refs;
    while (next < names.size()) refs.push_back({names[next++], nullptr});
    structured.attrs.Set(def.name, std::move(refs));
  }
}

absl::Status ExtendStructured(GradientBody& body, Node structured,
                              const std::vector<Endpoint>& more_args,
                              const std::vector<MoreOutput>& more_outputs) {
  passes::StructuredInterface interface = passes::InterfaceOf(structured);
  for (const Endpoint& arg : more_args) {
    interface.args.push_back(arg);
    interface.arg_types.push_back(body.forward().dtype(arg));
  }
  for (const MoreOutput& output : more_outputs) {
    interface.output_types.push_back(output.dtype);
    interface.outputs_from.push_back(-1);
    body.AddKind(structured.id, output.kind);
  }
  GYRE_ASSIGN_OR_RETURN(Node extended, passes::WithInterface(structured, interface));
  body.forward().Replace(structured.id, std::move(extended));
  return absl::OkStatus();
}

void AddToTape(const Function& function, Endpoint value, const ValueKind& kind, TapeOf& tape) {
  tape.values.push_back(value);
  tape.types.push_back(function.node(value.node).signature.outputs[value.slot].dtype);
  tape.kinds.push_back(kind);
}

Expr WriteTape(const TapeOf& tape, ExprBuilder& builder) {
  if (tape.values.empty()) return builder.Op("OptionalNone", {});
  std::vector<Expr> values;
  for (const Endpoint& e : tape.values) values.push_back(builder.At(e));
  return builder.Op("OptionalFromValue", std::move(values),
                    {{std::string(kKindsAttr), KindTexts(tape.kinds)}});
}

std::vector<Expr> ReadTape(const TapeOf& tape, Expr from) {
  if (tape.values.empty()) return {};
  const size_t n = tape.types.size();
  return from.builder().Ops("OptionalGetValue", {from},
                            {{"output_types", tape.types},
                             {"output_shapes", std::vector<PartialShape>(n)},
                             {std::string(kKindsAttr), KindTexts(tape.kinds)}},
                            static_cast<int>(n));
}

std::vector<Expr> AddStructured(GradientBody& body, const BackwardNode& structured) {
  AttrMap attrs = structured.attrs;
  std::string op(structured.op);
  if (op == "PartitionedCall") {
    if (structured.has_effects) op = absl::StrCat("Stateful", op);
  } else if (!structured.has_effects) {
    op = absl::StrCat("Stateless", op);
  }
  if (structured.op != "While") attrs.Set("Tout", structured.types);
  return body.back().Ops(op, structured.inputs, std::move(attrs),
                         static_cast<int>(structured.types.size()));
}

}  // namespace gyre::grad
