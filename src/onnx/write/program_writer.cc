#include "onnx/write/program_writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analysis/effects.h"
#include "analysis/order.h"
#include "analysis/run_signature.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ops/state/resource.h"

namespace gyre::onnx {
namespace {

std::string Describe(const Node& node) {
  return absl::StrCat("node '", node.name, "' (", node.op_name, ")");
}

// What `wanted` need as values: what only waits is not needed.
std::vector<bool> NeededAsValues(const Function& function,
                                 const HashMap<Endpoint, ModelValue>& given,
                                 const std::vector<Endpoint>& wanted) {
  std::vector<bool> needed(function.nodes.size());
  std::vector<Endpoint> pending = wanted;
  while (!pending.empty()) {
    const Endpoint at = pending.back();
    pending.pop_back();
    if (given.count(at) > 0 || needed[at.node]) continue;
    needed[at.node] = true;
    for (const Endpoint& input : function.node(at.node).inputs) pending.push_back(input);
  }
  return needed;
}

bool ChangesState(const Node& node) {
  if (node.role() == Role::kArray || IsStructured(node.kind())) return false;
  return OwnEffects(node).Has(EffectSet::kWrite);
}

// What is known of a value beforehand, added to what its writing knows.
void AddInfo(const ValueInfo& info, ModelValue* value) {
  if (value->handle != nullptr && value->kind == Kind::kTensor) return;
  if (value->kind == Kind::kTensor) {
    const auto both = value->shape.Intersect(info.shape);
    value->shape = both.ok() ? *both : info.shape;
  } else if (info.handle) {
    const auto both = value->shape.Intersect(info.handle->shape);
    if (both.ok()) value->shape = *both;
  }
}

}  // namespace

ProgramWriter::ProgramWriter(const Program& program, const ShapeTable& shapes,
                             const Variables& variables, ModelWriter& model)
    : program_(program),
      shapes_(shapes),
      variables_(variables),
      model_(model),
      e_(model),
      recursive_(RecursiveFunctions(program)),
      effects_(program) {}

const FunctionShapes& ProgramWriter::ShapesOf(const Function& function) const {
  const FunctionShapes* const found =
      &function == &program_.main() ? &shapes_.main : shapes_.Find(function.name);
  static const FunctionShapes* const kNothing = new FunctionShapes();
  return found == nullptr ? *kNothing : *found;
}

ModelValues ProgramWriter::WriteMain(const HashMap<Endpoint, ModelValue>& given,
                                     const std::vector<Endpoint>& wanted) {
  const Function& main = program_.main();
  wanted_ = wanted;
  RunSignature signature;
  signature.fetches = wanted;
  for (const auto& [at, value] : given) signature.feeds.push_back(at);
  RefuseEffects(main, NeededNodes(main, signature), NeededAsValues(main, given, wanted));
  return Write(main, given, wanted);
}

void ProgramWriter::RefuseEffects(const Function& function, const std::vector<bool>& runs,
                                  const std::vector<bool>& needed) {
  for (const Node& node : function.nodes) {
    if (!runs[node.id] || model_.failed()) continue;
    const bool changes = IsStructured(node.kind())
                             ? !needed[node.id] && effects_.Of(node).Has(EffectSet::kWrite)
                             : ChangesState(node);
    if (!changes) continue;
    if (node.op != nullptr && node.op->traits.makes_variable) continue;
    where_ = Describe(node);
    model_.Fail(absl::UnimplementedError(
        "it changes what outlives the run, which a model of ONNX cannot: return the new value "
        "instead"));
  }
}

ModelValues ProgramWriter::Write(const Function& function, Values values,
                                 const std::vector<Endpoint>& wanted) {
  const std::vector<bool> needed = NeededAsValues(function, values, wanted);
  for (const NodeId id : ProducersFirst(function)) {
    if (!needed[id] || model_.failed()) continue;
    WriteNode(function, function.node(id), values);
  }
  ModelValues results;
  for (const Endpoint& at : wanted) {
    const auto it = values.find(at);
    if (it == values.end()) {
      e_.Invalid(absl::StrCat("'", function.EndpointName(at), "' waits for itself"));
      return ModelValues(wanted.size());
    }
    results.push_back(it->second);
  }
  return results;
}

void ProgramWriter::WriteNode(const Function& function, const Node& node, Values& values) {
  SpendWork();
  CheckStack();
  const FunctionShapes& shapes = ShapesOf(function);
  ModelValues outputs;
  const Endpoint first{node.id, 0};
  const bool is_known = node.num_outputs() == 1 && node.kind() != OpKind::kConst &&
                        shapes.at(first).constant.has_value() &&
                        ElemOfDType(shapes.at(first).constant.dtype()) != 0;
  if (is_known) {
    outputs = {Emitter::Known(shapes.at(first).constant)};
    outputs[0].wanted_name = node.name;
  } else {
    ModelValues inputs;
    for (const Endpoint& input : node.inputs) {
      const auto it = values.find(input);
      if (it == values.end()) {
        e_.Invalid(absl::StrCat("it waits for itself, by '", function.EndpointName(input), "'"));
        break;
      }
      inputs.push_back(it->second);
    }
    model_.set_stem(node.name);
    if (!model_.failed()) outputs = WriteOutputs(function, node, inputs);
  }
  if (!model_.failed() && static_cast<int>(outputs.size()) < node.num_outputs())
    e_.Invalid("its functions have fewer results than it has outputs");
  if (model_.failed()) {
    absl::StrAppend(&where_, where_.empty() ? "" : ", in ", Describe(node));
    return;
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    ModelValue& output = outputs[i];
    AddInfo(shapes.at({node.id, i}), &output);
    model_.Describe(output);
    values.emplace(Endpoint{node.id, i}, std::move(output));
  }
}

ModelValues ProgramWriter::WriteOutputs(const Function& function, const Node& node,
                                        const ModelValues& inputs) {
  const FunctionShapes& shapes = ShapesOf(function);
  if (IsLoop(node.kind())) return WriteLoop(*this, function, node, inputs);
  if (IsConditional(node.kind()) && !inputs.empty()) {
    if (SelectorOf(node) == Selector::kPredicate) return WriteIf(node, inputs);
    return WriteCase(CalleesOf(program_, node), 0, e_.AsInt64(inputs[0]),
                     {inputs.begin() + 1, inputs.end()}, node);
  }
  switch (node.kind()) {
    case OpKind::kConst: {
      const Tensor* const constant = node.attrs.Get<Tensor>("value");
      if (constant == nullptr) break;
      ModelValue value = Emitter::Known(*constant);
      value.wanted_name = node.name;
      return {value};
    }
    case OpKind::kIdentity:
      if (inputs.empty()) break;
      return {inputs[0]};
    case OpKind::kPlaceholder:
      e_.Invalid("it is none of the inputs: name it among them");
      return {};
    case OpKind::kCall: {
      const std::vector<Callee> callees = CalleesOf(program_, node);
      const int selectors = NumSelectorInputs(node);
      if (callees.size() != 1 || selectors > 0) break;
      return Call(callees[0].function, inputs);
    }
    default:
      break;
  }
  if (node.op == nullptr) {
    const std::vector<Callee> callees = CalleesOf(program_, node);
    if (callees.size() == 1) return Call(callees[0].function, inputs);
  }
  if (node.op != nullptr && node.op->traits.makes_variable) return WriteVariable(node);
  std::vector<const ValueInfo*> infos;
  for (int i = 0; i < node.num_outputs(); ++i) infos.push_back(&shapes.at({node.id, i}));
  return WritePlain(node, inputs, infos);
}

ModelValues ProgramWriter::WritePlain(const Node& node, const ModelValues& inputs,
                                      const std::vector<const ValueInfo*>& infos) {
  const WriteRule* const rule = FindWriteRule(node.op_name);
  if (rule == nullptr) {
    e_.Unsupported(absl::StrCat("the op ", node.op_name,
                                " has no form in ONNX: compute its outputs outside of the model, "
                                "and name them among its inputs"));
    return {};
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_tensor = inputs[i].kind == Kind::kTensor && inputs[i].handle == nullptr;
    if (!is_tensor && !rule->takes_others) {
      e_.Unsupported(absl::StrCat("its input ", i, " is no tensor"));
      return {};
    }
  }
  OpWriter w(model_, node, inputs, infos);
  rule->write(w);
  return w.outputs();
}

ModelValues ProgramWriter::WriteVariable(const Node& node) {
  const ResourceName where(node);
  const std::string name =
      where.container.empty() ? where.name : absl::StrCat(where.container, "/", where.name);
  auto handle = std::make_shared<Handle>();
  handle->name = name;
  handle->dtype = node.attrs.GetOr<DType>("dtype", DType::kInvalid);
  handle->shape = node.attrs.GetOr<PartialShape>("shape", PartialShape());
  const auto it = variables_.find(name);
  if (it != variables_.end() && it->second.value.has_value()) {
    const OnnxVariable& variable = it->second;
    std::string& initializer = initializers_[name];
    if (initializer.empty()) {
      initializer = model_.AddInitializer(
          variable.initializer.empty() ? name : variable.initializer, variable.value);
    }
    handle->initializer = initializer;
    handle->dtype = variable.value.dtype();
    handle->shape = PartialShape(variable.value.shape());
  }
  ModelValue value;
  value.dtype = node.signature.outputs[0].dtype;
  if (value.dtype == DType::kResource) {
    value.handle = handle;
    return {value};
  }
  // A reference, which is read where it is used.
  if (handle->initializer.empty()) {
    model_.Fail(absl::FailedPreconditionError(absl::StrCat(
        "variable '", name, "' has no value: give it one before the program is written")));
  }
  value.name = handle->initializer;
  value.shape = handle->shape;
  return {value};
}

const Function* ProgramWriter::Enter(const FunctionRef& ref) {
  const Function* const function = program_.FindFunction(ref.name);
  if (function == nullptr) {
    e_.Invalid(absl::StrCat("there is no function '", ref.name, "'"));
    return nullptr;
  }
  if (recursive_.count(ref.name) > 0) {
    e_.Unsupported(absl::StrCat("the function '", ref.name,
                                "' calls itself, which ONNX has no form for: write it as a loop"));
    return nullptr;
  }
  if (ref.attrs != nullptr && !ref.attrs->empty()) {
    e_.Unsupported(absl::StrCat("the function '", ref.name, "' is generic"));
    return nullptr;
  }
  std::vector<Endpoint> results;
  for (const FunctionResult& result : function->results) results.push_back(result.value);
  RefuseEffects(*function, NeededNodes(*function, CallSignature(*function)),
                NeededAsValues(*function, {}, results));
  if (model_.failed()) return nullptr;
  inside_.push_back(function);
  return function;
}

ProgramWriter::Values ProgramWriter::ArgsOf(const Function& function, const ModelValues& args) {
  Values values;
  if (args.size() != function.arg_nodes.size()) {
    e_.Invalid(absl::StrCat("'", function.name, "' takes another number of arguments"));
    return values;
  }
  for (size_t i = 0; i < args.size(); ++i)
    values.emplace(Endpoint{function.arg_nodes[i], 0}, args[i]);
  return values;
}

ModelValues ProgramWriter::Call(const FunctionRef& ref, const ModelValues& args) {
  CheckStack();
  const Function* const function = Enter(ref);
  if (function == nullptr) return {};
  std::vector<Endpoint> wanted;
  for (const FunctionResult& result : function->results) wanted.push_back(result.value);
  Values values = ArgsOf(*function, args);
  ModelValues results;
  if (!model_.failed()) results = Write(*function, std::move(values), wanted);
  Leave();
  return results;
}

ModelValues ProgramWriter::WriteBranches(const Node& node, const ModelValue& condition,
                                         const BranchFn& then, const BranchFn& otherwise) {
  ModelValues results[2];
  wire::GraphProto graphs[2];
  for (int k = 0; k < 2; ++k) {
    model_.Open(absl::StrCat(node.name, k == 0 ? "/then" : "/else"));
    results[k] = k == 0 ? then() : otherwise();
    graphs[k] = model_.Close();
    if (model_.failed()) return {};
  }
  if (results[0].size() != results[1].size()) {
    e_.Invalid("its branches have different numbers of results");
    return {};
  }
  // Of an optional that holds nothing the other branch says what it would hold.
  for (size_t i = 0; i < results[0].size(); ++i) {
    for (int k = 0; k < 2; ++k) {
      ModelValue& mine = results[k][i];
      const ModelValue& other = results[1 - k][i];
      if (mine.kind != Kind::kOptional || other.kind != Kind::kOptional) continue;
      if (mine.dtype != DType::kInvalid || !mine.name.empty()) continue;
      mine.dtype = other.dtype;
      mine.holds_list = other.holds_list;
    }
  }
  for (int k = 0; k < 2; ++k) {
    model_.Open(std::move(graphs[k]));
    model_.set_stem(node.name);
    for (ModelValue& result : results[k]) {
      if (result.kind == Kind::kSequence) result = e_.AsSequence(result);
      if (result.kind == Kind::kOptional) result = e_.AsOptional(result);
      if (result.handle == nullptr || result.kind == Kind::kSequence)
        model_.AddOutput(result, false);
    }
    graphs[k] = model_.Close();
    if (model_.failed()) return {};
  }
  ModelValues made = results[0];
  std::vector<size_t> places;
  std::vector<DType> dtypes;
  for (size_t i = 0; i < made.size(); ++i) {
    const ModelValue& other = results[1][i];
    const bool is_handle = made[i].handle != nullptr && made[i].kind == Kind::kTensor;
    if (made[i].kind != other.kind || made[i].dtype != other.dtype ||
        (is_handle && made[i].handle != other.handle)) {
      e_.Unsupported(absl::StrCat("result ", i, " of its branches is not of one type"));
      return {};
    }
    if (is_handle) continue;
    places.push_back(i);
    dtypes.push_back(made[i].dtype);
    made[i].shape = made[i].shape.Widen(other.shape);
    made[i].may_lack = made[i].may_lack || other.may_lack;
    if (made[i].handle != other.handle) made[i].handle = nullptr;
    made[i].BecomeComputed("");
  }
  if (places.empty()) return made;
  Attrs attrs;
  attrs.push_back(GraphAttr("then_branch", std::move(graphs[0])));
  attrs.push_back(GraphAttr("else_branch", std::move(graphs[1])));
  const ModelValues outputs = e_.Ops("If", {condition}, std::move(attrs), dtypes);
  for (size_t k = 0; k < places.size(); ++k) made[places[k]].name = outputs[k].name;
  return made;
}

ModelValues ProgramWriter::WriteIf(const Node& node, const ModelValues& inputs) {
  const std::vector<Callee> callees = CalleesOf(program_, node);
  if (callees.size() != 2) {
    e_.Invalid("it has no two branches");
    return {};
  }
  const ModelValues args(inputs.begin() + 1, inputs.end());
  return WriteBranches(
      node, e_.Truth(inputs[0]), [&] { return Call(callees[0].function, args); },
      [&] { return Call(callees[1].function, args); });
}

ModelValues ProgramWriter::WriteCase(const std::vector<Callee>& branches, size_t first,
                                     const ModelValue& index, const ModelValues& args,
                                     const Node& node) {
  CheckStack();
  if (branches.empty()) {
    e_.Invalid("it has no branches");
    return {};
  }
  if (first + 1 == branches.size()) return Call(branches[first].function, args);
  const ModelValue is_this = e_.Binary("Equal", index, Emitter::I64(static_cast<int64_t>(first)));
  return WriteBranches(
      node, is_this, [&] { return Call(branches[first].function, args); },
      [&] { return WriteCase(branches, first + 1, index, args, node); });
}

}  // namespace gyre::onnx
