// Gradients in the graph that is current.
#include "gyre/gradients.h"

#include <algorithm>
#include <vector>

#include "base/hash_map.h"
#include "front/custom_gradient.h"
#include "front/gathered.h"
#include "front/graph_state.h"
#include "front/import_program.h"
#include "ir/data_order.h"
#include "python/graph.h"
#include "python/signals/interrupt.h"
#include "python/tape.h"
#include "python/tracing/body.h"

namespace gyre::python {
namespace {

const std::source_location kNowhere;

GradientOptions ToOptions(nb::handle grad_ys, nb::handle stops, nb::handle unconnected,
                          nb::handle memory) {
  GradientOptions options;
  if (!grad_ys.is_none()) options.grad_ys = ValuesOf(grad_ys, "grad_ys");
  if (!stops.is_none()) options.stops = ValuesOf(stops, "stops");
  options.memory = ValueOf(ParseMemoryPolicy(TextOf(memory, "memory")));
  const absl::string_view what = TextOf(unconnected, "unconnected");
  if (what == "none") {
    options.unconnected = Unconnected::kNothing;
  } else if (what == "zero") {
    options.unconnected = Unconnected::kZero;
  } else if (what == "error") {
    options.unconnected = Unconnected::kError;
  } else {
    ThrowValueError(
        absl::StrCat("unconnected is \"none\", \"zero\" or \"error\", not \"", what, "\""));
  }
  return options;
}

// find(), which Ctrl-C ends.
template <typename Find>
auto Interruptibly(const Find& find) -> decltype(find()) {
  const InterruptibleWork work;
  try {
    return find();
  } catch (...) {
    if (work.was_interrupted()) ThrowIfInterrupted();
    throw;
  }
}

nb::list Gradients(nb::handle ys, nb::handle xs, nb::handle grad_ys, nb::handle stops,
                   nb::handle unconnected, nb::handle memory, bool sparse, nb::handle tape) {
  const auto graph = RequireGraph("gradients");
  std::vector<Source> sources;
  for (const Value& x : ValuesOf(xs, "xs")) sources.emplace_back(x);
  const GradientOptions options = ToOptions(grad_ys, stops, unconnected, memory);
  const std::vector<Value> of = ValuesOf(ys, "ys");
  if (!sparse && tape.is_none()) {
    return WrapAll(Interruptibly([&] { return gradients(of, sources, options, kNowhere); }), graph);
  }
  nb::list list;
  const std::vector<SparseGradient> found = Interruptibly([&] {
    return tape.is_none() ? sparse_gradients(of, sources, options, kNowhere)
                          : gyre::internal::RecordedGradients(RecordOf(tape, *graph), of, sources,
                                                              options, kNowhere);
  });
  for (const SparseGradient& g : found) {
    if (!g.values.has_value()) {
      list.append(nb::none());
    } else if (!g.is_sparse()) {
      list.append(WrapSymbolic(g.values, graph));
    } else {
      list.append(nb::make_tuple(WrapSymbolic(g.values, graph), WrapSymbolic(g.indices, graph),
                                 WrapSymbolic(g.shape, graph)));
    }
  }
  return list;
}

nb::list CustomGradientOf(nb::handle xs, nb::callable fn, nb::callable grad, nb::handle name) {
  const auto graph = RequireGraph("custom_gradient");
  const auto list_of = [&](const std::vector<Value>& values) { return WrapAll(values, graph); };
  const std::vector<Value> results = gyre::internal::NamedCustomGradient(
      std::string(TextOf(name, "a name")), ValuesOf(xs, "xs"),
      [&](const std::vector<Value>& args) {
        return ResultsOfBody(fn(list_of(args)), "the function of custom_gradient");
      },
      [&](const std::vector<Value>& args, const std::vector<Value>& dys) {
        const nb::object dxs = grad(list_of(args), list_of(dys));
        if (PyList_Check(dxs.ptr()) == 0 && PyTuple_Check(dxs.ptr()) == 0)
          ThrowTypeError("the gradient of custom_gradient must return a list");
        std::vector<Value> values;
        for (const nb::handle dx : nb::iter(dxs)) {
          nb::list one;
          one.append(dx);
          values.push_back(dx.is_none() ? Value() : ResultsOfBody(one, "a gradient")[0]);
        }
        return values;
      },
      kNowhere);
  return WrapAll(results, graph);
}

nb::object Jvp(nb::handle y, nb::handle x, nb::handle direction) {
  const auto graph = RequireGraph("jvp");
  return WrapSymbolic(
      jvp(ValueIn(*graph, y), Source(ValueIn(*graph, x)), ValueIn(*graph, direction), kNowhere),
      graph);
}

// ValueError for values of bodies.
std::vector<Endpoint> EndpointsInMain(nb::handle values, absl::string_view what,
                                      const gyre::internal::ScopePtr& main) {
  std::vector<Endpoint> endpoints;
  for (const Value& value : ValuesOf(values, what)) {
    if (value.scope() != main)
      ThrowValueError(absl::StrCat("'", value.name(), "' is no value of the main graph"));
    endpoints.push_back({value.node(), value.slot()});
  }
  return endpoints;
}

// Which nodes run in a call: what its values are computed from, and what has effects or is fed and
// does not depend on the seeds, which come after it.
std::vector<bool> NodesOfCall(const Function& main, const std::vector<Endpoint>& values,
                              const std::vector<Endpoint>& seeds) {
  std::vector<bool> depends(main.nodes.size()), in_call(main.nodes.size());
  for (const Endpoint& seed : seeds) depends[seed.node] = true;
  for (const Endpoint& value : values) in_call[value.node] = true;
  const DataOrder order = OrderByData(main);
  for (const NodeId id : order.order) {
    const Node& node = main.node(id);
    depends[id] = depends[id] || std::any_of(node.inputs.begin(), node.inputs.end(),
                                             [&](Endpoint e) { return depends[e.node]; });
    const bool is_once =
        node.kind() == OpKind::kPlaceholder || node.op == nullptr || node.op->stateful();
    in_call[id] = in_call[id] || (is_once && !depends[id]);
  }
  for (auto id = order.order.rbegin(); id != order.order.rend(); ++id) {
    if (!in_call[*id]) continue;
    for (const Endpoint& input : main.node(*id).inputs) in_call[input.node] = true;
  }
  return in_call;
}

// What the nodes that run after a call, to compute `results`, take from those that run in it.
// Constants and handles of variables are made anew.
nb::list Crossing(nb::handle values, nb::handle seeds, nb::handle results) {
  const auto graph = RequireGraph("crossing");
  const auto& scope = graph->state()->main();
  const Function& main = scope->function();
  const std::vector<bool> in_call = NodesOfCall(main, EndpointsInMain(values, "values", scope),
                                                EndpointsInMain(seeds, "seeds", scope));
  std::vector<Value> crossing;
  HashSet<Endpoint> seen;
  std::vector<bool> is_expanded(main.nodes.size());
  std::vector<Endpoint> pending = EndpointsInMain(results, "results", scope);
  while (!pending.empty()) {
    const Endpoint e = pending.back();
    pending.pop_back();
    if (!seen.insert(e).second) continue;
    const Node& made = main.node(e.node);
    if (!in_call[e.node]) {
      if (!is_expanded[e.node])
        pending.insert(pending.end(), made.inputs.begin(), made.inputs.end());
      is_expanded[e.node] = true;
    } else if (made.kind() != OpKind::kConst &&
               (made.op == nullptr || !made.op->traits.makes_variable)) {
      crossing.push_back(scope->ValueAt(e));
    }
  }
  return WrapAll(crossing, graph);
}

// The program of a scope in which nodes that depend on a seed wait for none that does not: to
// import the former imports none of the latter.
std::shared_ptr<const Program> WithoutOuterOrder(const gyre::internal::Scope& scope,
                                                 const std::vector<bool>& depends) {
  const std::shared_ptr<const Program> program = scope.AsProgram();
  Function main = program->main();
  for (Node& node : main.nodes) {
    if (!depends[node.id]) continue;
    std::erase_if(node.control_inputs, [&](NodeId before) { return !depends[before]; });
  }
  ProgramBuilder builder(*program);
  builder.SetMain(std::move(main));
  return builder.Build();
}

// `results` with `value` in the place of `seed`: what depends on that is added once more, in the
// scope that is being traced; all else is taken from where it is.
nb::list AgainWith(nb::handle seed_object, nb::handle value, nb::handle results) {
  const auto graph = RequireGraph("a value in the place of another one");
  const Value seed = ValueIn(*graph, seed_object);
  gyre::internal::Scope& scope = *seed.scope();
  const Function& function = scope.function();
  std::vector<bool> depends(function.nodes.size());
  depends[seed.node()] = true;
  for (const NodeId id : OrderByData(function).order) {
    const auto& inputs = function.node(id).inputs;
    depends[id] = depends[id] || std::any_of(inputs.begin(), inputs.end(),
                                             [&](Endpoint e) { return depends[e.node]; });
  }
  ImportInputs inputs;
  inputs.emplace_back(seed.name(), Operand(ValueIn(*graph, value), kNowhere));
  std::vector<std::string> names;
  std::vector<Endpoint> pending;
  for (const nb::handle result : nb::iter(results)) {
    const Value of = ValueIn(*graph, result);
    if (of.scope().get() != &scope)
      ThrowValueError(absl::StrCat("'", of.name(), "' does not stand beside '", seed.name(), "'"));
    names.push_back(of.name());
    pending.push_back({of.node(), of.slot()});
  }
  HashSet<Endpoint> seen;
  std::vector<bool> is_added(function.nodes.size());
  is_added[seed.node()] = true;
  while (!pending.empty()) {
    const Endpoint e = pending.back();
    pending.pop_back();
    if (!depends[e.node] && seen.insert(e).second)
      inputs.emplace_back(function.EndpointName(e), Operand(scope.ValueAt(e), kNowhere));
    if (!depends[e.node] || is_added[e.node]) continue;
    is_added[e.node] = true;
    const auto& of = function.node(e.node).inputs;
    pending.insert(pending.end(), of.begin(), of.end());
  }
  return WrapAll(
      gyre::internal::ImportProgram(WithoutOuterOrder(scope, depends), names, {}, inputs, kNowhere),
      graph);
}

// Of each tensor, or handle of a variable: whether rows of it are gathered in the graph.
nb::list AreGathered(nb::handle tensors) {
  RequireGraph("gathered");
  nb::list found;
  for (const bool is : gyre::internal::AreGathered(ValuesOf(tensors, "tensors"), kNowhere))
    found.append(is);
  return found;
}

}  // namespace

void BindGradients(nb::module_& m) {
  m.def("gradients", &Gradients, nb::arg("ys"), nb::arg("xs"), nb::arg("grad_ys") = nb::none(),
        nb::kw_only(), nb::arg("stops") = nb::none(), nb::arg("unconnected") = "none",
        nb::arg("memory") = "", nb::arg("sparse") = false, nb::arg("tape") = nb::none());
  m.def("custom_gradient", &CustomGradientOf, nb::arg("xs"), nb::arg("fn"), nb::arg("grad"),
        nb::arg("name") = "custom");
  m.def("crossing", &Crossing, nb::arg("values"), nb::arg("seeds"), nb::arg("results"));
  m.def("again_with", &AgainWith, nb::arg("seed"), nb::arg("value"), nb::arg("results"));
  m.def("are_gathered", &AreGathered, nb::arg("tensors"));
  m.def("jvp", &Jvp, nb::arg("y"), nb::arg("x"), nb::arg("direction"));
}

}  // namespace gyre::python
