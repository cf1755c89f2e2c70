#include "passes/rows.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/failure.h"
#include "analysis/pass_through.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/builder.h"
#include "ir/calls.h"
#include "ops/array/element.h"
#include "ops/list/row_part.h"
#include "passes/edit/body.h"
#include "passes/edit/shapes.h"
#include "passes/edit/staged_edit.h"
#include "passes/vectorize/vectorize.h"

namespace gyre {
namespace {

using passes::BodyFacts;
using passes::NamedShapes;
using passes::Rewrite;
using passes::StagedEdit;

// The only value of an int32 or int64 constant; nullopt: it is none.
std::optional<int64_t> IntegerOf(const Tensor* value) {
  if (value == nullptr || value->num_elements() != 1) return std::nullopt;
  if (value->dtype() == DType::kInt32) return value->values<int32_t>()[0];
  if (value->dtype() == DType::kInt64) return value->values<int64_t>()[0];
  return std::nullopt;
}

// Rows of shape `row` have the shape that `wanted` asks for; null: nobody knows which.
bool AllowsRows(const Tensor* wanted, const PartialShape& row) {
  if (wanted == nullptr) return false;
  if (wanted->shape().IsScalar()) return IntegerOf(wanted) == -1;
  if (!row.has_rank() || wanted->shape().rank() != 1 || wanted->num_elements() != row.rank())
    return false;
  for (int i = 0; i < row.rank(); ++i) {
    const int64_t dim = wanted->dtype() == DType::kInt32 ? wanted->values<int32_t>()[i]
                                                         : wanted->values<int64_t>()[i];
    if (dim >= 0 && dim != row.dim(i)) return false;
  }
  return true;
}

// A function that a loop calls, with what the loop hands it.
struct LoopFunction {
  const Function* function;
  std::vector<int> variable_of;  // by node: the variable that it is the argument of; -1: none
  int counter = -1;              // the argument that the loop makes itself
};

LoopFunction FunctionOf(const Node& loop, const Function& function) {
  LoopFunction of = {&function, std::vector<int>(function.nodes.size(), -1)};
  const int counters = NumCounterArgs(loop);
  for (size_t i = 0; i < function.arg_nodes.size(); ++i) {
    if (static_cast<int>(i) < counters)
      of.counter = function.arg_nodes[i];
    else
      of.variable_of[function.arg_nodes[i]] = static_cast<int>(i) - counters;
  }
  return of;
}

// One loop over rows: what its variables are, and what it reads and makes.
class RowLoop {
 public:
  RowLoop(const Node& loop, const std::string& body_name, LoopFunction body,
          std::optional<LoopFunction> condition, const Rewrite& caller,
          const BodyFacts& caller_facts, const std::string& caller_name, NamedShapes& shapes)
      : loop_(loop),
        body_name_(body_name),
        body_(std::move(body)),
        condition_(std::move(condition)),
        caller_(caller),
        caller_facts_(caller_facts),
        caller_name_(caller_name),
        shapes_(shapes),
        readers_(passes::Readers(*body_.function)),
        invariant_(InvariantVariables(*body_.function, NumCounterArgs(loop))) {}

  // What each iteration makes of row i for a list, and the list.
  struct Made {
    int variable;
    Endpoint value;  // in the body
    PartialShape row;
    Endpoint element_shape;  // in the caller
  };
  // What an iteration takes, as an argument of the function of one row.
  struct Taken {
    Endpoint inside;   // in the body
    Endpoint outside;  // in the caller: all rows, or one for all; node -1: the rows' numbers
    bool stacked;
    PartialShape row;
  };

  bool Matches() {
    FindCounters();
    return FindLimit() && FindLists() && FindComputation() && RowsAgree();
  }

  const std::vector<Made>& made() const { return made_; }
  const std::vector<Taken>& taken() const { return taken_; }
  const std::vector<NodeId>& computation() const { return computation_; }  // producers first
  bool IsCounter(int variable) const { return is_counter_[variable]; }
  bool IsInvariant(int variable) const { return invariant_[variable]; }
  Endpoint InitialOf(int variable) const {
    return caller_.Resolve(loop_.inputs[NumSelectorInputs(loop_) + variable]);
  }
  // How many iterations there are: a value of the caller, or a number if that is known.
  Endpoint limit() const { return limit_; }
  std::optional<int64_t> known_limit() const { return known_limit_; }

 private:
  const Node& InBody(NodeId id) const { return body_.function->node(id); }
  // Of values of the caller.
  RowPart PartOf(Endpoint e) const {
    const Node* const maker = passes::MakerOf(caller_, caller_facts_, e);
    return maker == nullptr ? RowPart::kOther : RowPartOf(*maker);
  }
  std::optional<int64_t> NumberOf(Endpoint e) const {
    return IntegerOf(passes::ConstantOf(caller_, caller_facts_, e));
  }
  bool Allows(Endpoint element_shape, const PartialShape& row) const {
    return AllowsRows(passes::ConstantOf(caller_, caller_facts_, element_shape), row);
  }
  Endpoint InputOf(Endpoint e, int input) const {
    return caller_.Resolve(caller_.node(e.node).inputs[input]);
  }

  // The number of the row: the counter of For, or a variable that begins with 0 and grows by 1.
  void FindCounters() {
    is_counter_.resize(invariant_.size());
    const std::vector<FunctionResult>& results = body_.function->results;
    for (size_t i = 0; i < is_counter_.size(); ++i) {
      if (invariant_[i] || results[i].dtype != DType::kInt32) continue;
      const Node& next = InBody(results[i].value.node);
      if (next.role() != Role::kSum || next.inputs.size() != 2) continue;
      for (const int side : {0, 1}) {
        if (body_.variable_of[next.inputs[side].node] == static_cast<int>(i) &&
            IntegerOf(ConstantValue(InBody(next.inputs[1 - side].node))) == 1 &&
            NumberOf(InitialOf(static_cast<int>(i))) == 0)
          is_counter_[i] = true;
      }
    }
  }

  bool IsRowNumber(Endpoint inside) const {
    if (const Node& node = InBody(inside.node); RowPartOf(node) == RowPart::kWiden)
      inside = node.inputs[0];
    const int variable = body_.variable_of[inside.node];
    return inside.node == body_.counter || (variable >= 0 && is_counter_[variable]);
  }

  bool FindLimit() {
    if (SelectorOf(loop_) == Selector::kBounds) {
      if (NumberOf(loop_.inputs[0]) != 0 || NumberOf(loop_.inputs[2]) != 1) return false;
      return TakeLimit(caller_.Resolve(loop_.inputs[1]));
    }
    return condition_ && condition_->function->control_results.empty() &&
           TakeCondition(condition_->function->results[0].value);
  }

  // i < n, or several such that all hold.
  bool TakeCondition(Endpoint e) {
    const Node& node = condition_->function->node(e.node);
    const RowPart part = RowPartOf(node);
    if (!node.control_inputs.empty()) return false;
    if (part == RowPart::kAnd)
      return TakeCondition(node.inputs[0]) && TakeCondition(node.inputs[1]);
    if (part != RowPart::kLess) return false;
    const int variable = condition_->variable_of[node.inputs[0].node];
    if (variable < 0 || !is_counter_[variable]) return false;
    const Node& bound = condition_->function->node(node.inputs[1].node);
    if (const std::optional<int64_t> number = IntegerOf(ConstantValue(bound)))
      return TakeNumber(*number);
    const int of = condition_->variable_of[bound.id];
    return of >= 0 && invariant_[of] && TakeLimit(InitialOf(of));
  }

  // `e` without the guard against a negative number, of what counts rows.
  Endpoint Unguarded(Endpoint e) const {
    if (PartOf(e) != RowPart::kMaximum || NumberOf(InputOf(e, 1)) != 0) return e;
    const Endpoint count = InputOf(e, 0);
    return PartOf(count) == RowPart::kPick ? count : e;
  }

  bool TakeLimit(Endpoint limit) {
    limit = Unguarded(limit);
    if (const std::optional<int64_t> number = NumberOf(limit)) return TakeNumber(*number);
    if (known_limit_ || (limit_.node >= 0 && limit_ != limit)) return false;
    limit_ = limit;
    return true;
  }
  bool TakeNumber(int64_t number) {
    if (number < 0 || limit_.node >= 0 || (known_limit_ && *known_limit_ != number)) return false;
    known_limit_ = number;
    return true;
  }
  bool IsLimit(Endpoint e) const {
    return known_limit_ ? NumberOf(e) == *known_limit_ : Unguarded(e) == limit_;
  }

  // All variables that are neither counters nor the same for all rows are lists that get a row in
  // each iteration.
  bool FindLists() {
    const std::vector<FunctionResult>& results = body_.function->results;
    for (size_t i = 0; i < results.size(); ++i) {
      if (invariant_[i] || is_counter_[i]) continue;
      const Node& next = InBody(results[i].value.node);
      const RowPart part = RowPartOf(next);
      if (part != RowPart::kSet && part != RowPart::kPush) return false;
      const NodeId list = next.inputs[0].node;
      if (body_.variable_of[list] != static_cast<int>(i) || readers_[list].size() != 1 ||
          !readers_[next.id].empty() || !next.control_inputs.empty())
        return false;
      const Endpoint first = InitialOf(static_cast<int>(i));
      if (part == RowPart::kSet) {
        if (!IsRowNumber(next.inputs[1]) || PartOf(first) != RowPart::kReserve ||
            !IsLimit(InputOf(first, 1)))
          return false;
      } else if (PartOf(first) != RowPart::kEmpty || NumberOf(InputOf(first, 1)) != -1) {
        return false;
      }
      const Endpoint value = next.inputs[part == RowPart::kSet ? 2 : 1];
      const Made made = {static_cast<int>(i), value, RowShape(value), InputOf(first, 0)};
      if (!Allows(made.element_shape, made.row)) return false;
      made_.push_back(made);
    }
    return !made_.empty();
  }

  PartialShape RowShape(Endpoint inside) const {
    return shapes_.Of(body_name_, InBody(inside.node).name, inside.slot);
  }

  // What the rows are computed by: rows, what is the same for all, and elementwise ops.
  bool FindComputation() {
    HashSet<NodeId> seen;
    std::vector<std::pair<NodeId, bool>> pending;  // and whether its inputs have been seen to
    for (const Made& each : made_) pending.emplace_back(each.value.node, false);
    while (!pending.empty()) {
      SpendWork();
      const auto [id, inputs_done] = pending.back();
      pending.pop_back();
      if (inputs_done) {
        computation_.push_back(id);
        continue;
      }
      if (!seen.insert(id).second) continue;
      const Node& node = InBody(id);
      if (TakeArgument(id) || TakeRow(node)) continue;
      if (!IsComputation(node)) return false;
      pending.emplace_back(id, true);
      for (const Endpoint& e : node.inputs) pending.emplace_back(e.node, false);
    }
    return std::any_of(taken_.begin(), taken_.end(), [](const Taken& t) { return t.stacked; });
  }

  bool TakeArgument(NodeId id) {
    const Endpoint inside = {id, 0};
    if (IsRowNumber(inside)) {
      taken_.push_back({inside, {}, true, PartialShape::Scalar()});
      return true;
    }
    const int variable = body_.variable_of[id];
    if (variable < 0 || !invariant_[variable]) return false;
    taken_.push_back({inside, InitialOf(variable), false, RowShape(inside)});
    return IsTrivial(InBody(id).signature.outputs[0].dtype);
  }

  // Row i of a tensor: an element of the list of its rows, or x[i].
  bool TakeRow(const Node& node) {
    if (!node.control_inputs.empty()) return false;
    std::optional<Endpoint> rows;
    if (RowPartOf(node) == RowPart::kGet) {
      rows = RowsOfList(node);
    } else if (const auto access = ElementAccessOf(*body_.function, node)) {
      rows = RowsOfAccess(*access);
    }
    if (!rows || !IsTrivial(node.signature.outputs[0].dtype)) return false;
    taken_.push_back({{node.id, 0}, *rows, true, RowShape({node.id, 0})});
    return true;
  }

  // What `inside` is before the loop, if it stays that.
  std::optional<Endpoint> Invariant(Endpoint inside) const {
    const int variable = body_.variable_of[inside.node];
    if (variable < 0 || !invariant_[variable]) return std::nullopt;
    return InitialOf(variable);
  }

  std::optional<Endpoint> RowsOfList(const Node& get) const {
    const std::optional<Endpoint> list = Invariant(get.inputs[0]);
    if (!list || !IsRowNumber(get.inputs[1]) || PartOf(*list) != RowPart::kRows ||
        !AllowsRows(ConstantValue(InBody(get.inputs[2].node)), RowShape({get.id, 0})))
      return std::nullopt;
    return InputOf(*list, 0);
  }

  std::optional<Endpoint> RowsOfAccess(const ElementAccess& access) const {
    const bool is_one = !access.end || RowShape(*access.end) == PartialShape(Dims{1});
    if (access.value || access.indices.size() != 1 || access.indices[0].constant || !is_one ||
        !IsRowNumber(access.indices[0].scalar))
      return std::nullopt;
    return Invariant(access.tensor);
  }

  bool IsComputation(const Node& node) const {
    if (node.op == nullptr || !node.control_inputs.empty()) return false;
    if (ConstantValue(node) != nullptr) return IsTrivial(node.signature.outputs[0].dtype);
    if (!node.op->traits.elementwise || node.op->stateful() || node.num_outputs() != 1 ||
        !IsTrivial(node.signature.outputs[0].dtype))
      return false;
    std::vector<PartialShape> inputs;
    for (const Endpoint& e : node.inputs) inputs.push_back(RowShape(e));
    return CannotFail(node, inputs);
  }

  // Each tensor that is read has as many rows as there are iterations.
  bool RowsAgree() {
    return std::all_of(taken_.begin(), taken_.end(), [&](const Taken& taken) {
      return !taken.stacked || taken.outside.node < 0 || HasLimitRows(taken.outside);
    });
  }
  bool HasLimitRows(Endpoint rows) const {
    const PartialShape shape = shapes_.Of(caller_name_, caller_.node(rows.node).name, rows.slot);
    if (known_limit_) return shape.has_rank() && shape.rank() > 0 && shape.dim(0) == *known_limit_;
    if (PartOf(limit_) != RowPart::kPick || !caller_.node(limit_.node).control_inputs.empty())
      return false;
    const Endpoint dims = InputOf(limit_, 0);
    return PartOf(dims) == RowPart::kShape && InputOf(dims, 0) == rows &&
           NumberOf(InputOf(limit_, 1)) == 0 && NumberOf(InputOf(limit_, 3)) == 1;
  }

  const Node& loop_;
  const std::string body_name_;
  const LoopFunction body_;
  const std::optional<LoopFunction> condition_;
  const Rewrite& caller_;
  const BodyFacts& caller_facts_;
  const std::string caller_name_;
  NamedShapes& shapes_;
  const std::vector<std::vector<NodeId>> readers_;  // in the body
  const std::vector<bool> invariant_;               // by variable
  std::vector<bool> is_counter_;                    // by variable
  Endpoint limit_ = {-1, 0};
  std::optional<int64_t> known_limit_;
  std::vector<Made> made_;
  std::vector<Taken> taken_;
  std::vector<NodeId> computation_;
};

class RowsPassRun {
 public:
  explicit RowsPassRun(const Staged& staged)
      : effects_(*staged.program), shapes_(staged), edit_(staged) {}

  absl::StatusOr<Staged> Run() && {
    GYRE_RETURN_IF_ERROR(passes::RewriteCalleesFirst(
        edit_, effects_,
        [this](const std::string& name, const BodyFacts& facts, Rewrite& caller) -> absl::Status {
          facts_ = &facts;
          readers_ = passes::Readers(caller.function());
          for (const NodeId id : facts.order) {
            SpendWork();
            if (IsLoop(caller.node(id).kind()) && facts.IsPure(id))
              GYRE_RETURN_IF_ERROR(Look(name, id, caller));
          }
          return absl::OkStatus();
        }));
    return std::move(edit_).Finish();
  }

 private:
  absl::Status Look(const std::string& caller_name, NodeId id, Rewrite& caller) {
    const Node loop = caller.node(id);
    const Function* body = nullptr;
    std::string body_name;
    std::optional<LoopFunction> condition;
    for (const Callee& callee : CalleesOf(edit_.program(), loop)) {
      const Function* const function = edit_.Find(callee.function.name);
      if (function == nullptr ||
          (callee.function.attrs != nullptr && !callee.function.attrs->empty()) ||
          IsOpaque(*function) || !CheckArguments(loop, callee, *function).ok() ||
          !CheckResults(loop, callee, *function).ok() || !function->control_results.empty())
        return absl::OkStatus();
      if (callee.is_condition()) {
        condition = FunctionOf(loop, *function);
      } else {
        body = function;
        body_name = callee.function.name;
      }
    }
    if (body == nullptr) return absl::OkStatus();
    RowLoop rows(loop, body_name, FunctionOf(loop, *body), std::move(condition), caller, *facts_,
                 caller_name, shapes_);
    if (!rows.Matches()) return absl::OkStatus();
    return Replace(loop, rows, *body, caller);
  }

  // The function that computes what the loop makes of one row.
  Function OneRow(const RowLoop& rows, const Function& body, const std::string& name) {
    FunctionBuilder builder(edit_.ops(), name);
    HashMap<Endpoint, Endpoint> there;
    for (const RowLoop::Taken& taken : rows.taken()) {
      const Node& node = body.node(taken.inside.node);
      there[taken.inside] =
          builder.Arg(node.name, node.signature.outputs[taken.inside.slot].dtype, taken.row);
    }
    for (const NodeId id : rows.computation()) {
      std::vector<Endpoint> inputs;
      for (const Endpoint& e : body.node(id).inputs) inputs.push_back(there.at(e));
      there[{id, 0}] = {builder.Copy(body.node(id), std::move(inputs), {}), 0};
    }
    for (const RowLoop::Made& made : rows.made())
      builder.Return(body.results[made.variable].name, there.at(made.value));
    return builder.Build();
  }

  absl::Status Replace(const Node& loop, const RowLoop& rows, const Function& body,
                       Rewrite& caller) {
    VectorizeRequest request{.name = edit_.UniqueFunctionName(absl::StrCat(loop.name, "_rows")),
                             .num_rows = rows.known_limit().value_or(-1),
                             .fall_back = false};
    for (const RowLoop::Taken& taken : rows.taken()) {
      request.stacked.push_back(taken.stacked);
      request.args.push_back({taken.row});
    }
    ProgramBuilder row_program(edit_.ops());
    row_program.SetMain(OneRow(rows, body, request.name + "_one"));
    const absl::StatusOr<VectorizeResult> all = Vectorize(row_program.Build(), request);
    if (absl::IsUnimplemented(all.status())) return absl::OkStatus();
    GYRE_RETURN_IF_ERROR(all.status());
    for (const auto& [name, function] : all->program->functions()) edit_.SetFunction(*function);
    return Call(loop, rows, body, all->function, caller);
  }

  absl::Status Call(const Node& loop, const RowLoop& rows, const Function& body,
                    const std::string& function, Rewrite& caller) {
    const auto options = [&](absl::string_view name) {
      return Rewrite::Options{
          .name = absl::StrCat(loop.name, "/", name), .like = &loop, .before = loop.id};
    };
    const auto integer = [&](int64_t value) {
      return caller.AddConstant(Tensor::Scalar(static_cast<int32_t>(value)), options("rows"));
    };
    const Endpoint count = rows.known_limit() ? integer(*rows.known_limit()) : rows.limit();
    std::vector<Endpoint> args;
    for (const RowLoop::Taken& taken : rows.taken()) {
      if (taken.outside.node >= 0) {
        args.push_back(taken.outside);
        continue;
      }
      GYRE_ASSIGN_OR_RETURN(
          const NodeId numbers,
          caller.Add("Range", {integer(0), count, integer(1)}, {}, options("numbers")));
      args.push_back({numbers, 0});
    }
    args.push_back(count);
    std::vector<DType> types;
    for (const RowLoop::Made& made : rows.made())
      types.push_back(body.node(made.value.node).signature.outputs[made.value.slot].dtype);
    Rewrite::Options call_options = options("all");
    call_options.control_inputs = loop.control_inputs;
    GYRE_ASSIGN_OR_RETURN(const NodeId call, caller.Add("PartitionedCall", args,
                                                        {{"f", FunctionRef{function, nullptr}},
                                                         {"Tout", std::move(types)}},
                                                        std::move(call_options)));
    for (int k = 0; k < static_cast<int>(rows.made().size()); ++k)
      GYRE_RETURN_IF_ERROR(ReplaceList(loop, rows.made()[k], {call, k}, caller));
    for (int i = 0; i < loop.num_outputs(); ++i) {
      if (rows.IsInvariant(i)) caller.Replace({loop.id, i}, rows.InitialOf(i));
      if (rows.IsCounter(i)) caller.Replace({loop.id, i}, count);
    }
    caller.Drop(loop.id, {call});
    return absl::OkStatus();
  }

  // What was a list of the loop is one of the rows of `all`; stacked, it is `all`.
  absl::Status ReplaceList(const Node& loop, const RowLoop::Made& made, Endpoint all,
                           Rewrite& caller) {
    const Endpoint list = {loop.id, made.variable};
    for (const NodeId id : readers_[loop.id]) {
      const Node& stack = caller.node(id);
      if (caller.IsDropped(id) || RowPartOf(stack) != RowPart::kStack || stack.inputs[0] != list ||
          !facts_->IsPure(id) || !made.row.IsFullyKnown() ||
          !AllowsRows(passes::ConstantOf(caller, *facts_, stack.inputs[1]), made.row))
        continue;
      caller.Replace({id, 0}, all);
      caller.Drop(id, {all.node});
    }
    GYRE_ASSIGN_OR_RETURN(
        const NodeId rows,
        caller.Add("TensorListFromTensor", {all, made.element_shape}, {},
                   {.name = absl::StrCat(loop.name, "/list"), .like = &loop, .before = loop.id}));
    caller.Replace(list, {rows, 0});
    return absl::OkStatus();
  }

  const Effects effects_;
  NamedShapes shapes_;
  StagedEdit edit_;
  // Of the function whose loops are looked at.
  const BodyFacts* facts_ = nullptr;
  std::vector<std::vector<NodeId>> readers_;
};

}  // namespace

absl::StatusOr<Staged> RowsPass(const Staged& staged) { return RowsPassRun(staged).Run(); }

}  // namespace gyre
