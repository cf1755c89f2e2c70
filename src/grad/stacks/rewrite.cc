#include "grad/stacks/rewrite.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analysis/effects.h"
#include "analysis/order.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "grad/stacks/flow.h"
#include "grad/structured.h"
#include "ir/calls.h"
#include "ir/type_attrs.h"
#include "passes/edit/body.h"
#include "passes/edit/interface.h"

namespace gyre::grad {
namespace {

bool Any(const Function& function, bool (*is)(const Node&)) {
  return std::any_of(function.nodes.begin(), function.nodes.end(), is);
}

// Whether edges say that `from` comes before `to`. `position`: of the nodes, producers first.
bool ComesBefore(const Function& function, const std::vector<size_t>& position, NodeId from,
                 NodeId to) {
  std::vector<NodeId> open{to};
  HashSet<NodeId> seen;
  const auto look = [&](NodeId id) {
    if (position[id] >= position[from] && seen.insert(id).second) open.push_back(id);
  };
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (id == from) return true;
    for (const Endpoint& e : function.node(id).inputs) look(e.node);
    for (const NodeId control : function.node(id).control_inputs) look(control);
  }
  return false;
}

// Where only stacks were effects there are none now: structured nodes and functions say so.
Function WithoutIdleEffects(const Effects& effects, Function function) {
  for (Node& node : function.nodes) {
    if (!IsStructured(node.kind()) || !effects.Of(node).IsPure()) continue;
    node = WithoutEffects(effects.program().ops(), std::move(node));
  }
  function.stateful =
      Any(function, [](const Node& node) { return node.op == nullptr || node.op->stateful(); });
  return function;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Program>> StackRewrite::Run() {
  Version nothing;
  GYRE_ASSIGN_OR_RETURN(Function main, Rewrite(program_.main(), {}, 0, nothing));
  for (const auto& [name, function] : program_.functions()) {
    if (!Any(*function, IsStackMaker) || Any(*function, IsGeneric)) continue;
    const std::vector<int> args(function->args.size(), kNoStack);
    GYRE_ASSIGN_OR_RETURN(Function written, Rewrite(*function, args, 0, nothing));
    functions_.push_back(std::move(written));
  }
  if (has_failed_) return nullptr;
  ProgramBuilder builder(program_);
  std::vector<std::string> names;
  for (Function& function : functions_) {
    names.push_back(function.name);
    builder.SetFunction(std::move(function));
  }
  builder.SetMain(std::move(main));
  const std::shared_ptr<const Program> program = builder.Build();
  const Effects effects(*program);
  ProgramBuilder last(*program);
  for (const std::string& name : names)
    last.SetFunction(WithoutIdleEffects(effects, *program->FindFunction(name)));
  Function last_main = WithoutIdleEffects(effects, program->main());
  last_main.stateful = program_.main().stateful;
  last.SetMain(std::move(last_main));
  return last.Build();
}

absl::StatusOr<Function> StackRewrite::Rewrite(const Function& function,
                                               const std::vector<int>& args, int num_given,
                                               Version& version) {
  Work work{.function = function, .args = args, .num_given = num_given};
  work.why_not.resize(num_given);
  std::map<NodeId, int> own;
  for (const Node& node : function.nodes) {
    if (!IsStackMaker(node) || left_.contains({KeyOf(function), node.id})) continue;
    own[node.id] = num_given + static_cast<int>(work.makers.size());
    work.makers.push_back(node.id);
  }
  work.users.resize(num_given + work.makers.size());
  work.pops.resize(work.users.size());
  work.order = ProducersFirst(function);
  work.rows = handles_.Follow(function, args, own);
  GYRE_RETURN_IF_ERROR(Read(work));
  version.why_not = work.why_not;
  version.pops.assign(work.pops.begin(), work.pops.begin() + num_given);
  // What is written is thrown away where something is in the way.
  const bool is_possible = std::all_of(work.why_not.begin(), work.why_not.end(),
                                       [](const std::string& why) { return why.empty(); });
  if (has_failed_ || !is_possible) return function;
  Function copy = function;
  if (num_given > 0) copy.attrs.Erase("_input_shapes");
  FunctionBuilder builder(program_.ops(), std::move(copy));
  GYRE_RETURN_IF_ERROR(Write(work, builder));
  return builder.Build();
}

absl::StatusOr<const StackRewrite::Version*> StackRewrite::VersionOf(const Function& function,
                                                                     const std::vector<int>& args,
                                                                     int num_given) {
  const auto [found, is_new] = versions_.try_emplace({function.name, args});
  Version& version = found->second;
  if (!is_new) return &version;  // perhaps still being written: it calls itself
  version.name = names_.Unique(absl::StrCat(function.name, "_lists"));
  version.why_not.resize(num_given);
  version.pops.resize(num_given);
  GYRE_ASSIGN_OR_RETURN(Function written, Rewrite(function, args, num_given, version));
  written.name = version.name;
  functions_.push_back(std::move(written));
  return &version;
}

std::string StackRewrite::WithMoreArgs(const Function& function, size_t count) {
  const auto [found, is_new] = with_more_args_.try_emplace({function.name, count});
  if (!is_new) return found->second;
  Function copy = function;
  copy.name = found->second = names_.Unique(absl::StrCat(function.name, "_lists"));
  copy.attrs.Erase("_input_shapes");
  FunctionBuilder builder(program_.ops(), std::move(copy));
  for (size_t i = 0; i < count; ++i) builder.Arg("list", DType::kVariant);
  functions_.push_back(builder.Build());
  return found->second;
}

void StackRewrite::Fail(int stack, const std::string& why, Work& work) {
  if (stack < work.num_given) {
    if (work.why_not[stack].empty()) work.why_not[stack] = why;
    return;
  }
  left_.try_emplace({KeyOf(work.function), work.makers[stack - work.num_given]}, why);
  has_failed_ = true;
}

absl::Status StackRewrite::Read(Work& work) {
  for (const NodeId id : work.order) GYRE_RETURN_IF_ERROR(ReadNode(work.function.node(id), work));
  for (const FunctionResult& result : work.function.results) {
    const int stack = work.rows[result.value.node][result.value.slot];
    if (stack < work.num_given) continue;  // none, or one that the caller has
    Fail(stack, absl::StrCat("function '", work.function.name, "' returns its handle"), work);
  }
  for (size_t stack = 0; stack < work.users.size(); ++stack)
    CheckOrder(static_cast<int>(stack), work);
  for (size_t stack = work.num_given; stack < work.users.size(); ++stack) {
    if (!work.pops[stack]) Fail(static_cast<int>(stack), "", work);
  }
  return absl::OkStatus();
}

absl::Status StackRewrite::ReadNode(const Node& node, Work& work) {
  if (IsStructured(node.kind())) return ReadStructured(node, work);
  const bool hands_on = work.rows[node.id] != std::vector<int>(node.num_outputs(), kNoStack);
  const bool is_user = IsStackPush(node) || IsStackPop(node) || IsStackClose(node);
  for (size_t i = 0; i < node.inputs.size() && !hands_on; ++i) {
    const int stack = work.rows[node.inputs[i].node][node.inputs[i].slot];
    if (stack == kNoStack) continue;
    if (!is_user || i > 0) {
      Fail(stack, absl::StrCat(Described(work.function, node), " takes its handle"), work);
    } else if (IsStackClose(node) && stack < work.num_given) {
      Fail(stack,
           absl::StrCat(Described(work.function, node), " closes it, which another function",
                        " has made"),
           work);
    } else {
      work.users[stack].push_back(node.id);
      if (IsStackPop(node)) work.pops[stack] = true;
    }
  }
  return absl::OkStatus();
}

std::string StackRewrite::WhyNotRewritten(const Node& node) const {
  const std::vector<Callee> callees = CalleesOf(program_, node);
  for (const Callee& callee : callees) {
    const Function* function = program_.FindFunction(callee.function.name);
    if (function == nullptr)
      return absl::StrCat("there is no function '", callee.function.name, "'");
    if (callee.function.attrs != nullptr || Any(*function, IsGeneric))
      return absl::StrCat("function '", function->name, "' is generic");
    if (program_.gradient_functions().contains(function->name))
      return absl::StrCat("function '", function->name, "' has a gradient of its own");
  }
  return callees.empty() ? "it calls nothing" : "";
}

absl::Status StackRewrite::ReadStructured(const Node& node, Work& work) {
  const size_t selectors = NumSelectorInputs(node), first = NumCounterArgs(node);
  const std::vector<Callee> callees = CalleesOf(program_, node);
  const std::string at = Described(work.function, node);
  const std::string why_not = WhyNotRewritten(node);
  Structured structured;
  std::vector<int> numbers(node.inputs.size() - selectors + first, kNoStack);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int stack = work.rows[node.inputs[i].node][node.inputs[i].slot];
    if (stack == kNoStack) continue;
    if (i < selectors || handles_.Loses(node, i, work.rows)) {
      Fail(stack, absl::StrCat(at, " returns its handle where another may come, too"), work);
      continue;
    }
    const size_t arg = i - selectors + first;
    const bool is_used = std::any_of(callees.begin(), callees.end(), [&](const Callee& callee) {
      return handles_.Uses(callee.function.name, arg);
    });
    if (!is_used) continue;
    if (!why_not.empty()) Fail(stack, absl::StrCat(at, " takes its handle, and ", why_not), work);
    if (IsLoop(node.kind()) && callees[0].is_condition() &&
        handles_.Uses(callees[0].function.name, arg))
      Fail(stack, absl::StrCat(at, " uses it in its condition"), work);
    const auto known = std::find(structured.stacks.begin(), structured.stacks.end(), stack);
    numbers[arg] = static_cast<int>(known - structured.stacks.begin());
    if (known == structured.stacks.end()) {
      structured.stacks.push_back(stack);
      work.users[stack].push_back(node.id);
    }
  }
  if (structured.stacks.empty() || !why_not.empty()) return absl::OkStatus();
  for (const Callee& callee : callees) {
    const Function& function = *program_.FindFunction(callee.function.name);
    if (callee.is_condition()) {
      structured.functions.push_back(WithMoreArgs(function, structured.stacks.size()));
      continue;
    }
    GYRE_ASSIGN_OR_RETURN(const Version* version,
                          VersionOf(function, numbers, static_cast<int>(structured.stacks.size())));
    structured.functions.push_back(version->name);
    for (size_t k = 0; k < structured.stacks.size(); ++k) {
      if (!version->why_not[k].empty()) Fail(structured.stacks[k], version->why_not[k], work);
      if (version->pops[k]) work.pops[structured.stacks[k]] = true;
    }
  }
  work.structured_nodes[node.id] = std::move(structured);
  return absl::OkStatus();
}

void StackRewrite::CheckOrder(int stack, Work& work) {
  const std::vector<NodeId>& users = work.users[stack];
  if (users.size() < 2) return;
  std::vector<size_t> position(work.order.size());
  for (size_t i = 0; i < work.order.size(); ++i) position[work.order[i]] = i;
  for (size_t i = 0; i + 1 < users.size(); ++i) {
    const Node& node = work.function.node(users[i]);
    const Node& next = work.function.node(users[i + 1]);
    if (IsStackClose(node)) {
      return Fail(
          stack, absl::StrCat(Described(work.function, next), " uses it after it is closed"), work);
    }
    if (ComesBefore(work.function, position, node.id, next.id)) continue;
    return Fail(stack,
                absl::StrCat("the order of ", Described(work.function, node), " and ",
                             Described(work.function, next), " is not fixed"),
                work);
  }
}

absl::Status StackRewrite::Write(const Work& work, FunctionBuilder& builder) {
  std::vector<Endpoint> lists;
  lists.reserve(work.users.size());
  for (int i = 0; i < work.num_given; ++i) lists.push_back(builder.Arg("list", DType::kVariant));
  for (const NodeId id : work.makers) {
    const Node& maker = work.function.node(id);
    const std::string name = absl::StrCat(maker.name, "/list");
    const Endpoint any =
        builder.Constant(Tensor::Scalar<int32_t>(-1),
                         {absl::StrCat(name, "/element_shape"), {}, maker.device, maker.source});
    const Endpoint size = maker.inputs.empty() ? any : maker.inputs[0];
    GYRE_ASSIGN_OR_RETURN(
        lists.emplace_back(),
        builder.Add1("EmptyTensorList", {any, size},
                     {{"element_dtype", maker.attrs.GetOr<DType>("elem_type", DType::kInvalid)}},
                     {name, {}, maker.device, maker.source}));
  }
  std::vector<bool> uses(work.order.size());
  for (const auto& users : work.users) {
    for (const NodeId id : users) uses[id] = true;
  }
  for (const NodeId id : work.order) {
    if (uses[id]) GYRE_RETURN_IF_ERROR(WriteNode(work.function.node(id), work, lists, builder));
  }
  for (int i = 0; i < work.num_given; ++i) builder.Return("list", lists[i]);
  return absl::OkStatus();
}

absl::Status StackRewrite::WriteNode(const Node& node, const Work& work,
                                     std::vector<Endpoint>& lists, FunctionBuilder& builder) {
  if (const auto structured = work.structured_nodes.find(node.id);
      structured != work.structured_nodes.end())
    return WriteStructured(node, structured->second, lists, builder);
  Endpoint& list = lists[work.rows[node.inputs[0].node][node.inputs[0].slot]];
  const FunctionBuilder::NodeOptions options{
      absl::StrCat(node.name, "/list"), {}, node.device, node.source};
  Node in_place;
  const FunctionBuilder::NodeOptions same{node.name, node.control_inputs, node.device, node.source};
  if (IsStackClose(node)) {
    GYRE_ASSIGN_OR_RETURN(in_place, builder.Make("NoOp", {}, {}, same));
    in_place.control_inputs.push_back(list.node);
  } else if (IsStackPush(node)) {
    GYRE_ASSIGN_OR_RETURN(in_place, builder.Make("Identity", {node.inputs[1]}, {}, same));
    GYRE_ASSIGN_OR_RETURN(list,
                          builder.Add1("TensorListPushBack", {list, node.inputs[1]}, {}, options));
  } else {
    const Endpoint any = builder.Constant(
        Tensor::Scalar<int32_t>(-1),
        {absl::StrCat(options.name, "/element_shape"), {}, node.device, node.source});
    GYRE_ASSIGN_OR_RETURN(
        list, builder.Add1("TensorListPopBack", {list, any},
                           {{"element_dtype", node.signature.outputs[0].dtype}}, options));
    GYRE_ASSIGN_OR_RETURN(in_place, builder.Make("Identity", {{list.node, 1}}, {}, same));
  }
  builder.Replace(node.id, std::move(in_place));
  return absl::OkStatus();
}

absl::Status StackRewrite::WriteStructured(const Node& node, const Structured& structured,
                                           std::vector<Endpoint>& lists, FunctionBuilder& builder) {
  passes::StructuredInterface interface = passes::InterfaceOf(node);
  for (const int stack : structured.stacks) {
    interface.args.push_back(lists[stack]);
    interface.arg_types.push_back(DType::kVariant);
    interface.output_types.push_back(DType::kVariant);
    interface.outputs_from.push_back(-1);
  }
  GYRE_ASSIGN_OR_RETURN(Node written, passes::WithInterface(node, interface));
  SetFunctions(structured.functions, written);
  builder.Replace(node.id, std::move(written));
  for (size_t k = 0; k < structured.stacks.size(); ++k)
    lists[structured.stacks[k]] = {node.id, node.num_outputs() + static_cast<int>(k)};
  return absl::OkStatus();
}

}  // namespace gyre::grad
