// while_loop and for_range: While.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "front/body.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "front/op_call.h"
#include "gyre/control_flow.h"
#include "gyre/functions.h"
#include "gyre/math.h"
#include "ir/value_info.h"
#include "session/literal.h"

namespace gyre::internal {
namespace {

// Traces condition and body until what is said of the state is true of all iterations, and adds the
// node.
class LoopBuilder {
 public:
  LoopBuilder(const Leaves& initial, const BodyFn& condition, const BodyFn& body,
              const LoopOptions& options, const std::source_location& where)
      : initial_(initial),
        condition_(condition),
        body_(body),
        options_(options),
        where_(where),
        scope_(CurrentScope(initial.values, where)),
        name_(options.name.empty() ? "while" : options.name) {
    CheckOptions();
  }

  std::vector<Value> Build() {
    inputs_ = UseAll(*scope_, initial_.values, where_);
    StartState();
    const std::shared_ptr<GraphState> graph = scope_->graph();
    const std::string base = FunctionBase(*scope_, name_);
    const std::string number = graph->follows_session_rules() ? "_0" : "";
    cond_name_ = graph->UniqueFunctionName(absl::StrCat(base, "_cond", number));
    body_name_ = graph->UniqueFunctionName(absl::StrCat(base, "_body", number));
    Trace();
    while (Widen()) {
      for (const TracedBody& body : bodies_) body.scope->Discard();
      Trace();
    }
    return AddNode();
  }

 private:
  void CheckOptions() const {
    if (options_.window < 1) {
      ThrowInvalid(absl::StrCat("the window of loop '", name_, "' must be at least 1, not ",
                                options_.window),
                   where_);
    }
    if (options_.memory) {
      const absl::Status sound = CheckMemoryPolicy(*options_.memory);
      if (!sound.ok()) ThrowInvalid(absl::StrCat("loop '", name_, "': ", sound.message()), where_);
    }
    const size_t n = options_.shape_invariants.size();
    if (n != 0 && n != initial_.values.size()) {
      ThrowInvalid(absl::StrCat("loop '", name_, "' has a state of ", initial_.values.size(),
                                " values, but is given ", n, " shape invariants"),
                   where_);
    }
  }

  bool has_invariants() const { return !options_.shape_invariants.empty(); }

  void StartState() {
    state_.emplace();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      state_->push_back(ShapeOnly(scope_->info(inputs_[i])));
      if (!has_invariants()) continue;
      const PartialShape& invariant = options_.shape_invariants[i];
      RequireInvariant(i, (*state_)[i].shape, "starts with");
      (*state_)[i].shape = invariant;
    }
  }

  void RequireInvariant(size_t i, const PartialShape& shape, absl::string_view verb) const {
    const PartialShape& invariant = options_.shape_invariants[i];
    if (invariant.Widen(shape) == invariant) return;
    ThrowInvalid(absl::StrCat("loop '", name_, "': ", Component(initial_.paths[i]),
                              " of the state is to have shape ", invariant.ToString(),
                              ", as its shape_invariants say, but ", verb, " ", shape.ToString()),
                 where_);
  }

  void Trace() {
    std::vector<BodyArg> args;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const std::string& path = initial_.paths[i];
      args.push_back({.name = path.empty() ? "state" : absl::StrCat("state_", path),
                      .dtype = initial_.values[i].dtype(),
                      .info = (*state_)[i]});
      if (has_invariants()) args.back().promised = options_.shape_invariants[i];
    }
    const std::string line = LineOf(where_);
    bodies_.clear();
    bodies_.push_back(TraceBody(scope_, cond_name_,
                                {absl::StrCat("the condition of loop '", name_, "'"), line}, args,
                                condition_, where_));
    CheckCondition();
    bodies_.push_back(TraceBody(scope_, body_name_,
                                {absl::StrCat("the body of loop '", name_, "'"), line}, args, body_,
                                where_));
    CheckBody();
  }

  void CheckCondition() const {
    const TracedBody& condition = bodies_[0];
    const std::string what = absl::StrCat("the condition of loop '", name_, "' must return ");
    if (condition.results.size() != 1)
      ThrowInvalid(absl::StrCat(what, "one value, not ", condition.results.size()), where_);
    if (condition.dtype(0) != DType::kBool) {
      ThrowInvalid(
          absl::StrCat(what, "a bool, not ", DTypeName(condition.dtype(0)), condition.MadeAt(0)),
          where_);
    }
    const PartialShape& shape = condition.info(0).shape;
    if (shape.has_rank() && shape.rank() != 0) {
      ThrowInvalid(absl::StrCat(what, "a scalar, not a value of shape ", shape.ToString(),
                                condition.MadeAt(0)),
                   where_);
    }
  }

  void CheckBody() const {
    const TracedBody& body = bodies_[1];
    if (body.results.size() != inputs_.size()) {
      ThrowInvalid(absl::StrCat("the body of loop '", name_,
                                "' must return as many values as the "
                                "state has, ",
                                inputs_.size(), ", not ", body.results.size()),
                   where_);
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const DType want = initial_.values[i].dtype();
      if (body.dtype(i) != want) {
        ThrowInvalid(absl::StrCat("loop '", name_, "': ", Component(initial_.paths[i]),
                                  " of the state is ", DTypeName(want), ", but the body returns ",
                                  DTypeName(body.dtype(i)), body.MadeAt(i)),
                     where_);
      }
      if (has_invariants()) RequireInvariant(i, body.info(i).shape, "the body returns");
    }
  }

  // Lets the state be what the body returns, too. True if that was news.
  bool Widen() {
    if (has_invariants()) return false;
    std::vector<ValueInfo> next;
    for (size_t i = 0; i < inputs_.size(); ++i) next.push_back(ShapeOnly(bodies_[1].info(i)));
    return JoinRepeated(state_, next, changes_);
  }

  std::vector<Value> AddNode() {
    const std::vector<Value> captures = JoinCaptures(bodies_);
    Call call;
    call.op = "StatelessWhile";
    call.stateful_op = "While";
    call.name = name_;
    call.inputs = inputs_;
    call.infos = *state_;
    for (const Value& value : initial_.values) call.output_types.push_back(value.dtype());
    for (const Value& capture : captures) {
      const Endpoint e = scope_->Use(capture, where_);
      call.inputs.push_back(e);
      call.infos.push_back(scope_->info(e));
      // The body returns it as it was.
      bodies_[1].results.push_back(bodies_[1].scope->Use(capture, where_));
      bodies_[1].paths.push_back(absl::StrCat("captured_", call.inputs.size() - inputs_.size()));
    }
    FinishBodies(bodies_, captures);
    call.attrs.Set("cond", FunctionRef{bodies_[0].name(), nullptr});
    call.attrs.Set("body", FunctionRef{bodies_[1].name(), nullptr});
    call.attrs.Set("parallel_iterations", options_.window);
    if (options_.memory) call.attrs.Set("_gyre_memory", to_string(*options_.memory));
    return AddCall(scope_, std::move(call), bodies_, where_);
  }

  const Leaves& initial_;
  const BodyFn& condition_;
  const BodyFn& body_;
  const LoopOptions& options_;
  const std::source_location where_;
  const ScopePtr scope_;
  const std::string name_;
  std::string cond_name_, body_name_;
  std::vector<Endpoint> inputs_;
  ValueInfos state_;  // of all iterations
  int changes_ = 0;
  std::vector<TracedBody> bodies_;  // the condition, the body
};

// A loop that also counts its iterations, in a last component of its state.
std::vector<Value> LimitedWhile(const Leaves& initial, const BodyFn& condition, const BodyFn& body,
                                const LoopOptions& options, const std::source_location& where) {
  const Operand limit(to_value(*options.maximum_iterations), where);
  Leaves counted = initial;
  counted.values.push_back(to_value(Operand(zeros_like(limit), where)));
  counted.paths.push_back("iteration");
  const auto counted_condition = [&](absl::Span<const Value> state) {
    Leaves go_on = condition(state.first(state.size() - 1));
    if (go_on.values.size() != 1) return go_on;
    const Operand more(Operand(state.back(), where) < limit, where);
    return Leaves{{more && Operand(go_on.values[0], where)}, {""}};
  };
  const auto counted_body = [&](absl::Span<const Value> state) {
    Leaves next = body(state.first(state.size() - 1));
    next.values.push_back(Operand(state.back(), where) + Operand(1, where));
    next.paths.push_back("iteration");
    return next;
  };
  LoopOptions rest = options;
  rest.maximum_iterations.reset();
  if (!rest.shape_invariants.empty()) rest.shape_invariants.push_back(PartialShape::Scalar());
  std::vector<Value> results =
      LoopBuilder(counted, counted_condition, counted_body, rest, where).Build();
  results.pop_back();
  return results;
}

// The number that runs through a Range.
class Counter {
 public:
  Counter(const Range& range, const std::source_location& where)
      : where_(where),
        dtype_(TypeOf(range)),
        start_(Typed(range.start)),
        limit_(Typed(range.limit)),
        step_(Typed(range.step)) {
    if (!step_.is_literal()) return;
    const Tensor step = ValueOrThrow(ConvertLiteral(step_.literal(), DType::kInt64));
    if (step.rank() != 0 || step.scalar<int64_t>() == 0)
      ThrowInvalid("the step of a range must be a number other than 0", step_.where());
    direction_ = step.scalar<int64_t>() > 0 ? 1 : -1;
  }

  const Operand& start() const { return start_; }
  Value Next(const Value& i) const { return Operand(i, where_) + step_; }
  Value IsBeforeLimit(const Value& i) const {
    const Operand here(i, where_);
    if (direction_ > 0) return here < limit_;
    if (direction_ < 0) return here > limit_;
    const Operand zero(Typed(Operand(0, where_)));
    return (step_ > zero && here < limit_) || (step_ < zero && here > limit_);
  }

 private:
  // That of the bounds that are Values; else int32.
  static DType TypeOf(const Range& range) {
    for (const Operand* bound : {&range.limit, &range.start, &range.step}) {
      if (!bound->is_literal()) return bound->value().dtype();
    }
    return range.limit.literal().dtype();
  }

  Operand Typed(const Operand& bound) const {
    if (!bound.is_literal()) return bound;
    absl::StatusOr<Tensor> number = ConvertLiteral(bound.literal(), dtype_);
    if (!number.ok()) ThrowInvalid(number.status().message(), bound.where());
    return Operand(*std::move(number), bound.where());
  }

  const std::source_location where_;
  const DType dtype_;
  const Operand start_, limit_, step_;
  int direction_ = 0;  // of the step: up 1, down -1; 0: known when the program runs
};

}  // namespace

std::vector<Value> While(const Leaves& initial, const BodyFn& condition, const BodyFn& body,
                         const LoopOptions& options, const std::source_location& where) {
  if (options.maximum_iterations) return LimitedWhile(initial, condition, body, options, where);
  return LoopBuilder(initial, condition, body, options, where).Build();
}

std::vector<Value> ForRange(const Range& range, const Leaves& initial, const RowFn& body,
                            const LoopOptions& options, const std::source_location& where) {
  const Counter counter(range, where);
  Leaves counted = {{to_value(counter.start())}, {"index"}};
  counted.values.insert(counted.values.end(), initial.values.begin(), initial.values.end());
  counted.paths.insert(counted.paths.end(), initial.paths.begin(), initial.paths.end());
  const auto condition = [&](absl::Span<const Value> state) {
    return Leaves{{counter.IsBeforeLimit(state[0])}, {""}};
  };
  const auto counted_body = [&](absl::Span<const Value> state) {
    Leaves next = body(state[0], state.subspan(1));
    next.values.insert(next.values.begin(), counter.Next(state[0]));
    next.paths.insert(next.paths.begin(), "index");
    return next;
  };
  LoopOptions rest = options;
  if (rest.name.empty()) rest.name = "for";
  if (!rest.shape_invariants.empty())
    rest.shape_invariants.insert(rest.shape_invariants.begin(), PartialShape::Scalar());
  std::vector<Value> results = While(counted, condition, counted_body, rest, where);
  results.erase(results.begin());
  return results;
}

}  // namespace gyre::internal
