// Control flow: cond, switch_case, case_, while_loop, for_range, map_fn, scan, foldl, foldr, and
// functions. Branches and bodies are lambdas, which are traced: called while the graph is built, to
// add nodes to a body.
//
//   Value y = cond(x < 0, [&] { return -x; }, [&] { return sqrt(x); });
//   auto [i, sum] = while_loop([&](Value i, Value sum) { return i < n; },
//                              [&](Value i, Value sum) { return std::tuple(i + 1, sum + w * i); },
//                              std::tuple(0, zero));
//
// - A body may use every Value that was made outside of it: it becomes an input of the construct by
//   itself (of a loop: one that does not change). A Value that was made in a body is of no use
//   outside, unless the body returns it.
// - What a body hands in and out is a structure of Values (gyre/structure.h), or nothing.
// - Effects (assignments, prints, assertions) happen in the order in which the program states them,
//   through bodies and iterations. Those of a branch that is not taken do not happen.
// - A lambda may be called several times: again, where the shapes that a loop starts with turn out
//   not to hold in later iterations. Only the last trace counts.
//
// Thread rules are those of the graph.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/export.h"
#include "gyre/core/options.h"
#include "gyre/structure.h"

namespace gyre {

struct LoopOptions {
  std::string name;  // empty: after the construct
  // The loop ends after this many iterations, whatever its condition says.
  std::optional<Operand> maximum_iterations;
  int64_t window = 10;  // iterations that may be in flight at once
  // What a gradient keeps of each iteration. Nothing: as the gradient decides.
  std::optional<MemoryPolicy> memory;
  // Shapes that hold in all iterations, one per leaf of the state. Empty: found out.
  std::vector<PartialShape> shape_invariants;
};

// Of map_fn and scan.
struct IterationOptions {
  LoopOptions loop;
  bool reverse = false;  // from the last row to the first; results stay where their rows are
};

// What is known of a value before it is computed.
struct TensorSpec {
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

// start, start + step, … before limit; implicitly: 0, 1, … before n.
struct Range {
  Operand start;
  Operand limit;
  Operand step;
  Range(Operand n) : start(0, n.where()), limit(std::move(n)), step(1, limit.where()) {}
  template <internal::Number T>
  Range(T n, std::source_location where = std::source_location::current())
      : Range(Operand(n, where)) {}
  Range(const Value& n, std::source_location where = std::source_location::current())
      : Range(Operand(n, where)) {}
  Range(Operand start, Operand limit, Operand step = 1)
      : start(std::move(start)), limit(std::move(limit)), step(std::move(step)) {}
};

namespace internal {

// A traced lambda without its types: from the leaves of its arguments to those of its results.
using BodyFn = std::function<Leaves(absl::Span<const Value>)>;
// From row to what is made of it.
using RowFn = std::function<Leaves(Value index, absl::Span<const Value> state)>;

GYRE_EXPORT std::vector<Value> If(const Operand& predicate, const BodyFn& then_fn,
                                  const BodyFn& else_fn, const std::string& name);
GYRE_EXPORT std::vector<Value> Case(const Operand& index, const std::vector<BodyFn>& branches,
                                    const std::string& name, const std::source_location& where);
// The number of the first predicate that is true; how many there are if none is.
GYRE_EXPORT Value FirstTrue(const std::vector<Operand>& predicates,
                            const std::source_location& where);
GYRE_EXPORT std::vector<Value> While(const Leaves& initial, const BodyFn& condition,
                                     const BodyFn& body, const LoopOptions& options,
                                     const std::source_location& where);
GYRE_EXPORT std::vector<Value> ForRange(const Range& range, const Leaves& initial,
                                        const RowFn& body, const LoopOptions& options,
                                        const std::source_location& where);
GYRE_EXPORT std::vector<Value> MapRows(const Leaves& rows, const BodyFn& body,
                                       const IterationOptions& options,
                                       const std::source_location& where);
// `body` takes the leaves of the accumulator, then those of a row. With `keep` the accumulator
// after each row is returned, else after the last.
GYRE_EXPORT std::vector<Value> FoldRows(const Leaves& rows, const Leaves& initial,
                                        const BodyFn& body, bool keep,
                                        const IterationOptions& options,
                                        const std::source_location& where);

// A function, traced once per dtypes and shapes of its arguments. Shared by the handles to it.
class TracedFunction;
GYRE_EXPORT std::shared_ptr<TracedFunction> MakeFunction(const std::string& name,
                                                         const std::source_location& where);
GYRE_EXPORT std::shared_ptr<TracedFunction> Declare(const std::string& name,
                                                    std::vector<TensorSpec> args,
                                                    std::vector<TensorSpec> results,
                                                    const std::source_location& where);
GYRE_EXPORT void Define(TracedFunction& function, const BodyFn& body,
                        const std::source_location& where);
// The results, and which trace they are of.
GYRE_EXPORT std::pair<std::vector<Value>, int> CallFunction(TracedFunction& function,
                                                            const Leaves& args, const BodyFn& body,
                                                            const std::source_location& where);

template <typename R>
R FromResults(const std::optional<R>& prototype, absl::Span<const Value> leaves) {
  return WithLeaves(*prototype, leaves);
}

template <typename R, typename F>
BodyFn BranchFn(F& f, std::optional<R>& prototype, std::source_location where) {
  return [&f, &prototype, where](absl::Span<const Value>) {
    auto result = CallForStructure(f, where, std::tuple<>());
    static_assert(std::is_same_v<decltype(result), R>,
                  "the branches of a conditional must return structures of one type");
    if (!prototype) prototype = result;
    return LeavesOf(result);
  };
}

}  // namespace internal

// The result of then_fn() if the predicate (a bool scalar) is true, else of else_fn(). Both return
// structures of one type and equal dtypes; shapes may differ. The other branch does not run.
template <typename Then, typename Else>
auto cond(const Operand& predicate, Then then_fn, Else else_fn, const std::string& name = "") {
  using R = decltype(internal::CallForStructure(then_fn, predicate.where(), std::tuple<>()));
  std::optional<R> prototype;
  const std::vector<Value> leaves =
      internal::If(predicate, internal::BranchFn<R>(then_fn, prototype, predicate.where()),
                   internal::BranchFn<R>(else_fn, prototype, predicate.where()), name);
  return internal::ToResult(internal::FromResults(prototype, leaves));
}

// The result of branches[index](). Out of range: of otherwise(), if there is one, else of the last
// branch. R is what the branches return: name it where it is not Value, as in switch_case<void>.
template <typename R = Value>
R switch_case(const Operand& index, std::vector<std::type_identity_t<std::function<R()>>> branches,
              std::type_identity_t<std::function<R()>> otherwise = nullptr,
              const std::string& name = "") {
  using S = internal::Structure<R>;
  if (otherwise) branches.push_back(std::move(otherwise));
  std::optional<S> prototype;
  std::vector<internal::BodyFn> bodies;
  for (const auto& branch : branches)
    bodies.push_back(internal::BranchFn<S>(branch, prototype, index.where()));
  const std::vector<Value> leaves = internal::Case(index, bodies, name, index.where());
  if constexpr (!std::is_void_v<R>) return internal::FromResults(prototype, leaves);
}

template <typename R = Value>
struct CaseBranch {
  Operand when;
  std::function<R()> then;
};

// The result of the first branch whose predicate is true; of otherwise() if there is none. All
// predicates are computed, one branch runs.
template <typename R = Value>
R case_(const std::type_identity_t<std::vector<CaseBranch<R>>>& branches,
        std::type_identity_t<std::function<R()>> otherwise, const std::string& name = "",
        std::source_location where = std::source_location::current()) {
  std::vector<Operand> predicates;
  std::vector<std::function<R()>> functions;
  for (const CaseBranch<R>& branch : branches) {
    predicates.push_back(branch.when);
    functions.push_back(branch.then);
  }
  return switch_case<R>(Operand(internal::FirstTrue(predicates, where), where),
                        std::move(functions), std::move(otherwise), name.empty() ? "case" : name);
}

// Starts with `initial` and replaces it by body(state) as long as condition(state), a bool scalar,
// is true. The state is a structure; the parts of a tuple, pair or array are handed to the lambdas
// one by one. Shapes may change from one iteration to the next.
template <typename Condition, typename Body, typename State>
internal::Structure<State> while_loop(
    Condition condition, Body body, const State& initial, const LoopOptions& options = {},
    std::source_location where = std::source_location::current()) {
  using S = internal::Structure<State>;
  const S state = internal::ToStructure(initial, where);
  const auto condition_fn = [&](absl::Span<const Value> leaves) {
    return internal::LeavesOf(
        internal::CallForStructure(condition, where, internal::WithLeaves(state, leaves)));
  };
  const auto body_fn = [&](absl::Span<const Value> leaves) {
    auto next = internal::CallForStructure(body, where, internal::WithLeaves(state, leaves));
    static_assert(std::is_same_v<decltype(next), S>,
                  "the body of a loop must return a structure of the type of its state");
    return internal::LeavesOf(next);
  };
  return internal::WithLeaves(
      state, internal::While(internal::LeavesOf(state), condition_fn, body_fn, options, where));
}

// The same for a state of several Values, given one after the other.
template <typename Condition, typename Body>
std::tuple<Value, Value> while_loop(Condition condition, Body body, const Operand& a,
                                    const Operand& b, const LoopOptions& options = {}) {
  return while_loop(condition, body, std::tuple(to_value(a), to_value(b)), options, a.where());
}
template <typename Condition, typename Body>
std::tuple<Value, Value, Value> while_loop(Condition condition, Body body, const Operand& a,
                                           const Operand& b, const Operand& c,
                                           const LoopOptions& options = {}) {
  return while_loop(condition, body, std::tuple(to_value(a), to_value(b), to_value(c)), options,
                    a.where());
}
template <typename Condition, typename Body>
std::tuple<Value, Value, Value, Value> while_loop(Condition condition, Body body, const Operand& a,
                                                  const Operand& b, const Operand& c,
                                                  const Operand& d,
                                                  const LoopOptions& options = {}) {
  return while_loop(condition, body, std::tuple(to_value(a), to_value(b), to_value(c), to_value(d)),
                    options, a.where());
}

// Replaces the state by body(i, state) for each i of the range. i has the dtype of the bounds.
template <typename Body, typename State>
internal::Structure<State> for_range(const Range& range, Body body, const State& initial,
                                     const LoopOptions& options = {},
                                     std::source_location where = std::source_location::current()) {
  using S = internal::Structure<State>;
  const S state = internal::ToStructure(initial, where);
  const auto body_fn = [&](Value i, absl::Span<const Value> leaves) {
    auto next = internal::CallForStructure(body, where, internal::WithLeaves(state, leaves), i);
    static_assert(std::is_same_v<decltype(next), S>,
                  "the body of a loop must return a structure of the type of its state");
    return internal::LeavesOf(next);
  };
  return internal::WithLeaves(
      state, internal::ForRange(range, internal::LeavesOf(state), body_fn, options, where));
}

// Runs body(i) for each i of the range, for its effects.
template <typename Body>
void for_range(const Range& range, Body body, const LoopOptions& options = {},
               std::source_location where = std::source_location::current()) {
  for_range(
      range, [&](Value i, std::tuple<>) { return body(i), std::tuple<>(); }, std::tuple<>(),
      options, where);
}

// fn(row) for each row (along axis 0) of `rows`, a structure whose leaves have equally many rows;
// the results are the rows of what it returns.
template <typename Fn, typename Rows>
auto map_fn(Fn fn, const Rows& rows, const IterationOptions& options = {},
            std::source_location where = std::source_location::current()) {
  const auto structure = internal::ToStructure(rows, where);
  using R = decltype(internal::CallForStructure(fn, where, structure));
  std::optional<R> prototype;
  const auto body = [&](absl::Span<const Value> leaves) {
    prototype = internal::CallForStructure(fn, where, internal::WithLeaves(structure, leaves));
    return internal::LeavesOf(*prototype);
  };
  const std::vector<Value> results =
      internal::MapRows(internal::LeavesOf(structure), body, options, where);
  return internal::ToResult(internal::FromResults(prototype, results));
}

namespace internal {

template <typename Fn, typename Rows, typename State>
Structure<State> Fold(Fn& fn, const Rows& rows, const State& initial, bool keep,
                      const IterationOptions& options, std::source_location where) {
  using S = Structure<State>;
  const auto row_structure = ToStructure(rows, where);
  const S state = ToStructure(initial, where);
  const Leaves start = LeavesOf(state);
  const auto body = [&](absl::Span<const Value> leaves) {
    const auto row = WithLeaves(row_structure, leaves.subspan(start.values.size()));
    auto next = ToStructure(fn(WithLeaves(state, leaves), row), where);
    static_assert(std::is_same_v<decltype(next), S>,
                  "the function of a fold or scan must return a structure of its state's type");
    return LeavesOf(next);
  };
  return WithLeaves(state, FoldRows(LeavesOf(row_structure), start, body, keep, options, where));
}

}  // namespace internal

// Starts with `initial` and replaces it by fn(state, row) for each row: from the first to the last
// (foldl), or from the last to the first (foldr).
template <typename Fn, typename Rows, typename State>
internal::Structure<State> foldl(Fn fn, const Rows& rows, const State& initial,
                                 const LoopOptions& options = {},
                                 std::source_location where = std::source_location::current()) {
  return internal::Fold(fn, rows, initial, false, {options, false}, where);
}
template <typename Fn, typename Rows, typename State>
internal::Structure<State> foldr(Fn fn, const Rows& rows, const State& initial,
                                 const LoopOptions& options = {},
                                 std::source_location where = std::source_location::current()) {
  return internal::Fold(fn, rows, initial, false, {options, true}, where);
}

// As foldl, with the state after each row as the rows of what is returned.
template <typename Fn, typename Rows, typename State>
internal::Structure<State> scan(Fn fn, const Rows& rows, const State& initial,
                                const IterationOptions& options = {},
                                std::source_location where = std::source_location::current()) {
  return internal::Fold(fn, rows, initial, true, options, where);
}

// A function of the graph that was current when it was made, called with (): a call is one node,
// PartitionedCall. Traced when it is first called, and again for arguments of other dtypes or
// shapes. It may use Values of where it was made.
template <typename Signature>
class GraphFunction;  // of R(Args...)

template <typename R, typename... Args>
class GraphFunction<R(Args...)> {
 public:
  using Fn = std::function<R(Args...)>;
  // Arguments that are Values may be given as operands.
  template <typename T>
  using Given =
      std::conditional_t<std::is_same_v<std::decay_t<T>, Value>, Operand, std::decay_t<T>>;

  GraphFunction(std::shared_ptr<internal::TracedFunction> function, Fn fn,
                std::source_location where)
      : state_(std::make_shared<State>(State{std::move(function), std::move(fn), where, {}})) {}

  R operator()(const Given<Args>&... args) const {
    const Arguments arguments(Convert<Args>(args)...);
    std::source_location where = state_->where;
    (Locate(args, where), ...);
    std::optional<Result> result;
    const auto [leaves, trace] = internal::CallFunction(
        *state_->function, internal::LeavesOf(arguments), Traced(arguments, result), where);
    if (result) state_->prototypes.insert_or_assign(trace, *result);
    const auto prototype = state_->prototypes.find(trace);
    const Result& like = prototype == state_->prototypes.end() ? Result() : prototype->second;
    if constexpr (!std::is_void_v<R>) return internal::WithLeaves(like, leaves);
  }

  // Says what a declared function does. `fn` may call it.
  void define(Fn fn, std::source_location where = std::source_location::current()) {
    state_->fn = std::move(fn);
    std::optional<Result> result;
    internal::Define(*state_->function, Traced(Arguments(), result), where);
  }

 private:
  using Arguments = std::tuple<std::decay_t<Args>...>;
  using Result = internal::Structure<R>;
  struct State {
    std::shared_ptr<internal::TracedFunction> function;
    Fn fn;
    std::source_location where;
    std::map<int, Result> prototypes;  // by trace: for what a structure holds beside its leaves
  };

  template <typename T>
  static std::decay_t<T> Convert(const Given<T>& given) {
    if constexpr (std::is_same_v<std::decay_t<T>, Value>) {
      return to_value(given);
    } else {
      return given;
    }
  }
  template <typename T>
  static void Locate(const T& given, std::source_location& where) {
    if constexpr (std::is_same_v<T, Operand>) where = given.where();
  }

  internal::BodyFn Traced(Arguments like, std::optional<Result>& result) const {
    return [state = state_.get(), like = std::move(like), &result](absl::Span<const Value> leaves) {
      const auto call = [state](const std::decay_t<Args>&... args) { return state->fn(args...); };
      const Arguments arguments = internal::WithLeaves(like, leaves);
      if constexpr (std::is_void_v<R>) {
        std::apply(call, arguments);
        result = Result();
      } else {
        result = std::apply(call, arguments);
      }
      return internal::LeavesOf(*result);
    };
  }

  std::shared_ptr<State> state_;
};

// The function that `fn`, a callable with one signature, describes; a generic lambda's is named:
// function<Value(Value)>("twice", [](auto x) { return x + x; }).
template <typename Signature>
GraphFunction<Signature> function(const std::string& name, std::function<Signature> fn,
                                  std::source_location where = std::source_location::current()) {
  return GraphFunction<Signature>(internal::MakeFunction(name, where), std::move(fn), where);
}
template <typename Fn>
auto function(const std::string& name, Fn fn,
              std::source_location where = std::source_location::current()) {
  return function(name, std::function(std::move(fn)), where);
}

// A function whose types are known before what it does, so that it can call itself:
//
//   auto fib = declare<Value(Value)>("fib", {{DType::kInt32, shape}}, {{DType::kInt32, shape}});
//   fib.define([&](Value n) {
//     return cond(n < 2, [&] { return n; }, [&] { return fib(n - 1) + fib(n - 2); });
//   });
//
// One spec per leaf of the arguments, and of the results. Functions that call each other are
// declared first, and may not use outside Values or have effects, except through functions that are
// defined before they are called.
template <typename Signature>
GraphFunction<Signature> declare(const std::string& name, std::vector<TensorSpec> args,
                                 std::vector<TensorSpec> results,
                                 std::source_location where = std::source_location::current()) {
  return GraphFunction<Signature>(
      internal::Declare(name, std::move(args), std::move(results), where), nullptr, where);
}

}  // namespace gyre
