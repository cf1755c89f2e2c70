// While and For.
//
//              ╭───────────────────────────────── NextIteration <── body <─╮
//              v                                                           │ 1
//    x ─> Enter ─> Merge ──┬──────────────────────────────────────────> Switch ─ 0 ─> Exit ─> x'
//                          ╰──> cond ──> LoopCond ─────────────────────────^
//
//    n ─> Enter (constant) ──> cond, body        n does not change: n' is n itself
//
// One such row per variable that changes. The pivot of the condition is a Merge, that of the body
// the side 1 of a Switch. A loop that changes nothing gets a token to open its frame with. With
// effects, the token also carries their order: from the entry into the condition's, from these into
// the body's, from these into the next iteration's; its Exit comes after all of them.
//
// For is such a loop, with a counter k:
//
//    iterations = _ForTripCount(start, limit, delta)
//    k = 0; while (k < iterations) { values = body(int32(start + k * delta), values); k = k + 1 }
#include <utility>

#include "absl/strings/str_cat.h"
#include "lower/expander.h"

namespace gyre::lower {
namespace {

// A For names no window; the wire's default for a While.
constexpr int64_t kDefaultWindow = 10;

}  // namespace

class LoopLowering {
 public:
  LoopLowering(Expander& expander, ExpandedBody& body, Structured& structured)
      : x_(expander),
        body_(body),
        structured_(structured),
        is_for_(SelectorOf(*structured.node) == Selector::kBounds),
        outside_(structured.place),
        num_selectors_(NumSelectorInputs(*structured.node)) {}

  void Lower(NodeState& state) {
    OpenFrame();
    CollectVariables();
    MakeEnters();
    MakeMerges();
    RunCondition();
    MakeSwitches();
    RunBody();
    CloseRows();
    MakeExits(state);
  }

 private:
  struct Variable {
    std::string name;
    Value initial;
    bool is_invariant = false;
    Endpoint enter = {}, merge = {}, on = {},
             off = {};  // of one that changes: on and off are its Switch's outputs
  };

  std::string Name(absl::string_view what) const {
    return absl::StrCat(structured_.path, "/", what);
  }
  Endpoint Plumb(Where where, absl::string_view op, absl::string_view name,
                 const std::vector<Endpoint>& inputs, std::vector<NodeId> controls = {},
                 AttrMap attrs = {}) {
    return x_.emitter().Plumb1(where, op, Name(name), inputs, std::move(controls),
                               std::move(attrs));
  }
  Where InCondition() const { return {structured_.node, condition_use_.scope}; }
  Where InBody() const { return {structured_.node, body_use_.scope}; }
  // A value of the loop's frame that is dead when the iteration is.
  Value Inside(Endpoint e) const { return {e, loop_, true, false}; }

  void OpenFrame() {
    if (!is_for_) condition_use_ = x_.Prepare(structured_, body_, 0);
    body_use_ = x_.Prepare(structured_, body_, is_for_ ? 0 : 1);
    if (is_for_) condition_use_ = body_use_;
    const int64_t window =
        structured_.node->attrs.GetOr<int64_t>("parallel_iterations", kDefaultWindow);
    loop_ = x_.OpenLoop(
        {outside_.loop, "", window > 0 ? window : 1, structured_.where, structured_.path});
    in_condition_.loop = in_body_.loop = loop_;
    in_condition_.constants = in_body_.constants = outside_.constants;
  }

  void CollectVariables() {
    bool opens = false;
    for (int i = num_selectors_; i < static_cast<int>(structured_.inputs.size()); ++i) {
      const int number = i - num_selectors_;
      Variable variable{.name = absl::StrCat(number), .initial = structured_.inputs[i]};
      variable.is_invariant =
          body_use_.function != nullptr && x_.facts().PassedArgument(*body_use_.function, number) ==
                                               ArgOfInput(*structured_.node, i);
      opens |= !variable.is_invariant;
      variables_.push_back(std::move(variable));
    }
    if (is_for_) {
      CountIterations();
      counter_ = AddVariable("counter", Tensor::Scalar<int64_t>(0));
      opens = true;
    }
    if (structured_.finishes || !opens) token_ = AddVariable("token", Tensor::Scalar<bool>(true));
  }

  int AddVariable(std::string name, const Tensor& initial) {
    const Value value = x_.Constant(initial, outside_, structured_.where, Name(name));
    variables_.push_back({.name = std::move(name), .initial = value});
    return static_cast<int>(variables_.size()) - 1;
  }

  void CountIterations() {
    bool gated = false;
    std::vector<Endpoint> bounds;
    for (int i = 0; i < 3; ++i) {
      bounds.push_back(x_.Use(structured_.inputs[i], outside_));
      gated |= structured_.inputs[i].gated;
    }
    std::vector<NodeId> controls;
    if (outside_.is_gated() && !gated) controls.push_back(outside_.pivot);
    iterations_ =
        Plumb(structured_.where, "_ForTripCount", "iterations", bounds, std::move(controls));
  }

  void MakeEnters() {
    for (size_t i = 0; i < variables_.size(); ++i) {
      Variable& variable = variables_[i];
      if (variable.is_invariant) continue;
      std::vector<NodeId> controls;
      const bool takes_entry = static_cast<int>(i) == token_ && structured_.finishes;
      if (takes_entry) {
        controls.push_back(structured_.entry);
      } else if (outside_.is_gated() && !variable.initial.gated) {
        controls.push_back(outside_.pivot);
      }
      AttrMap attrs;
      attrs.Set("frame_name", x_.loops_[loop_].frame_name);
      attrs.Set("is_constant", false);
      attrs.Set("parallel_iterations", x_.loops_[loop_].parallel_iterations);
      variable.enter =
          Plumb(structured_.where, "Enter", absl::StrCat("enter_", variable.name),
                {x_.Use(variable.initial, outside_)}, std::move(controls), std::move(attrs));
    }
  }

  void MakeMerges() {
    for (Variable& variable : variables_) {
      if (variable.is_invariant) continue;
      // The second input is the back edge: see CloseRows.
      variable.merge = Plumb(InCondition(), "Merge", absl::StrCat("merge_", variable.name),
                             {variable.enter, variable.enter});
      if (!in_condition_.is_gated()) in_condition_.pivot = variable.merge.node;
    }
  }

  void RunCondition() {
    Value go_on;
    if (is_for_) {
      const Endpoint iterations = x_.Use({iterations_, outside_.loop, true, false}, in_condition_);
      go_on =
          Inside(Plumb(InCondition(), "Less", "more", {variables_[counter_].merge, iterations}));
    } else {
      const NodeId entry = structured_.finishes ? variables_[token_].merge.node : -1;
      const Function* condition = condition_use_.function;
      std::vector<DType> types = {DType::kBool};
      if (condition != nullptr && condition->results.size() == 1 &&
          condition->results[0].dtype != DType::kInvalid) {
        types[0] = condition->results[0].dtype;
      }
      Expansion expansion =
          x_.Expand(condition_use_, Arguments(&Variable::merge), types, in_condition_, entry);
      go_on = x_.Gated(expansion.results[0], in_condition_, InCondition(), Name("go_on"));
      const Endpoint source = condition == nullptr ? Endpoint() : condition->results[0].value;
      go_on =
          x_.Condition(go_on, condition, source, in_condition_, InCondition(), Name("condition"));
      after_condition_ = std::move(expansion.completion);
    }
    loop_cond_ = Plumb(InCondition(), "LoopCond", "loop_cond", {go_on.e});
  }

  // The variables as the functions see them: those that change as `side` of their row.
  std::vector<Value> Arguments(Endpoint Variable::* side) const {
    std::vector<Value> args;
    for (const Variable& variable : variables_) {
      if (args.size() + num_selectors_ == structured_.inputs.size()) break;  // of the loop's own
      Value value = variable.initial;
      value.gated = value.ordered = false;
      args.push_back(variable.is_invariant ? value : Inside(variable.*side));
    }
    return args;
  }

  void MakeSwitches() {
    Endpoint first;
    for (size_t i = 0; i < variables_.size(); ++i) {
      Variable& variable = variables_[i];
      if (variable.is_invariant) continue;
      Endpoint value = variable.merge;
      if (static_cast<int>(i) == token_ && !after_condition_.empty()) {
        value = Plumb(InCondition(), "Identity", "condition_finished", {value}, after_condition_);
      }
      const Endpoint off =
          Plumb(InBody(), "Switch", absl::StrCat("switch_", variable.name), {value, loop_cond_});
      variable.off = off;
      variable.on = {off.node, 1};
      if (first.node < 0) first = variable.on;
    }
    in_body_.pivot = Plumb(InBody(), "Identity", "body", {first}).node;
  }

  void RunBody() {
    std::vector<Value> args = Arguments(&Variable::on);
    if (is_for_) args.insert(args.begin(), Inside(CounterValue()));
    NodeId entry = -1;
    if (structured_.finishes) {
      entry = Plumb(InBody(), "Identity", "body_entry", {variables_[token_].on}).node;
    }
    Expansion expansion =
        x_.Expand(body_use_, std::move(args), OutputTypes(*structured_.node), in_body_, entry);
    results_ = std::move(expansion.results);
    if (is_for_) {
      const Value one =
          x_.Constant(Tensor::Scalar<int64_t>(1), outside_, structured_.where, Name("one"));
      results_.push_back(Inside(Plumb(InBody(), "AddV2", "next_counter",
                                      {variables_[counter_].on, x_.Use(one, in_body_)})));
    }
    if (token_ < 0) return;
    Endpoint token = variables_[token_].on;
    if (!expansion.completion.empty()) {
      token = Plumb(InBody(), "Identity", "body_finished", {token}, expansion.completion);
    }
    results_.push_back(Inside(token));
  }

  // start + k * delta, in 64 bits until it is known to fit.
  Endpoint CounterValue() {
    const auto wide = [&](int input, absl::string_view name) {
      const Value bound =
          x_.Gated(structured_.inputs[input], outside_, structured_.where, Name(name));
      AttrMap attrs;
      attrs.Set("DstT", DType::kInt64);
      const Endpoint e = Plumb(structured_.where, "Cast", name, {bound.e}, {}, std::move(attrs));
      return x_.Use({e, outside_.loop, true, false}, in_body_);
    };
    const Endpoint offset =
        Plumb(InBody(), "Mul", "offset", {variables_[counter_].on, wide(2, "delta")});
    const Endpoint value = Plumb(InBody(), "AddV2", "value", {wide(0, "start"), offset});
    AttrMap attrs;
    attrs.Set("DstT", DType::kInt32);
    return Plumb(InBody(), "Cast", "index", {value}, {}, std::move(attrs));
  }

  void CloseRows() {
    for (size_t i = 0; i < variables_.size(); ++i) {
      const Variable& variable = variables_[i];
      if (variable.is_invariant) continue;
      const Value next =
          x_.Gated(results_[i], in_body_, InBody(), Name(absl::StrCat("result_", variable.name)));
      const Endpoint back =
          Plumb(InBody(), "NextIteration", absl::StrCat("next_", variable.name), {next.e});
      x_.emitter().SetInput(variable.merge.node, 1, back);
    }
  }

  void MakeExits(NodeState& state) {
    for (size_t i = 0; i < variables_.size(); ++i) {
      const Variable& variable = variables_[i];
      Value out = variable.initial;
      if (!variable.is_invariant) {
        const Endpoint exit =
            Plumb(InBody(), "Exit", absl::StrCat("exit_", variable.name), {variable.off});
        out = {exit, outside_.loop, true, false};
      } else if (is_for_) {  // not there if the bounds are wrong
        const Endpoint e =
            Plumb(structured_.where, "Identity", absl::StrCat("output_", variable.name),
                  {x_.Use(variable.initial, outside_)}, {iterations_.node});
        out = {e, outside_.loop, true, false};
      }
      if (static_cast<int>(i) < structured_.node->num_outputs()) {
        state.outputs.push_back(out);
      } else {
        state.waits.push_back(out);
      }
    }
    if (structured_.finishes) state.completion = state.waits.back().e.node;
  }

  Expander& x_;
  ExpandedBody& body_;
  Structured& structured_;
  const bool is_for_;
  const Place& outside_;
  const int num_selectors_;
  int loop_ = 0;
  CalleeUse condition_use_;  // of a For: its body's
  CalleeUse body_use_;
  Place in_condition_;
  Place in_body_;
  std::vector<Variable> variables_;  // the node's own, then the counter, then the token
  int counter_ = -1;
  int token_ = -1;
  Endpoint iterations_;
  Endpoint loop_cond_;
  std::vector<NodeId> after_condition_;
  std::vector<Value> results_;
};

void LowerLoop(Expander& expander, ExpandedBody& body, Structured& structured, NodeState& state) {
  LoopLowering(expander, body, structured).Lower(state);
}

}  // namespace gyre::lower
