#include "front/tape_record.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "front/error.h"
#include "front/op_call.h"
#include "front/scope.h"
#include "grad/dependence.h"

namespace gyre::internal {
namespace {

// Of one scope.
struct Recorded {
  std::vector<bool> nodes;                 // those that the tape has recorded
  std::vector<std::vector<bool>> tracked;  // by node and output: watched, or computed from that
  bool IsTracked(Endpoint e) const { return tracked[e.node][e.slot]; }
};

bool IsDuring(const TapeRecord& record, uint64_t clock) {
  return std::any_of(
      record.spans.begin(), record.spans.end(),
      [clock](const TapeRecord::Span& span) { return span.begin <= clock && clock < span.end; });
}

Recorded RecordedIn(const Scope& scope, const TapeRecord& record) {
  const Function& function = scope.function();
  Recorded recorded;
  recorded.nodes.resize(function.nodes.size());
  for (const Node& node : function.nodes)
    recorded.tracked.emplace_back(static_cast<size_t>(node.num_outputs()));
  if (scope.parent() != nullptr) {
    const Recorded outside = RecordedIn(*scope.parent(), record);
    for (const Value& capture : scope.captures()) {
      const Endpoint here = *scope.Find(capture);
      recorded.tracked[here.node][here.slot] = outside.IsTracked({capture.node(), capture.slot()});
    }
  }
  auto watched = record.watched.begin();
  const auto watch_until = [&](uint64_t clock) {
    for (; watched != record.watched.end() && watched->since <= clock; ++watched) {
      if (const auto here = scope.Find(watched->value))
        recorded.tracked[here->node][here->slot] = true;
    }
  };
  for (const Node& node : function.nodes) {
    const uint64_t made = scope.made_at(node.id);
    watch_until(made);
    if (!IsDuring(record, made) || !std::any_of(node.inputs.begin(), node.inputs.end(),
                                                [&](Endpoint e) { return recorded.IsTracked(e); }))
      continue;
    recorded.nodes[node.id] = true;
    recorded.tracked[node.id].assign(recorded.tracked[node.id].size(), true);
  }
  watch_until(UINT64_MAX);
  return recorded;
}

// What recorded nodes, and ys, take from others, but for what may have come in from where it was
// tracked: whether a gradient leads there is another question.
std::vector<Value> StopsOf(const ScopePtr& scope, const Recorded& recorded,
                           const std::vector<Endpoint>& ys) {
  const Function& function = scope->function();
  HashSet<Endpoint> seen;
  std::vector<Value> stops;
  const auto stop_at = [&](Endpoint e) {
    const bool is_tracked_arg =
        function.node(e.node).kind() == OpKind::kArg && recorded.IsTracked(e);
    if (recorded.nodes[e.node] || is_tracked_arg || !seen.insert(e).second) return;
    stops.push_back(scope->ValueAt(e));
  };
  for (const Node& node : function.nodes) {
    if (!recorded.nodes[node.id]) continue;
    for (const Endpoint& input : node.inputs) stop_at(input);
  }
  for (const Endpoint& y : ys) stop_at(y);
  return stops;
}

// The arguments of `scope` that are no captures: what a loop carries from one iteration to the
// next. Those that may carry gradients, if the tape was recording when they were made.
std::vector<Value> RecordedArguments(const ScopePtr& scope, const TapeRecord& record) {
  HashSet<Endpoint> captures;
  for (const Value& capture : scope->captures()) captures.insert(*scope->Find(capture));
  std::vector<Value> arguments;
  for (const Node& node : scope->function().nodes) {
    if (node.kind() != OpKind::kArg || captures.contains(Endpoint{node.id, 0})) continue;
    const DType dtype = node.signature.outputs[0].dtype;
    if (grad::HasDerivative(dtype) && dtype != DType::kResource &&
        IsDuring(record, scope->made_at(node.id)))
      arguments.push_back(scope->ValueAt({node.id, 0}));
  }
  return arguments;
}

// A tape that began outside of a loop has recorded its earlier iterations, which a gradient that is
// taken in its body does not see: it may not need them.
void CheckArguments(const ScopePtr& scope, const TapeRecord& record,
                    const std::vector<Endpoint>& ys, const std::vector<Source>& xs,
                    const std::vector<Value>& stops, const std::source_location& where) {
  struct Carried {
    Value argument;
    ScopePtr body;
    Endpoint here;
  };
  std::vector<Carried> carried;  // innermost first
  for (ScopePtr s = scope; s != nullptr && !s->is_main(); s = s->parent()) {
    for (const Value& argument : RecordedArguments(s, record)) {
      if (const auto here = scope->Find(argument)) carried.push_back({argument, s, *here});
    }
  }
  if (carried.empty()) return;
  const std::shared_ptr<const Program> program = scope->AsProgram();
  const Function& main = program->main();
  const grad::Dependence dependence(*program);
  grad::Marks stopped = grad::NoMarks(main);
  for (const Value& stop : stops) {
    if (const auto e = scope->Find(stop)) stopped[e->node][e->slot] = true;
  }
  for (const auto& [argument, body, here] : carried) {
    grad::Marks marks = grad::NoMarks(main), others = stopped;
    marks[here.node][here.slot] = true;
    others[here.node][here.slot] = false;
    grad::MarkDependents(main, dependence, others, marks);
    if (std::none_of(ys.begin(), ys.end(), [&](Endpoint y) { return marks[y.node][y.slot]; }))
      continue;
    for (const Source& x : xs) {
      // What was made in the body, or in one within it, is of this iteration.
      bool is_inside = false;
      for (ScopePtr s = x.value().scope(); s != nullptr && !is_inside; s = s->parent())
        is_inside = s == body;
      if (is_inside) continue;
      const Scope::Description& what = body->description();
      ThrowInvalid(
          absl::StrCat("the gradient by '", x.value().name(), "' is taken in ", what.what,
                       what.line.empty() ? "" : absl::StrCat(" (", what.line, ")"),
                       ", of something that was computed there from '", argument.name(),
                       "', which may have been computed from '", x.value().name(),
                       "' before, as in earlier iterations of a loop: take the gradient outside, "
                       "or let the tape begin there"),
          where);
    }
  }
}

}  // namespace

std::vector<SparseGradient> RecordedGradients(const TapeRecord& record,
                                              const std::vector<Value>& ys,
                                              const std::vector<Source>& xs,
                                              const GradientOptions& options,
                                              std::source_location where) {
  std::vector<Value> all = ys;
  for (const Source& x : xs) all.push_back(x.value());
  for (const std::vector<Value>* more : {&options.grad_ys, &options.stops})
    all.insert(all.end(), more->begin(), more->end());
  const ScopePtr scope = ScopeOfAll(all, where);
  std::vector<Endpoint> targets;
  for (const Value& y : ys) targets.push_back(scope->Use(y, where));
  std::vector<Endpoint> sources;
  for (const Source& x : xs) sources.push_back(scope->Use(x.value(), where));
  const Recorded recorded = RecordedIn(*scope, record);
  std::vector<Source> connected;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (recorded.IsTracked(sources[i])) connected.push_back(xs[i]);
  }
  std::vector<SparseGradient> gradients(xs.size());
  if (connected.empty()) return gradients;
  GradientOptions with_stops = options;
  with_stops.prefix = "gradient_tape/";
  for (Value& stop : StopsOf(scope, recorded, targets)) with_stops.stops.push_back(std::move(stop));
  CheckArguments(scope, record, targets, connected, with_stops.stops, where);
  std::vector<SparseGradient> found = sparse_gradients(ys, connected, with_stops, where);
  for (size_t i = 0, next = 0; i < xs.size(); ++i) {
    if (recorded.IsTracked(sources[i])) gradients[i] = std::move(found[next++]);
  }
  return gradients;
}

}  // namespace gyre::internal
