// custom_gradient: a function, and another one that computes its gradient, both traced at once.
#include "front/custom_gradient.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "front/body.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "front/op_call.h"
#include "gyre/functions.h"
#include "gyre/gradients.h"
#include "gyre/math.h"

namespace gyre {
namespace {

using internal::BodyArg;
using internal::ScopePtr;
using internal::TracedBody;

internal::Leaves LeavesOfList(std::vector<Value> values) {
  internal::Leaves leaves;
  for (size_t i = 0; i < values.size(); ++i) leaves.paths.push_back(absl::StrCat(i));
  leaves.values = std::move(values);
  return leaves;
}

// The gradient is called with what the function was called with: of more it must not know.
void CheckClosed(const TracedBody& body, const char* what, const std::source_location& where) {
  if (body.scope->captures().empty()) return;
  const Value& captured = body.scope->captures()[0];
  internal::ThrowInvalid(
      absl::StrCat(what, " uses '", captured.name(), "' of outside: hand it in as one of xs"),
      where);
}

TracedBody Trace(const ScopePtr& scope, const std::string& name, const char* what,
                 const std::vector<BodyArg>& args, const internal::BodyFn& fn,
                 const std::source_location& where) {
  TracedBody body = internal::TraceBody(scope, scope->graph()->UniqueFunctionName(name),
                                        {what, internal::LineOf(where)}, args, fn, where);
  CheckClosed(body, what, where);
  return body;
}

void Finish(TracedBody& body) {
  body.scope->SetCaptures({});
  std::vector<std::pair<std::string, Endpoint>> results;
  for (const Endpoint result : body.results) results.emplace_back("result", result);
  body.scope->Finish(results, /*is_part=*/false);
}

// One per x, of its dtype and of a shape that may be its own.
void CheckGradient(const TracedBody& body, const std::vector<BodyArg>& args,
                   const std::source_location& where) {
  if (body.results.size() != args.size()) {
    internal::ThrowInvalid(absl::StrCat("the gradient of custom_gradient returns ",
                                        body.results.size(), " values for ", args.size(), " xs"),
                           where);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const PartialShape &got = body.info(i).shape, &want = args[i].info.shape;
    if (body.dtype(i) == args[i].dtype && got.Intersect(want).ok()) continue;
    internal::ThrowInvalid(
        absl::StrCat("the gradient of custom_gradient returns ", DTypeName(body.dtype(i)), " ",
                     got.ToString(), " for x ", i, ", which is ", DTypeName(args[i].dtype), " ",
                     want.ToString(), body.MadeAt(i)),
        where);
  }
}

}  // namespace

std::vector<Value> internal::NamedCustomGradient(const std::string& name,
                                                 const std::vector<Value>& xs,
                                                 const CustomFunction& f,
                                                 const CustomGradient& gradient,
                                                 const std::source_location& where) {
  if (xs.empty()) internal::ThrowInvalid("custom_gradient needs xs", where);
  const ScopePtr scope = internal::CurrentScope(xs, where);
  internal::Call call{.op = "PartitionedCall",
                      .stateful_op = "StatefulPartitionedCall",
                      .inputs = internal::UseAll(*scope, xs, where),
                      .name = "custom"};
  std::vector<BodyArg> args;
  for (size_t i = 0; i < xs.size(); ++i)
    args.push_back({"x", xs[i].dtype(), internal::ShapeOnly(scope->info(call.inputs[i])), {}});

  std::vector<TracedBody> bodies;
  bodies.push_back(Trace(
      scope, name, "the function of custom_gradient", args,
      [&](absl::Span<const Value> values) {
        return LeavesOfList(f({values.begin(), values.end()}));
      },
      where));
  const TracedBody& body = bodies[0];
  std::vector<BodyArg> back_args = args;
  for (size_t i = 0; i < body.results.size(); ++i) {
    call.output_types.push_back(body.dtype(i));
    call.infos.push_back(internal::ShapeOnly(body.info(i)));
    back_args.push_back({"dy", body.dtype(i), call.infos.back(), {}});
  }
  Finish(bodies[0]);
  TracedBody back = Trace(
      scope, absl::StrCat(name, "_gradient"), "the gradient of custom_gradient", back_args,
      [&](absl::Span<const Value> values) {
        const auto dys = values.begin() + static_cast<int64_t>(xs.size());
        std::vector<Value> dxs = gradient({values.begin(), dys}, {dys, values.end()});
        for (size_t i = 0; i < std::min(dxs.size(), xs.size()); ++i) {
          if (dxs[i].has_value()) continue;
          // Of a handle there are no zeros, and nobody asks for them.
          dxs[i] = values[i].dtype() == DType::kResource ? values[i] : zeros_like(values[i]);
        }
        return LeavesOfList(std::move(dxs));
      },
      where);
  CheckGradient(back, args, where);
  Finish(back);
  scope->graph()->SetGradientFunction(body.name(), back.name());
  call.attrs = {{"f", FunctionRef{body.name(), nullptr}}, {"Tout", call.output_types}};
  return internal::AddCall(scope, std::move(call), bodies, where);
}

std::vector<Value> custom_gradient(const std::vector<Value>& xs, const CustomFunction& f,
                                   const CustomGradient& gradient, std::source_location where) {
  return internal::NamedCustomGradient("custom", xs, f, gradient, where);
}

Value custom_gradient(const Value& x, const std::function<Value(Value)>& f,
                      const std::function<Value(Value x, Value dy)>& gradient,
                      std::source_location where) {
  return custom_gradient(
      std::vector<Value>{x},
      [&](const std::vector<Value>& xs) { return std::vector<Value>{f(xs[0])}; },
      [&](const std::vector<Value>& xs, const std::vector<Value>& dys) {
        return std::vector<Value>{gradient(xs[0], dys[0])};
      },
      where)[0];
}

}  // namespace gyre
