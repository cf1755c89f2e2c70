// gradients and what is made of them.
#include "gyre/gradients.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/work.h"
#include "front/error.h"
#include "front/gathered.h"
#include "front/op_call.h"
#include "front/scope.h"
#include "grad/dependence.h"
#include "grad/gradients.h"
#include "gyre/control_flow.h"
#include "gyre/functions.h"
#include "gyre/math.h"
#include "gyre/ops.h"
#include "ir/calls.h"
#include "ops/array/gather_gradient.h"

namespace gyre {
namespace {

using internal::ScopePtr;

std::vector<Endpoint> UseAll(const std::vector<Value>& values, const ScopePtr& scope,
                             const std::source_location& where) {
  std::vector<Endpoint> endpoints;
  for (const Value& value : values) endpoints.push_back(scope->Use(value, where));
  return endpoints;
}

std::vector<Value> ValuesOf(const std::vector<Source>& xs) {
  std::vector<Value> values;
  for (const Source& x : xs) values.push_back(x.value());
  return values;
}

// Zeros of the shape of a source.
Value ZerosOf(const Value& x) {
  if (x.dtype() != DType::kResource) return zeros_like(x);
  internal::ThrowInvalid("zeros of a variable that is not connected: read it", {});
}

Value Missing(const Value& x, const GradientOptions& options, const std::string& why,
              const std::source_location& where) {
  if (options.unconnected == Unconnected::kNothing) return Value();
  if (options.unconnected == Unconnected::kZero) return ZerosOf(x);
  internal::ThrowInvalid(absl::StrCat("there is no gradient: ", why), where);
}

// In a body, what was made outside of it are arguments, which know nothing of each other: a y may
// depend on x through x itself, and not through other values of outside that were made of x.
// `stops`: in the body.
void CheckCaptures(const ScopePtr& body, const std::vector<Endpoint>& ys, const Value& x,
                   const std::vector<Endpoint>& stops, const std::source_location& where) {
  std::vector<internal::Scope*> path;  // from where x was made, without it, to the body
  for (internal::Scope* s = body.get(); s != nullptr && s != x.scope().get(); s = s->parent().get())
    path.insert(path.begin(), s);
  if (path.empty() || path[0]->parent() == nullptr) return;
  internal::Scope* outer = path[0]->parent().get();
  std::vector<Endpoint> begin{outer->Use(x, where)};
  for (internal::Scope* inner : path) {
    // What depends on x where the captures of `inner` stand, and, of these, what is not x itself.
    const auto marked = [](const internal::Scope& scope, const std::vector<Endpoint>& from,
                           const std::vector<Endpoint>& stops) {
      const std::shared_ptr<const Program> program = scope.AsProgram();
      const Function& main = program->main();
      grad::Marks marks = grad::NoMarks(main), none = grad::NoMarks(main);
      for (const Endpoint& e : from) marks[e.node][e.slot] = true;
      for (const Endpoint& e : stops) none[e.node][e.slot] = true;
      grad::MarkDependents(main, grad::Dependence(*program), none, marks);
      return marks;
    };
    const grad::Marks outside = marked(*outer, begin, {});
    const Endpoint own = inner->Use(x, where);
    const bool is_last = inner == body.get();
    begin.clear();
    for (const Value& capture : inner->captures()) {
      const Endpoint here = inner->Use(capture, where);
      if (!outside[capture.node()][capture.slot()] || (is_last && here == own)) continue;
      begin.push_back(here);
      if (!is_last || std::find(stops.begin(), stops.end(), here) != stops.end()) continue;
      const grad::Marks inside = marked(*inner, {here}, stops);
      for (const Endpoint& y : ys) {
        if (!inside[y.node][y.slot]) continue;
        const internal::Scope::Description& here_is = body->description();
        internal::ThrowInvalid(
            absl::StrCat(
                "the gradient by '", x.name(), "' is taken in ", here_is.what,
                here_is.line.empty() ? "" : absl::StrCat(" (", here_is.line, ")"),
                ", of something that was computed there from '", capture.name(),
                "', which was computed from '", x.name(),
                "' outside: compute both there, or take the gradient outside. (What follows "
                "a return, break or continue under a condition is a body, too.)"),
            where);
      }
    }
    outer = inner;
  }
}

// What is known of the shape of an x, or of what a variable holds, and so of its gradient.
PartialShape ShapeOfSource(const internal::Scope& scope, Endpoint x) {
  const ValueInfo& info = scope.info(x);
  if (scope.function().node(x.node).signature.outputs[x.slot].dtype != DType::kResource)
    return info.shape;
  return info.handle ? info.handle->shape : PartialShape();
}

std::vector<SparseGradient> Differentiate(const std::vector<Value>& ys,
                                          const std::vector<Source>& xs,
                                          const GradientOptions& options,
                                          decltype(Gradients)* differentiate,
                                          const std::source_location& where) {
  if (ys.empty() || xs.empty()) internal::ThrowInvalid("gradients needs ys and xs", where);
  const std::vector<Value> sources = ValuesOf(xs);
  // What was computed before a branch or a loop began has its gradient there, too.
  std::vector<Value> all = ys;
  for (const std::vector<Value>* more : {&sources, &options.grad_ys, &options.stops})
    all.insert(all.end(), more->begin(), more->end());
  const ScopePtr scope = internal::ScopeOfAll(all, where);
  GradientRequest request{.ys = UseAll(ys, scope, where),
                          .xs = UseAll(sources, scope, where),
                          .stops = UseAll(options.stops, scope, where),
                          .memory = options.memory};
  for (const Endpoint& grad_y : UseAll(options.grad_ys, scope, where))
    request.grad_ys.emplace_back(grad_y);
  for (const Value& x : sources) CheckCaptures(scope, request.ys, x, request.stops, where);
  const std::shared_ptr<const Program> program = scope->AsProgram();
  absl::StatusOr<GradientResult> result = differentiate(program, request);
  if (!result.ok()) {
    internal::Throw(
        absl::Status(result.status().code(),
                     absl::StrCat(result.status().message(), "\n  at ", internal::LineOf(where))));
  }
  scope->Replace(*program, *result->program);
  std::vector<SparseGradient> gradients(xs.size());
  for (size_t i = 0; i < xs.size(); ++i) {
    const std::optional<GradientOfX>& gradient = result->gradients[i];
    gradients[i].values = gradient ? scope->ValueAt(gradient->values)
                                   : Missing(sources[i], options, result->why_not[i], where);
    if (gradient && !gradient->indices)
      scope->RefineShape(gradient->values, ShapeOfSource(*scope, request.xs[i]), where);
    if (!gradient || !gradient->indices) continue;
    gradients[i].indices = scope->ValueAt(*gradient->indices);
    gradients[i].shape = scope->ValueAt(*gradient->dims);
  }
  return gradients;
}

// Whether the outputs of a node stand for its first input as it is, or for what that holds.
bool StandsFor(const Node& node) {
  return node.op != nullptr &&
         (node.op->traits.forwards || node.op->traits.effect == Effect::kRead);
}

// Whether rows of a value are gathered, in `function` or in what its nodes call.
class Gathered {
 public:
  explicit Gathered(const Program& program) : program_(program) {}

  bool In(const Function& function, Endpoint begin) {
    std::vector<Endpoint> waiting{begin};
    std::set<std::pair<NodeId, int>> met;
    while (!waiting.empty()) {
      const Endpoint value = waiting.back();
      waiting.pop_back();
      if (!met.insert({value.node, value.slot}).second) continue;
      SpendWork(static_cast<int64_t>(function.nodes.size()));
      for (const Node& node : function.nodes) {
        for (size_t i = 0; i < node.inputs.size(); ++i) {
          if (node.inputs[i] != value) continue;
          if ((i == 0 && LooksUpRows(node)) || InCallees(node, i)) return true;
          for (int slot = 0; i == 0 && StandsFor(node) && slot < node.num_outputs(); ++slot)
            waiting.push_back({node.id, slot});
        }
      }
    }
    return false;
  }

 private:
  bool InCallees(const Node& node, size_t i) {
    const size_t first = static_cast<size_t>(NumSelectorInputs(node));
    if (i < first) return false;
    for (const Callee& callee : CalleesOf(program_, node)) {
      const Function* function = program_.FindFunction(callee.function.name);
      const size_t arg = i - first + static_cast<size_t>(NumCounterArgs(node));
      if (function == nullptr || arg >= function->arg_nodes.size()) continue;
      if (!seen_.insert({function->name, arg}).second) continue;
      if (In(*function, {function->arg_nodes[arg], 0})) return true;
    }
    return false;
  }

  const Program& program_;
  std::set<std::pair<std::string, size_t>> seen_;
};

}  // namespace

std::vector<Value> gradients(const std::vector<Value>& ys, const std::vector<Source>& xs,
                             const GradientOptions& options, std::source_location where) {
  std::vector<Value> values;
  for (SparseGradient& gradient : Differentiate(ys, xs, options, DenseGradients, where))
    values.push_back(std::move(gradient.values));
  return values;
}

std::vector<SparseGradient> sparse_gradients(const std::vector<Value>& ys,
                                             const std::vector<Source>& xs,
                                             const GradientOptions& options,
                                             std::source_location where) {
  return Differentiate(ys, xs, options, Gradients, where);
}

Value SparseGradient::dense() const {
  return is_sparse() ? op::UnsortedSegmentSum(values, indices, shape[0]) : values;
}

Value jvp(const Value& y, const Source& x, const Value& direction, std::source_location where) {
  // v -> gradient of y * v is linear: its own gradient does not depend on v.
  const Value v = zeros_like(y);
  const std::vector<Value> product = gradients({y}, {x}, {.grad_ys = {v}}, where);
  return gradients({product[0]}, {v}, {.grad_ys = {direction}}, where)[0];
}

Value jacobian(const std::function<Value(Value)>& f, const Operand& x) {
  const Value at = internal::ValueOf(x);
  const Value y = f(at);
  const Value count = size_of(y), shape = shape_of(y);
  const Value rows = map_fn(
      [&](Value i) {
        const Value inner = identity(at);
        const Value result = f(inner);
        const Value direction =
            reshape(one_hot(i, count, cast(1.0f, y.dtype()), cast(0.0f, y.dtype())), shape);
        return gradients({result}, {inner},
                         {.grad_ys = {direction}, .unconnected = Unconnected::kZero})[0];
      },
      range(0, count, 1));
  return reshape(rows, concat({shape, shape_of(at)}, 0));
}

Value hessian(const std::function<Value(Value)>& f, const Operand& x) {
  return jacobian(
      [&](Value at) {
        const Value inner = identity(at);
        return gradients({f(inner)}, {inner}, {.unconnected = Unconnected::kZero})[0];
      },
      x);
}

Clipped clip_by_global_norm(const std::vector<Value>& values, const Operand& most) {
  if (values.empty()) internal::ThrowInvalid("there is nothing to clip", most.where());
  Value sum = reduce_sum(square(values[0]));
  for (size_t i = 1; i < values.size(); ++i) sum = sum + reduce_sum(square(values[i]));
  Clipped clipped;
  clipped.norm = sqrt(sum);
  const Value limit = cast(most, sum.dtype());
  // Not min(1, most / norm): a norm of 0 has no ratio.
  const Value scale = limit / maximum(clipped.norm, limit);
  for (const Value& value : values) clipped.values.push_back(value * scale);
  return clipped;
}

std::vector<bool> internal::AreGathered(const std::vector<Value>& values,
                                        const std::source_location& where) {
  const ScopePtr scope = internal::ScopeOfAll(values, where);
  std::vector<bool> found;
  for (const Value& value : values) {
    bool is_gathered = false;
    for (internal::Scope* s = scope.get(); s != nullptr && !is_gathered;
         s = s == value.scope().get() ? nullptr : s->parent().get()) {
      const std::optional<Endpoint> here = s->Find(value);
      if (!here) continue;
      const std::shared_ptr<const Program> program = s->AsProgram();
      is_gathered = Gathered(*program).In(program->main(), *here);
    }
    found.push_back(is_gathered);
  }
  return found;
}

}  // namespace gyre
