// gradients and what is made of them.
#include "gyre/gradients.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/work.h"
#include "front/error.h"
#include "front/gathered.h"
#include "front/op_call.h"
#include "front/outside/computed.h"
#include "front/scope.h"
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

// What is known of the shape of an x, or of what a variable holds, and so of its gradient.
PartialShape ShapeOfSource(const internal::Scope& scope, Endpoint x) {
  const ValueInfo& info = scope.info(x);
  if (scope.function().node(x.node).signature.outputs[x.slot].dtype != DType::kResource)
    return info.shape;
  return info.handle ? info.handle->shape : PartialShape();
}

constexpr absl::string_view kPrefix = "gradients/";  // of the nodes that gradients are made of

// The program with another prefix of the nodes that are new.
std::shared_ptr<const Program> WithPrefix(const Program& program, size_t num_old,
                                          const std::string& prefix) {
  Function main = program.main();
  std::set<std::string> taken;
  for (const Node& node : main.nodes) taken.insert(node.name);
  for (size_t i = num_old; i < main.nodes.size(); ++i) {
    std::string& name = main.nodes[i].name;
    if (!absl::StartsWith(name, kPrefix)) continue;
    const std::string wanted = absl::StrCat(prefix, name.substr(kPrefix.size()));
    name = wanted;
    for (int n = 1; !taken.insert(name).second; ++n) name = absl::StrCat(wanted, "_", n);
  }
  ProgramBuilder builder(program);
  builder.SetMain(std::move(main));
  return builder.Build();
}

// The gradients in the scope, which gets what they are made of.
GradientResult Transform(internal::Scope& scope, const std::shared_ptr<const Program>& program,
                         const GradientRequest& request, const std::string& prefix,
                         decltype(Gradients)* differentiate, const std::source_location& where) {
  absl::StatusOr<GradientResult> result = differentiate(program, request);
  if (!result.ok()) {
    internal::Throw(
        absl::Status(result.status().code(),
                     absl::StrCat(result.status().message(), "\n  at ", internal::LineOf(where))));
  }
  if (prefix != kPrefix)
    result->program = WithPrefix(*result->program, program->main().nodes.size(), prefix);
  scope.Replace(*program, *result->program);
  return *std::move(result);
}

// The gradient of `x`; empty values: not connected.
SparseGradient Found(internal::Scope& scope, const std::optional<GradientOfX>& gradient, Endpoint x,
                     const std::source_location& where) {
  SparseGradient found;
  if (!gradient) return found;
  found.values = scope.ValueAt(gradient->values);
  if (!gradient->indices) {
    scope.RefineShape(gradient->values, ShapeOfSource(scope, x), where);
    return found;
  }
  found.indices = scope.ValueAt(*gradient->indices);
  found.shape = scope.ValueAt(*gradient->dims);
  return found;
}

void AddTo(SparseGradient& sum, const SparseGradient& more) {
  if (!more.values.has_value()) return;
  if (!sum.values.has_value()) {
    sum = more;
  } else {
    sum = {.values = sum.dense() + more.dense()};
  }
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
  std::vector<internal::ComputedOutside> outside;  // by x
  for (const Value& x : sources) {
    outside.push_back(internal::CopyComputedOutside(scope, request.ys, x, request.stops, where));
    for (const auto& [captured, copy] : outside.back().copies) request.xs.push_back(captured);
  }
  const std::shared_ptr<const Program> program = scope->AsProgram();
  const GradientResult result =
      Transform(*scope, program, request, options.prefix, differentiate, where);
  std::vector<SparseGradient> gradients(xs.size());
  size_t next = xs.size();  // of request.xs
  for (size_t i = 0; i < xs.size(); ++i) {
    gradients[i] = Found(*scope, result.gradients[i], request.xs[i], where);
    for (const auto& [captured, copy] : outside[i].copies) {
      const SparseGradient of_captured = Found(*scope, result.gradients[next++], captured, where);
      if (!of_captured.values.has_value()) continue;
      GradientRequest further{.ys = {copy},
                              .xs = outside[i].reads,
                              .grad_ys = {scope->Use(of_captured.dense(), where)},
                              .stops = request.stops,
                              .memory = options.memory};
      further.xs.push_back(request.xs[i]);
      const GradientResult more =
          Transform(*scope, scope->AsProgram(), further, options.prefix, differentiate, where);
      for (size_t k = 0; k < further.xs.size(); ++k)
        AddTo(gradients[i], Found(*scope, more.gradients[k], further.xs[k], where));
    }
    if (!gradients[i].values.has_value())
      gradients[i].values = Missing(sources[i], options, result.why_not[i], where);
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
