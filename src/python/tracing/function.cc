// GraphFunction: a function of the graph that is current, traced once per signature.
#include <optional>
#include <vector>

#include "eager/variable_store.h"
#include "front/graph_state.h"
#include "front/import_program.h"
#include "front/traced_function.h"
#include "gyre/control_flow.h"
#include "python/dtype.h"
#include "python/graph.h"
#include "python/tracing/body.h"
#include "python/tracing/nodes.h"

namespace gyre::python {
namespace {

const std::source_location kNowhere;

// A graph that has been traced, as the body of a function of another one.
struct Template {
  std::shared_ptr<const Program> program;
  std::vector<std::string> feeds, fetches, effects;
  // Variables: their handle in the template, and the eager one.
  std::vector<std::pair<std::string, nb::object>> variables;
  std::vector<std::pair<DType, PartialShape>> variable_types;
};

struct PyFunction {
  std::shared_ptr<GraphCore> graph;
  std::shared_ptr<gyre::internal::TracedFunction> traced;
  std::shared_ptr<const Template> made_of;  // null: of a callable
};

std::vector<TensorSpec> SpecsOf(nb::handle specs) {
  std::vector<TensorSpec> list;
  for (const nb::handle spec : nb::iter(specs)) {
    if (PyTuple_Check(spec.ptr()) == 0 || nb::len(spec) != 2)
      ThrowTypeError("a spec is a pair of dtype and dims");
    list.push_back({ToDType(nb::object(spec[0])), ToPartialShape(nb::object(spec[1]))});
  }
  return list;
}

gyre::internal::BodyFn BodyOf(nb::handle fn, const std::shared_ptr<GraphCore>& graph) {
  return [fn, graph](absl::Span<const Value> args) {
    const gyre::internal::ProgramRules rules(graph->state());
    nb::list list;
    for (const Value& arg : args) list.append(WrapSymbolic(arg, graph));
    return LeavesOf(ResultsOfBody(fn(list), "a function"), nb::none());
  };
}

std::string NameOf(GraphCore& graph, nb::handle tensor) {
  const Value value = ValueIn(graph, tensor);
  if (value.scope() != graph.state()->main())
    ThrowValueError(absl::StrCat("'", value.name(), "' is no value of the main graph"));
  return value.name();
}

// `effects`: names of the nodes after which all that is to happen has happened; None: all of them.
std::shared_ptr<const Template> TemplateOf(GraphCore& graph, nb::handle feeds, nb::handle fetches,
                                           nb::handle effects) {
  auto made = std::make_shared<Template>();
  for (const nb::handle feed : nb::iter(feeds)) made->feeds.push_back(NameOf(graph, feed));
  for (const nb::handle fetch : nb::iter(fetches)) made->fetches.push_back(NameOf(graph, fetch));
  if (effects.is_none()) {
    const gyre::internal::Scope& main = *graph.state()->main();
    for (const NodeId id : main.last_effects())
      made->effects.push_back(main.function().node(id).name);
  } else {
    for (const nb::handle name : nb::iter(effects))
      made->effects.emplace_back(TextOf(name, "an effect"));
  }
  for (const GraphCore::CapturedTensor& variable : graph.variables()) {
    made->variables.emplace_back(variable.inner.name(), variable.outer);
    const auto type = eager::VariableBehind(AsTensor(variable.outer)->eager);
    made->variable_types.emplace_back(type->dtype, type->shape);
  }
  made->program = graph.graph().program();
  return made;
}

// Adds the template's nodes to the graph; its effects keep their order.
std::vector<Value> AddNodes(const Template& made_of, GraphCore& graph,
                            absl::Span<const Value> args) {
  const gyre::internal::ProgramRules rules(graph.state());
  ImportInputs inputs;
  for (size_t i = 0; i < args.size(); ++i)
    inputs.emplace_back(made_of.feeds[i], Operand(args[i], kNowhere));
  for (size_t i = 0; i < made_of.variables.size(); ++i) {
    const auto& [dtype, shape] = made_of.variable_types[i];
    const Value handle = graph.VariableHandle(made_of.variables[i].second, dtype, shape).first;
    inputs.emplace_back(made_of.variables[i].first, Operand(handle, kNowhere));
  }
  return gyre::internal::ImportProgram(made_of.program, made_of.fetches, made_of.effects, inputs,
                                       kNowhere);
}

// The body that adds the template's nodes.
gyre::internal::BodyFn BodyOf(const Template& made_of, const std::shared_ptr<GraphCore>& graph) {
  return [&made_of, graph](absl::Span<const Value> args) {
    return LeavesOf(AddNodes(made_of, *graph, args), nb::none());
  };
}

void CheckCount(const Template& made_of, nb::handle args) {
  if (nb::len(args) == made_of.feeds.size()) return;
  ThrowTypeError(
      absl::StrCat("this function takes ", made_of.feeds.size(), " tensors, not ", nb::len(args)));
}

// Adds what has been traced to the main graph that is current, node by node and under the same
// names, so that it draws the random numbers that it draws by itself: (fetches, the nodes after
// which all its effects have happened).
nb::tuple AddTraced(nb::handle traced, nb::handle feeds, nb::handle fetches, nb::handle args) {
  const auto graph = RequireGraph("a traced graph");
  const std::shared_ptr<const Template> made_of =
      TemplateOf(*ToGraph(traced), feeds, fetches, nb::none());
  CheckCount(*made_of, args);
  const std::vector<Value> results = AddNodes(*made_of, *graph, ValuesOf(args, "args"));
  const gyre::internal::ScopePtr& main = graph->state()->main();
  nb::list effects;
  for (const NodeId id : main->last_effects()) effects.append(WrapNode(Operation(main, id), graph));
  return nb::make_tuple(WrapAll(results, graph), effects);
}

PyFunction OfGraph(nb::handle name, nb::handle graph, nb::handle feeds, nb::handle fetches,
                   nb::handle effects) {
  PyFunction made{RequireGraph("a function"), nullptr, nullptr};
  made.traced = gyre::internal::MakeFunctionOfMain(std::string(TextOf(name, "a name")), kNowhere);
  made.made_of = TemplateOf(*ToGraph(graph), feeds, fetches, effects);
  return made;
}

PyFunction Make(nb::handle name_object, nb::handle args, nb::handle results, bool again) {
  PyFunction made{RequireGraph("a function"), nullptr, nullptr};
  const std::string name(TextOf(name_object, "a name"));
  if (args.is_none() != results.is_none())
    ThrowTypeError("a function is declared with args and results, or with neither");
  made.traced = args.is_none()
                    ? gyre::internal::MakeFunction(name, kNowhere)
                    : gyre::internal::Declare(name, SpecsOf(args), SpecsOf(results), kNowhere);
  if (again) gyre::internal::RunAgainForGradients(*made.traced);
  return made;
}

nb::list Call(PyFunction& self, nb::handle args, nb::handle fn, nb::handle dims) {
  if (CurrentGraph() != self.graph.get())
    ThrowStatus(absl::FailedPreconditionError("a function is called in the graph it was made in"));
  gyre::internal::BodyFn body;
  if (!fn.is_none()) body = BodyOf(fn, self.graph);
  if (self.made_of != nullptr) {
    CheckCount(*self.made_of, args);
    body = BodyOf(*self.made_of, self.graph);
  }
  if (!body) {
    body = [](absl::Span<const Value>) -> gyre::internal::Leaves {
      ThrowValueError("this function has no body yet: declare and define it, or give fn");
    };
  }
  std::vector<PartialShape> shapes;
  if (!dims.is_none()) {
    for (const nb::handle one : nb::iter(dims)) shapes.push_back(ToPartialShape(nb::borrow(one)));
  }
  return WrapAll(
      gyre::internal::CallFunctionOfShapes(
          *self.traced, LeavesOf(ValuesOf(args, "args"), nb::none()), shapes, body, kNowhere),
      self.graph);
}

}  // namespace

void BindFunctions(nb::module_& m) {
  nb::class_<PyFunction>(m, "GraphFunction", nb::is_final(), nb::is_weak_referenceable(),
                         "A function of the graph that is current.")
      .def(
          "__init__",
          [](nb::handle self, nb::handle name, nb::handle args, nb::handle results, bool again) {
            if (nb::inst_ready(self)) ThrowTypeError("a GraphFunction is initialised once");
            new (nb::inst_ptr<PyFunction>(self)) PyFunction(Make(name, args, results, again));
            nb::inst_mark_ready(self);
          },
          nb::arg("name"), nb::arg("args") = nb::none(), nb::arg("results") = nb::none(),
          nb::kw_only(), nb::arg("recompute") = false)
      .def_static("of_graph", &OfGraph, nb::arg("name"), nb::arg("graph"), nb::arg("feeds"),
                  nb::arg("fetches"), nb::arg("effects") = nb::none(),
                  "A graph that has been traced, with its effects.")
      .def("define",
           [](PyFunction& self, nb::callable fn) {
             RequireGraph("a function");
             gyre::internal::Define(*self.traced, BodyOf(fn, self.graph), kNowhere);
           })
      .def_prop_ro(
          "needs_scope",
          [](const PyFunction& self) { return gyre::internal::NeedsItsScope(*self.traced); },
          "Whether it can be called only in the scope that it was made in.")
      .def("__call__", &Call, nb::arg("args"), nb::arg("fn") = nb::none(),
           nb::arg("dims") = nb::none());
  m.def("add_traced", &AddTraced, nb::arg("graph"), nb::arg("feeds"), nb::arg("fetches"),
        nb::arg("args"), "Adds the nodes of a graph that has been traced: (fetches, effects).");
}

}  // namespace gyre::python
