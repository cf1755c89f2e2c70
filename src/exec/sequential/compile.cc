// From the functions of a loop to a RegisterLoop.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "analysis/effects.h"
#include "base/hash_map.h"
#include "exec/sequential/liveness.h"
#include "exec/sequential/loop.h"
#include "ir/calls.h"
#include "ops/array/element.h"
#include "ops/dense_code.h"
#include "ops/object_code.h"
#include "ops/registry.h"

namespace gyre::sequential {
namespace {

// Elements of a tensor that is small: for ops that do little for each or nothing, and for others.
constexpr int64_t kMaxElements = 256;
constexpr int64_t kMaxElementsOfHeavyOps = 16;
// Larger loops have enough to do to be run by tokens.
constexpr size_t kMaxInstructions = 512;
constexpr size_t kMaxRegisters = 2048;
constexpr int kMaxDepth = 16;  // of calls and branches
constexpr absl::string_view kNotSmall =
    "handles tensors of shapes that are not known, or of more than 256 elements (of some ops, 16)";

class Compiler {
 public:
  Compiler(lower::ProgramFacts& facts, const Function& function, const Node& node)
      : facts_(facts), function_(function), node_(node), loop_(std::make_shared<RegisterLoop>()) {
    loop_->node = &node;
  }

  std::shared_ptr<RegisterLoop> Compile() {
    if (!Write()) return nullptr;
    RemoveUnread();
    MarkLastReaders(*loop_);
    SaveAtCalls(*loop_);
    return loop_;
  }
  // Why Compile() gave null.
  const std::string& why() const { return why_; }

 private:
  // The registers of a function's values while it is written: by node, then by slot.
  using Registers = std::vector<std::vector<uint32_t>>;

  bool Write() {
    const auto num_outputs = static_cast<uint32_t>(node_.num_outputs());
    if (num_outputs == 0) return Refuse("it has no results");
    const bool is_loop = IsLoop(node_.kind());
    loop_->num_bounds =
        static_cast<uint32_t>(is_loop ? NumSelectorInputs(node_) : node_.inputs.size());
    const std::vector<uint32_t> outputs = InARow(NewRegisters(num_outputs), num_outputs);
    const std::vector<uint32_t> bounds = InARow(NewRegisters(loop_->num_bounds), loop_->num_bounds);
    return (is_loop ? WriteLoop(node_, -1, bounds, outputs, 0) : WriteOnce(bounds, outputs)) &&
           WriteSubroutines() && FitsLimits();
  }

  // A conditional or a call.
  bool WriteOnce(const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs) {
    if (inputs.empty()) return Refuse("it has no arguments");
    loop_->loops.push_back({0, &node_, -1});
    for (size_t i = 0; i < inputs.size(); ++i) NoteType(function_, node_.inputs[i], inputs[i]);
    Emit(Action::kStart, {});
    loop_->loops[0].start = static_cast<uint32_t>(loop_->code.size());
    if (IsConditional(node_.kind())) {
      if (!WriteBranches(function_, node_, -1, inputs, 0, outputs)) return false;
    } else {
      const Function* const callee = facts_.CalledRecursively(node_);
      if (callee == nullptr) return Refuse("what it calls is not recursive");
      if (!WriteSubroutineCall(node_, *callee, -1, inputs, outputs)) return false;
    }
    NoteTypes(function_, node_, outputs);
    Emit(Action::kEnd, {});
    return true;
  }

  // Recursive functions.

  // `inputs` are the function's arguments, `outputs` are in a row.
  bool WriteSubroutineCall(const Node& node, const Function& function, int scope,
                           const std::vector<uint32_t>& inputs,
                           const std::vector<uint32_t>& outputs) {
    if (inputs.size() != function.args.size() || outputs.size() != function.results.size() ||
        outputs.empty())
      return Refuse(absl::StrCat("a call of @", function.name, " does not fit it"));
    const auto known = absl::c_find_if(
        loop_->subroutines, [&](const Subroutine& s) { return s.function == &function; });
    const auto number = static_cast<uint32_t>(known - loop_->subroutines.begin());
    if (known == loop_->subroutines.end())
      loop_->subroutines.push_back(
          {&function, NewRegisters(static_cast<uint32_t>(inputs.size())), 0, 0});
    Instruction& call = Emit(Action::kCall, inputs);
    call.output = outputs[0];
    call.num_outputs = static_cast<uint32_t>(outputs.size());
    call.target = number;  // until it is known where that begins
    call.node = call.told = &node;
    call.scope = scope;
    loop_->max_inputs = std::max({loop_->max_inputs, call.num_inputs, call.num_outputs});
    return true;
  }

  // Those that have been called, and those that they call.
  bool WriteSubroutines() {
    is_in_subroutine_ = true;
    for (size_t i = 0; i < loop_->subroutines.size(); ++i)
      if (!FitsLimits() || !WriteSubroutine(i)) return false;
    for (Instruction& op : loop_->code)
      if (op.action == Action::kCall) op.target = loop_->subroutines[op.target].begin;
    return true;
  }
  bool WriteSubroutine(size_t number) {
    const Function& function = *loop_->subroutines[number].function;
    const auto num_args = static_cast<uint32_t>(function.args.size());
    const std::vector<uint32_t> args = InARow(loop_->subroutines[number].first_arg, num_args);
    const auto part = static_cast<uint32_t>(loop_->loops.size());
    const size_t begin = loop_->code.size();
    Emit(Action::kBegin, {}).loop = part;
    loop_->loops.push_back({static_cast<uint32_t>(begin) + 1, &node_, -1});
    const int num_kernels = num_kernels_;
    std::vector<uint32_t> results;
    if (!WriteBody(function, {-1, nullptr, 0, &function, part}, args, 0, results)) return false;
    Emit(Action::kReturn, results);
    Instruction& op = loop_->code[begin];
    op.target = static_cast<uint32_t>(begin) + 1;
    op.cost = static_cast<uint32_t>(num_kernels_ - num_kernels);
    loop_->subroutines[number].begin = static_cast<uint32_t>(begin);
    loop_->subroutines[number].end = static_cast<uint32_t>(loop_->code.size());
    return true;
  }

  // False, with the first reason of all.
  bool Refuse(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }
  bool Refuse(const Function& function, const Node& node, absl::string_view why) {
    return Refuse(absl::StrCat(node.name, " (", node.op_name, ") in @", function.name, " ", why));
  }
  bool FitsLimits() {
    if (loop_->code.size() <= kMaxInstructions && loop_->num_registers <= kMaxRegisters)
      return true;
    return Refuse(absl::StrCat("it has more than ", kMaxInstructions, " operations"));
  }

  // A condition is a scalar, and so is what it is computed of element by element: the bounds of
  // loops, of which more may not be known. False if there can be no condition like that. (Should it
  // turn out to be none after all, the loop runs as it would anyway.)
  bool AssumeScalars(absl::Span<const Callee> callees) {
    const Function* const condition = facts_.program().FindFunction(callees[0].function.name);
    const Function* const body = facts_.program().FindFunction(callees[1].function.name);
    if (condition == nullptr || body == nullptr || condition->results.size() != 1 ||
        TypeOf(*condition, condition->results[0].value) != DType::kBool)
      return Refuse("its condition is not one bool");
    std::vector<Endpoint> found = {condition->results[0].value};
    while (!found.empty()) {
      const Endpoint e = found.back();
      found.pop_back();
      if (facts_.IsNoScalar(*condition, e))
        return Refuse("its condition is computed of what is no scalar");
      if (!scalars_.insert({condition, e}).second) continue;
      const Node& node = condition->node(e.node);
      if (node.op != nullptr && node.op->traits.elementwise)
        found.insert(found.end(), node.inputs.begin(), node.inputs.end());
      const int64_t index =
          node.kind() == OpKind::kArg ? node.attrs.GetOr<int64_t>("index", 0) : -1;
      if (index >= 0 && index < static_cast<int64_t>(body->arg_nodes.size()))
        scalars_.insert({body, Endpoint{body->arg_nodes[index], 0}});
    }
    return true;
  }

  // variables := results, all at once.
  void Assign(const std::vector<uint32_t>& variables, std::vector<uint32_t> results) {
    for (size_t i = 0; i < variables.size(); ++i) {
      if (results[i] == variables[i] || !absl::c_linear_search(variables, results[i])) continue;
      const uint32_t copy = NewRegisters(1);
      loop_->scalar_types[copy] = loop_->scalar_types[results[i]];
      loop_->tensor_types[copy] = loop_->tensor_types[results[i]];
      EmitMove(copy, results[i]);
      results[i] = copy;
    }
    for (size_t i = 0; i < variables.size(); ++i) {
      if (results[i] != variables[i]) EmitMove(variables[i], results[i]);
    }
  }

  // Loops. `scope` is where the loop stands; its variables have their first values, and have their
  // last ones behind it.

  bool WriteLoop(const Node& node, int scope, absl::Span<const uint32_t> bounds,
                 const std::vector<uint32_t>& variables, int depth) {
    const auto number = static_cast<uint32_t>(loop_->loops.size());
    const int around = scope < 0 ? -1 : static_cast<int>(LoopOf(scope));
    loop_->loops.push_back({0, &node, around});
    const std::vector<Callee> callees = CalleesOf(facts_.program(), node);
    if (callees.empty()) return false;
    Counter counter;
    const bool counts = SelectorOf(node) == Selector::kBounds;
    if (counts && !StartCounting(node, scope, bounds, counter)) return false;
    Emit(Action::kStart, {}).loop = number;
    loop_->loops[number].start = static_cast<uint32_t>(loop_->code.size());
    const int num_kernels = num_kernels_;
    std::vector<uint32_t> more;
    if (counts) {
      if (!WriteMadeScalar(node, scope, "Less", DType::kInt64, {counter.count, counter.iterations},
                           more))
        return false;
    } else if (callees.size() != 2 || !AssumeScalars(callees) ||
               !WriteFunction(callees[0], {scope, &node, 0, nullptr, number}, variables, depth,
                              more)) {
      return false;
    }
    // The outermost loop leaves, an inner one is jumped behind.
    const size_t fork = loop_->code.size();
    Emit(number == 0 ? Action::kLeave : Action::kJumpUnless, {more[0]});
    if (number != 0) Emit(Action::kDrop, {});
    std::vector<uint32_t> args, results;
    if (counts) args.push_back(counter.index);
    args.insert(args.end(), variables.begin(), variables.end());
    const int body = static_cast<int>(callees.size()) - 1;
    if (!WriteFunction(callees[body], {scope, &node, body, nullptr, number}, args, depth,
                       results) ||
        results.size() != variables.size() || (counts && !KeepCounting(node, scope, counter))) {
      return false;
    }
    Assign(variables, std::move(results));
    Instruction& again = Emit(Action::kAgain, {});
    again.loop = number;
    again.target = loop_->loops[number].start;
    again.cost = static_cast<uint32_t>(num_kernels_ - num_kernels);
    if (number != 0) {
      loop_->code[fork].target = static_cast<uint32_t>(loop_->code.size());
      Emit(Action::kDrop, {});
    }
    return true;
  }

  // What counts the iterations of a For:
  //
  //   iterations = _ForTripCount(start, limit, delta);  count = 0;  index = start
  //   while (count < iterations) { …;  index = index + delta;  count = count + 1 }
  struct Counter {
    uint32_t delta = 0, one = 0, iterations = 0, count = 0, index = 0;
  };

  bool StartCounting(const Node& node, int scope, absl::Span<const uint32_t> bounds,
                     Counter& counter) {
    for (const uint32_t reg : bounds) loop_->scalar_types[reg] = DType::kInt32;
    std::vector<uint32_t> made;
    if (!WriteMade(node, scope, "_ForTripCount", {}, bounds, made)) return false;
    loop_->scalar_types[made[0]] = DType::kInt64;
    counter.iterations = made[0];
    counter.delta = bounds[2];
    counter.one = Constant(Tensor::Scalar<int64_t>(1));
    counter.count = NewScalar(DType::kInt64);
    EmitMove(counter.count, Constant(Tensor::Scalar<int64_t>(0)));
    counter.index = NewScalar(DType::kInt32);
    EmitMove(counter.index, bounds[0]);
    return true;
  }

  // The index wraps around behind the last iteration, as start + count * delta in 64 bits, cut to
  // 32, would.
  bool KeepCounting(const Node& node, int scope, const Counter& counter) {
    std::vector<uint32_t> index, count;
    if (!WriteMadeScalar(node, scope, "AddV2", DType::kInt32, {counter.index, counter.delta},
                         index) ||
        !WriteMadeScalar(node, scope, "AddV2", DType::kInt64, {counter.count, counter.one}, count))
      return false;
    EmitMove(counter.index, index[0]);
    EmitMove(counter.count, count[0]);
    return true;
  }

  // An op that the program does not have, for `node`.
  bool WriteMade(const Node& node, int scope, absl::string_view op, AttrMap attrs,
                 absl::Span<const uint32_t> inputs, std::vector<uint32_t>& outputs) {
    auto made = std::make_unique<Node>();
    made->name = node.name;
    made->op_name = std::string(op);
    made->op = facts_.program().ops().Find(op);
    if (made->op == nullptr) return false;
    made->attrs = std::move(attrs);
    absl::StatusOr<NodeSignature> signature = ResolveSignature(*made->op, made->attrs);
    if (!signature.ok()) return false;
    made->signature = *std::move(signature);
    if (!WritePlain(*made, scope, {inputs.begin(), inputs.end()}, outputs)) return false;
    loop_->code.back().told = &node;
    loop_->made.push_back(std::move(made));
    return true;
  }
  // The same of scalars of a type.
  bool WriteMadeScalar(const Node& node, int scope, absl::string_view op, DType type,
                       absl::Span<const uint32_t> inputs, std::vector<uint32_t>& outputs) {
    if (!WriteMade(node, scope, op, {{"T", type}}, inputs, outputs)) return false;
    loop_->scalar_types[outputs[0]] = loop_->code.back().node->signature.outputs[0].dtype;
    return true;
  }

  uint32_t NewScalar(DType dtype) {
    const uint32_t reg = NewRegisters(1);
    loop_->scalar_types[reg] = dtype;
    return reg;
  }
  uint32_t Constant(Tensor value) {
    const uint32_t reg = NewScalar(value.dtype());
    loop_->made_constants.push_back(std::make_unique<const Tensor>(std::move(value)));
    loop_->constants.emplace_back(reg, loop_->made_constants.back().get());
    return reg;
  }
  static std::vector<uint32_t> InARow(uint32_t first, uint32_t n) {
    std::vector<uint32_t> registers(n);
    for (uint32_t i = 0; i < n; ++i) registers[i] = first + i;
    return registers;
  }

  // Writes what a call of the function runs, and says where its results are. `scope` is the new
  // one, but for the function. False: it cannot be part of such a loop.
  bool WriteFunction(const Callee& callee, LoopScope in, absl::Span<const uint32_t> args, int depth,
                     std::vector<uint32_t>& results) {
    const Function* function = facts_.program().FindFunction(callee.function.name);
    if (function == nullptr) return Refuse("it calls a function that does not exist");
    if (depth > kMaxDepth) return Refuse("calls and branches in it are nested too deeply");
    in.function = function;
    return WriteBody(*function, in, args, depth, results);
  }
  bool WriteBody(const Function& function, const LoopScope& in, absl::Span<const uint32_t> args,
                 int depth, std::vector<uint32_t>& results) {
    const lower::FunctionFacts& facts = facts_.Of(function);
    if (!facts.inlinable || facts.has_references || args.size() != function.args.size())
      return Refuse(absl::StrCat("@", function.name, " has primitives or references"));
    if (!written_.insert(&function).second)
      return Refuse(absl::StrCat("@", function.name, " leads to itself, not by calls"));
    const int scope = static_cast<int>(loop_->scopes.size());
    loop_->scopes.push_back(in);
    Registers registers(function.nodes.size());
    for (const NodeId id : facts.order) {
      if (!FitsLimits()) return false;
      if (!WriteNode(function, function.node(id), scope, args, depth, registers)) return false;
    }
    written_.erase(&function);
    for (const FunctionResult& result : function.results) {
      const std::vector<uint32_t>& of_node = registers[result.value.node];
      if (static_cast<size_t>(result.value.slot) >= of_node.size()) return false;
      results.push_back(of_node[result.value.slot]);
    }
    return true;
  }

  bool WriteNode(const Function& function, const Node& node, int scope,
                 absl::Span<const uint32_t> args, int depth, Registers& registers) {
    std::vector<uint32_t>& outputs = registers[node.id];
    if (node.kind() == OpKind::kArg) {  // what nobody works on may be large
      outputs = {args[node.attrs.GetOr<int64_t>("index", 0)]};
      NoteTypes(function, node, outputs);
      return true;
    }
    if (node.kind() == OpKind::kIdentity) {
      outputs = {registers[node.inputs[0].node][node.inputs[0].slot]};
      return true;
    }
    if (const std::optional<ElementAccess> access = ElementAccessOf(function, node)) {
      if (HasScalarIndices(function, *access))
        return WriteElementAccess(function, node, scope, *access, registers);
    }
    std::vector<uint32_t> inputs;
    // What is handed to branches, loops and calls may be large, and constants, too.
    const bool hands_on = IsStructured(node.kind());
    // The cheapest question first: others make the node's kernel.
    const auto fits = [&](Endpoint e) {
      return IsSmall(function, e, kMaxElementsOfHeavyOps) ||
             IsSmall(function, e, MaxElementsOf(node)) || IsLittleWork(function, node);
    };
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Endpoint& input = node.inputs[i];
      const bool is_handed_on = hands_on && static_cast<int>(i) >= NumSelectorInputs(node);
      const bool is_asked_for_its_shape = node.op != nullptr && node.op->traits.computes_shapes;
      if (!is_handed_on && !is_asked_for_its_shape && !fits(input))
        return Refuse(function, node, kNotSmall);
      inputs.push_back(registers[input.node][input.slot]);
    }
    for (int slot = 0; slot < node.num_outputs(); ++slot) {
      if (!hands_on && node.kind() != OpKind::kConst && !fits({node.id, slot}))
        return Refuse(function, node, kNotSmall);
    }
    if (!WriteKind(function, node, scope, inputs, depth, outputs)) return false;
    NoteTypes(function, node, outputs);
    return true;
  }

  // Elements of tensors of any size, where they lie.

  bool HasScalarIndices(const Function& function, const ElementAccess& access) const {
    const auto count = static_cast<int64_t>(access.indices.size());
    return (!access.end || facts_.KnownShape(function, *access.end) == Shape::Vector(count)) &&
           (!access.value || IsSmall(function, *access.value, kMaxElements)) &&
           absl::c_all_of(access.indices, [&](const ElementAccess::Index& index) {
             return index.constant || IsScalar(function, index.scalar);
           });
  }
  bool WriteElementAccess(const Function& function, const Node& node, int scope,
                          const ElementAccess& access, Registers& registers) {
    if (!access.value && !IsSmall(function, {node.id, 0}, kMaxElements))
      return Refuse(function, node, kNotSmall);
    const auto reg = [&](Endpoint e) { return registers[e.node][e.slot]; };
    std::vector<uint32_t> inputs = {reg(access.tensor)};
    if (access.value) inputs.push_back(reg(*access.value));
    for (const ElementAccess::Index& index : access.indices)
      inputs.push_back(index.constant ? ConstantIndex(access.index_type, *index.constant)
                                      : reg(index.scalar));
    for (const NodeId pack : access.packs) {
      const std::vector<Endpoint>& packed = function.node(pack).inputs;
      if (absl::c_all_of(packed, [&](Endpoint e) { return IsScalar(function, e); }))
        packs_.insert(&function.node(pack));
    }
    AttrMap attrs = {{"T", node.signature.outputs[0].dtype},
                     {"N", static_cast<int64_t>(access.indices.size())},
                     {"Index", access.index_type}};
    if (!access.value) attrs.Set("from_end", access.from_end);
    if (!WriteMade(node, scope, access.op, attrs, inputs, registers[node.id])) return false;
    NoteTypes(function, node, registers[node.id]);
    return true;
  }
  uint32_t ConstantIndex(DType type, int64_t index) {
    return type == DType::kInt64 ? Constant(Tensor::Scalar<int64_t>(index))
                                 : Constant(Tensor::Scalar(static_cast<int32_t>(index)));
  }

  bool WriteKind(const Function& function, const Node& node, int scope,
                 const std::vector<uint32_t>& inputs, int depth, std::vector<uint32_t>& outputs) {
    switch (node.kind()) {
      case OpKind::kPlain:
      case OpKind::kConst:
      case OpKind::kNoOp:
      case OpKind::kToBool:
        return WritePlain(node, scope, inputs, outputs) ||
               Refuse(function, node, "waits, calls the host program or has no kernel");
      case OpKind::kCall:
        return WriteCall(node, scope, inputs, depth, outputs);
      default:
        if (IsLoop(node.kind())) return WriteInnerLoop(node, scope, inputs, depth, outputs);
        if (!IsConditional(node.kind())) return false;
        outputs = InARow(NewRegisters(static_cast<uint32_t>(node.num_outputs())),
                         static_cast<uint32_t>(node.num_outputs()));
        return WriteBranches(function, node, scope, inputs, depth, outputs);
    }
  }

  // Says of the registers of the node's outputs which are scalars, and which small tensors.
  void NoteTypes(const Function& function, const Node& node, absl::Span<const uint32_t> registers) {
    for (int slot = 0; slot < node.num_outputs(); ++slot)
      NoteType(function, {node.id, slot}, registers[slot]);
  }
  void NoteType(const Function& function, Endpoint e, uint32_t reg) {
    const DType dtype = TypeOf(function, e);
    if (!IsTrivial(dtype) || IsComplex(dtype) || DTypeSize(dtype) > sizeof(uint64_t)) return;
    if (scalars_.contains({&function, e}) || IsScalar(function, e)) {
      loop_->scalar_types[reg] = dtype;
      return;
    }
    const std::optional<Shape> shape = facts_.KnownShape(function, e);
    if (shape && shape->num_elements() > 0) loop_->tensor_types[reg] = {dtype, *shape};
  }

  bool WritePlain(const Node& node, int scope, const std::vector<uint32_t>& inputs,
                  std::vector<uint32_t>& outputs) {
    outputs.resize(node.num_outputs());
    const uint32_t first = NewRegisters(static_cast<uint32_t>(outputs.size()));
    for (size_t slot = 0; slot < outputs.size(); ++slot)
      outputs[slot] = first + static_cast<uint32_t>(slot);
    if (node.kind() == OpKind::kConst) {
      if (!Ops().MakeKernel(node).ok()) return false;  // not of the type that it says
      loop_->constants.emplace_back(first, &NodeAttr<Tensor>(node, "value"));
      return true;
    }
    if (node.kind() == OpKind::kNoOp) return true;
    // Effects come in the order of the instructions: what edges say, and one iteration after the
    // other. What the host program does may take long.
    if (node.op == nullptr || node.op->traits.calls_host) return false;
    const bool draws = node.op->traits.effect == Effect::kRandom;
    if (is_in_subroutine_ && draws)  // they depend on the calls that it is in
      return Refuse(absl::StrCat(node.name, " (", node.op_name,
                                 ") draws random numbers in a recursive function"));
    absl::StatusOr<Kernel> kernel = Ops().MakeKernel(node);
    if (!kernel.ok() || kernel->run == nullptr) return false;
    Instruction& op = Emit(Action::kRun, inputs);
    op.output = first;
    op.num_outputs = static_cast<uint32_t>(outputs.size());
    op.kernel = *std::move(kernel);
    op.node = &node;
    op.told = &node;
    op.scope = scope;
    op.needs_tag = node.op->stateful() && !is_in_subroutine_;
    loop_->needs_tag |= op.needs_tag;
    ++num_kernels_;
    loop_->max_inputs = std::max(loop_->max_inputs, op.num_inputs);
    return true;
  }

  bool WriteCall(const Node& node, int scope, absl::Span<const uint32_t> inputs, int depth,
                 std::vector<uint32_t>& outputs) {
    const std::vector<Callee> callees = CalleesOf(facts_.program(), node);
    if (callees.size() != 1) return false;
    if (const Function* const function = facts_.CalledRecursively(node); function != nullptr) {
      outputs = InARow(NewRegisters(static_cast<uint32_t>(node.num_outputs())),
                       static_cast<uint32_t>(node.num_outputs()));
      const absl::Span<const uint32_t> args = inputs.subspan(NumSelectorInputs(node));
      return WriteSubroutineCall(node, *function, scope, {args.begin(), args.end()}, outputs);
    }
    return WriteFunction(callees[0], {scope, &node, 0, nullptr, LoopOf(scope)},
                         inputs.subspan(NumSelectorInputs(node)), depth + 1, outputs);
  }
  uint32_t LoopOf(int scope) const { return scope < 0 ? 0 : loop_->scopes[scope].loop; }

  bool WriteInnerLoop(const Node& node, int scope, absl::Span<const uint32_t> inputs, int depth,
                      std::vector<uint32_t>& outputs) {
    const int num_bounds = NumSelectorInputs(node);
    outputs = InARow(NewRegisters(static_cast<uint32_t>(node.num_outputs())),
                     static_cast<uint32_t>(node.num_outputs()));
    if (outputs.empty() || inputs.size() != num_bounds + outputs.size()) return false;
    for (size_t i = 0; i < outputs.size(); ++i) EmitMove(outputs[i], inputs[num_bounds + i]);
    return WriteLoop(node, scope, inputs.subspan(0, num_bounds), outputs, depth + 1);
  }

  // if:   jump unless p to else;  drop; then …; outputs := …; jump to end;  else: drop; …  end:
  bool WriteBranches(const Function& function, const Node& node, int scope,
                     const std::vector<uint32_t>& inputs, int depth,
                     const std::vector<uint32_t>& outputs) {
    const bool is_if = SelectorOf(node) == Selector::kPredicate;
    if (is_if ? !IsBool(function, node.inputs[0]) : !IsScalar(function, node.inputs[0]))
      return Refuse(function, node, "chooses by what is not known to be a scalar");
    const std::vector<Callee> callees = CalleesOf(facts_.program(), node);
    if (callees.empty()) return false;
    const size_t fork = loop_->code.size();
    Emit(is_if ? Action::kJumpUnless : Action::kJumpByIndex, {inputs[0]});
    std::vector<size_t> ends;
    for (size_t number = 0; number < callees.size(); ++number) {
      const auto start = static_cast<uint32_t>(loop_->code.size());
      if (!is_if) {
        loop_->code[fork].targets.push_back(start);
      } else if (number == 1) {
        loop_->code[fork].target = start;
      }
      Emit(Action::kDrop, {});
      std::vector<uint32_t> results;
      const LoopScope branch = {scope, &node, static_cast<int>(number), nullptr, LoopOf(scope)};
      if (!WriteFunction(callees[number], branch, absl::MakeSpan(inputs).subspan(1), depth + 1,
                         results))
        return false;
      for (size_t slot = 0; slot < outputs.size(); ++slot) EmitMove(outputs[slot], results[slot]);
      ends.push_back(loop_->code.size());
      Emit(Action::kJump, {});
    }
    for (const size_t end : ends)
      loop_->code[end].target = static_cast<uint32_t>(loop_->code.size());
    return true;
  }

  // Shapes and types.

  bool IsScalar(const Function& function, Endpoint e) const {
    return facts_.NumElements(function, e) == 1 && facts_.IsScalar(function, e);
  }
  bool IsBool(const Function& function, Endpoint e) const {
    return IsScalar(function, e) && TypeOf(function, e) == DType::kBool;
  }
  static DType TypeOf(const Function& function, Endpoint e) {
    return function.node(e.node).signature.outputs[e.slot].dtype;
  }
  // Of operands that may be large, such as a product with a matrix of weights.
  bool IsLittleWork(const Function& function, const Node& node) const {
    if (node.kind() != OpKind::kPlain) return false;
    const absl::StatusOr<Kernel> kernel = Ops().MakeKernel(node);
    if (!kernel.ok() || kernel->dense == nullptr) return false;
    std::vector<DenseOperand> inputs;
    for (const Endpoint& input : node.inputs)
      inputs.push_back({ConstantOf(function, input), facts_.KnownShape(function, input)});
    std::vector<Shape> outputs;
    for (int slot = 0; slot < node.num_outputs(); ++slot) {
      const std::optional<Shape> shape = facts_.KnownShape(function, {node.id, slot});
      if (!shape) return false;
      outputs.push_back(*shape);
    }
    return kernel->dense(node, inputs, outputs).has_value();
  }
  static const Tensor* ConstantOf(const Function& function, Endpoint e) {
    const Node& node = function.node(e.node);
    return node.kind() == OpKind::kConst ? &NodeAttr<Tensor>(node, "value") : nullptr;
  }
  // Of tensors that go to lists and variables, or come from them.
  static bool HandsToObjects(const Node& node) {
    const std::vector<NodeSignature::Slot>& inputs = node.signature.inputs;
    if (node.kind() != OpKind::kPlain || inputs.empty() ||
        (inputs[0].dtype != DType::kVariant && inputs[0].dtype != DType::kResource))
      return false;
    const absl::StatusOr<Kernel> kernel = Ops().MakeKernel(node);
    return kernel.ok() && kernel->object != nullptr && kernel->object->of_tensors != nullptr;
  }
  static int64_t MaxElementsOf(const Node& node) {
    if (node.op == nullptr) return kMaxElementsOfHeavyOps;
    const OpTraits& traits = node.op->traits;
    if (HandsToObjects(node)) {  // what is large, without a copy, but for what adds to a variable
      const bool computes = traits.effect == Effect::kWrite && traits.role != Role::kAssigns;
      return computes ? kMaxElements : std::numeric_limits<int64_t>::max();
    }
    const bool is_light = traits.elementwise || traits.is_view || traits.moves_elements;
    return is_light ? kMaxElements : kMaxElementsOfHeavyOps;
  }
  bool IsSmall(const Function& function, Endpoint e, int64_t max_elements) const {
    const DType dtype = TypeOf(function, e);
    if (dtype == DType::kVariant || dtype == DType::kResource || scalars_.contains({&function, e}))
      return true;
    const int64_t elements = facts_.NumElements(function, e);
    return (IsTrivial(dtype) || dtype == DType::kString) && elements >= 0 &&
           elements <= max_elements;
  }

  // Code.

  // Instructions whose results nobody reads do nothing, but for those that may fail. Indices that
  // were packed for what has become an element's access, mostly.
  void RemoveUnread() {
    std::vector<int> readers(loop_->num_registers, 0);
    for (int slot = 0; slot < node_.num_outputs(); ++slot) ++readers[slot];
    for (const Input& input : loop_->inputs) ++readers[input.reg];
    for (auto op = loop_->code.rbegin(); op != loop_->code.rend(); ++op) {
      if (op->action != Action::kRun || !OwnEffects(*op->node).MayDrop() ||
          (!FailsByShapesAtMost(*op->node) && !packs_.contains(op->node)))
        continue;
      const auto is_read = [&](uint32_t i) { return readers[op->output + i] > 0; };
      bool any = false;
      for (uint32_t i = 0; i < op->num_outputs; ++i) any |= is_read(i);
      if (any) continue;
      for (uint32_t i = 0; i < op->num_inputs; ++i)
        --readers[loop_->inputs[op->first_input + i].reg];
      *op = Instruction{.action = Action::kDrop};
    }
  }

  static bool FailsByShapesAtMost(const Node& node) {
    return node.op->failure != nullptr && node.op->failure(node) != Failure::kByValues;
  }

  uint32_t NewRegisters(uint32_t n) {
    loop_->num_registers += n;
    loop_->scalar_types.resize(loop_->num_registers, DType::kInvalid);
    loop_->tensor_types.resize(loop_->num_registers);
    return loop_->num_registers - n;
  }
  Instruction& Emit(Action action, const std::vector<uint32_t>& inputs) {
    Instruction& instruction = loop_->code.emplace_back();
    instruction.action = action;
    SetInputs(instruction, inputs);
    return instruction;
  }
  void SetInputs(Instruction& instruction, const std::vector<uint32_t>& inputs) {
    instruction.first_input = static_cast<uint32_t>(loop_->inputs.size());
    instruction.num_inputs = static_cast<uint32_t>(inputs.size());
    for (const uint32_t reg : inputs) loop_->inputs.push_back({reg, false});
  }
  void EmitMove(uint32_t to, uint32_t from) {
    Instruction& move = Emit(Action::kMove, {from});
    move.output = to;
    move.num_outputs = 1;
  }

  lower::ProgramFacts& facts_;
  const Function& function_;  // in which the node stands
  const Node& node_;
  const std::shared_ptr<RegisterLoop> loop_;
  int num_kernels_ = 0;
  bool is_in_subroutine_ = false;
  HashSet<const Function*> written_;  // whose bodies are being written
  std::string why_;
  HashSet<const Node*> packs_;                             // of scalars, for accesses of elements
  HashSet<std::pair<const Function*, Endpoint>> scalars_;  // see AssumeScalars
};

}  // namespace

std::shared_ptr<RegisterLoop> CompileLoop(lower::ProgramFacts& facts, const Function& function,
                                          const Node& node, std::string* why) {
  Compiler compiler(facts, function, node);
  std::shared_ptr<RegisterLoop> made = compiler.Compile();
  if (made == nullptr && why != nullptr)
    *why = compiler.why().empty() ? "it cannot be expanded" : compiler.why();
  return made;
}

}  // namespace gyre::sequential
