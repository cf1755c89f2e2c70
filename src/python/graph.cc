#include "python/graph.h"

#include <deque>

#include "eager/variable_store.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "front/op_call.h"
#include "front/outside/lifted.h"
#include "graphdef/export.h"
#include "ir/shape_inference.h"
#include "ir/text/printer.h"
#include "python/dtype.h"
#include "python/executable.h"
#include "python/lines.h"
#include "python/signals/interrupt.h"
#include "python/tracing/nodes.h"

namespace gyre::python {
namespace {

using gyre::internal::GraphState;

// The graphs that are current on this thread, innermost last; null: ops run at once. Adding one
// leaves references to the others alone: who holds one may call Python, which may add more. What a
// thread leaves behind is not destroyed with it, since that would take the GIL.
struct Graphs {
  using List = std::deque<std::shared_ptr<GraphCore>>;
  List* const list = new List;
  ~Graphs() {
    if (list->empty()) delete list;
  }
};
Graphs::List& Current() {
  static thread_local Graphs graphs;
  return *graphs.list;
}

// The Python object.
struct PyGraph {
  std::shared_ptr<GraphCore> core;
  ~PyGraph() { core->object = nullptr; }
};

// A context manager: `enter` returns what undoes it.
struct PyScope {
  std::function<std::function<void()>()> enter;
  std::vector<std::function<void()>> undo;

  void Enter() { undo.push_back(enter()); }
  void Exit() {
    if (undo.empty()) ThrowValueError("this context has not been entered");
    const std::function<void()> last = std::move(undo.back());
    undo.pop_back();
    last();
  }
};

// `expected`: what must be current.
void Pop(const std::shared_ptr<GraphCore>& expected) {
  if (Current().empty() || Current().back() != expected)
    ThrowValueError(
        "this graph is not current: contexts end in the opposite order of their starts");
  if (Current().back() != nullptr) GraphState::PopCurrent();
  Current().pop_back();
}

void Push(std::shared_ptr<GraphCore> graph) {
  if (graph != nullptr) {
    UseLineProvider();
    GraphState::PushCurrent(graph->state());
  }
  Current().push_back(std::move(graph));
}

// A scope of the front end as a context manager: it is undone when its undoer goes.
PyScope SettingOf(std::shared_ptr<GraphCore> graph, std::function<BuildScope()> make) {
  return {[graph, make = std::move(make)] {
            GraphState::PushCurrent(graph->state());
            std::shared_ptr<BuildScope> scope;
            try {
              scope = std::make_shared<BuildScope>(make());
            } catch (...) {
              GraphState::PopCurrent();
              throw;
            }
            GraphState::PopCurrent();
            return [scope]() mutable { scope.reset(); };
          },
          {}};
}

bool IsDifferentiable(DType dtype) {
  return IsFloating(dtype) || IsComplex(dtype) || dtype == DType::kResource ||
         dtype == DType::kVariant;
}

nb::object Pairs(const std::vector<GraphCore::CapturedTensor>& list,
                 const std::shared_ptr<GraphCore>& graph) {
  nb::list pairs;
  for (const GraphCore::CapturedTensor& captured : list) {
    pairs.append(
        nb::make_tuple(captured.outer, WrapSymbolic(captured.inner, graph, captured.inner_id)));
  }
  return pairs;
}

nb::object Placeholder(PyGraph& self, nb::handle dtype, nb::handle dims, nb::handle name) {
  UseLineProvider();
  const gyre::internal::InMainGraph in_main(self.core->state());
  return WrapSymbolic(
      placeholder(ToDType(dtype), ToPartialShape(dims), std::string(TextOf(name, "a name"))),
      self.core);
}

nb::object VariableIn(PyGraph& self, nb::handle handle, nb::handle dtype, nb::handle dims) {
  RequireTensor(handle, "the handle");
  const auto [value, id] = self.core->VariableHandle(handle, ToDType(dtype), ToPartialShape(dims));
  return WrapSymbolic(value, self.core, id);
}

PyScope ControlScope(PyGraph& self, nb::handle before) {
  std::vector<Operation> operations;
  for (const nb::handle item : nb::iter(before)) {
    const Operation* node = AsOperation(item);
    operations.push_back(node != nullptr ? *node : Operation(ValueIn(*self.core, item)));
  }
  return SettingOf(self.core, [operations] { return control_dependencies(operations); });
}

// The main graph, whatever body is being traced, and no settings but the device.
PyScope MainScope(PyGraph& self) {
  return {[core = self.core] {
            const auto state = core->state();
            std::optional<std::string> device;
            for (const GraphState::Setting& setting : state->settings()) {
              if (setting.device) device = setting.device;
            }
            auto in_main = std::make_shared<gyre::internal::InMainGraph>(state);
            std::shared_ptr<BuildScope> on_device;
            if (device) on_device = std::make_shared<BuildScope>(state->Set({.device = device}));
            return [in_main, on_device]() mutable {
              on_device.reset();
              in_main.reset();
            };
          },
          {}};
}

// What is known of each node's outputs before a run: (dtype's name, dims).
void AddShapes(nb::dict& all, const Function& function, const FunctionShapes& shapes,
               absl::string_view prefix) {
  for (const Node& node : function.nodes) {
    nb::list outputs;
    for (int i = 0; i < node.num_outputs(); ++i) {
      outputs.append(nb::make_tuple(ToStr(DTypeName(node.signature.outputs[i].dtype)),
                                    ToPython(shapes.at({node.id, i}).shape)));
    }
    all[ToStr(absl::StrCat(prefix, node.name))] = outputs;
  }
}

nb::dict ShapesOf(PyGraph& self) {
  const std::shared_ptr<const Program> program = self.core->graph().program();
  const ShapeTable table = ValueOf(InferShapes(*program));
  nb::dict all;
  AddShapes(all, program->main(), table.main, "");
  for (const auto& [name, function] : program->functions()) {
    if (const FunctionShapes* shapes = table.Find(name))
      AddShapes(all, *function, *shapes, absl::StrCat(name, "/"));
  }
  return all;
}

nb::object GraphDefOf(PyGraph& self) {
  const std::string bytes = ValueOf(ExportGraphDef(*self.core->graph().program()));
  return Own(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

}  // namespace

GraphCore::GraphCore(std::string name, bool session_rules)
    : name_(std::move(name)), is_for_sessions_(session_rules) {
  if (session_rules) state()->FollowSessionRules();
}

bool GraphCore::follows_session_rules() const { return state()->follows_session_rules(); }

int64_t& GraphCore::SizeLimit() {
  static int64_t limit = 1'000'000;
  return limit;
}

void GraphCore::RequireGrowing() {
  if (++size_ > SizeLimit()) [[unlikely]]
    ThrowGraphSizeError(name_, SizeLimit());
  if (!is_frozen_) return;
  PyErr_SetString(PyExc_RuntimeError, "Graph is finalized and cannot be modified.");
  throw nb::python_error();
}

std::pair<Value, uint64_t> GraphCore::CaptureWithId(nb::handle outer) {
  const PyTensor& tensor = *AsTensor(outer);
  if (const auto it = by_id_.find(tensor.id); it != by_id_.end()) return it->second;
  if (!tensor.is_symbolic() && tensor.dtype() == DType::kResource && tensor.owner != nullptr) {
    if (const auto variable = eager::VariableBehind(tensor.eager))
      return VariableHandle(outer, variable->dtype, variable->shape);
  }
  UseLineProvider();
  const uint64_t inner_id = eager::NewTensorId();
  // Where it is used, as a literal would be: not a capture of the bodies around that.
  if (!tensor.is_symbolic() && (is_for_sessions_ || !IsDifferentiable(tensor.dtype())))
    return {graph_.constant(tensor.eager), inner_id};
  const gyre::internal::InMainGraph in_main(state());
  const Value inner = placeholder(tensor.dtype(), tensor.shape(), "capture");
  if (tensor.is_symbolic() && tensor.dtype() == DType::kResource)
    state()->main()->StandsFor(inner, tensor.symbolic);
  captures_.push_back({nb::borrow(outer), inner, inner_id});
  return by_id_.emplace(tensor.id, std::pair(inner, inner_id)).first->second;
}

std::pair<Value, uint64_t> GraphCore::VariableHandle(nb::handle handle, DType dtype,
                                                     const PartialShape& shape) {
  const PyTensor& tensor = *AsTensor(handle);
  if (const auto it = by_id_.find(tensor.id); it != by_id_.end()) return it->second;
  if (tensor.owner == nullptr)
    ThrowValueError("this is no handle of a variable that create_variable has made");
  UseLineProvider();
  const gyre::internal::InMainGraph in_main(state());
  std::optional<BuildScope> on_device;
  if (!tensor.owner->device().empty())
    on_device.emplace(state()->Set({.device = tensor.owner->device()}));
  const std::string& name = tensor.owner->name();
  const Value inner = gyre::internal::OpCall("VarHandleOp", std::source_location())
                          .Attr("dtype", dtype)
                          .Attr("shape", shape)
                          .Attr("shared_name", name)
                          .Name(name)
                          .One();
  variables_.push_back({nb::borrow(handle), inner, eager::NewTensorId()});
  return by_id_.emplace(tensor.id, std::pair(inner, variables_.back().inner_id)).first->second;
}

GraphCore* CurrentGraph() {
  const auto& graphs = Current();
  return graphs.empty() ? nullptr : graphs.back().get();
}

const std::shared_ptr<GraphCore>& SharedCurrentGraph() { return Current().back(); }

CurrentGraphScope::CurrentGraphScope(std::shared_ptr<GraphCore> graph) { Push(std::move(graph)); }

CurrentGraphScope::~CurrentGraphScope() {
  if (Current().back() != nullptr) GraphState::PopCurrent();
  Current().pop_back();
}

nb::object ToPython(const std::shared_ptr<GraphCore>& graph) {
  if (graph->object != nullptr) return nb::borrow(graph->object);
  nb::object object = nb::cast(PyGraph{graph});
  graph->object = object.ptr();
  return object;
}

const std::shared_ptr<GraphCore>& ToGraph(nb::handle graph) {
  if (!nb::isinstance<PyGraph>(graph) || !nb::inst_ready(graph))
    ThrowTypeError(absl::StrCat("a Graph is wanted, not ", TypeNameOf(graph)));
  return nb::inst_ptr<PyGraph>(graph)->core;
}

const std::shared_ptr<GraphCore>& GraphLeftOpen(const PyTensor& tensor) {
  if (!tensor.graph->is_for_sessions()) {
    ThrowStatus(absl::InvalidArgumentError(absl::StrCat(
        "'", tensor.symbolic.name(), "' belongs to graph '", tensor.graph->name(),
        "', whose trace is not current, and cannot be used in what runs at once: return it from "
        "the function that it was made in")));
  }
  return tensor.graph;
}

Value ValueIn(GraphCore& graph, nb::handle object) {
  const PyTensor& tensor = RequireTensor(object, "a value of the graph");
  if (!tensor.is_symbolic() || tensor.graph.get() != &graph) {
    // A tensor of a graph that is being traced around this one is captured like those of outside;
    // nothing stands around a graph of sessions.
    bool is_around = !tensor.is_symbolic();
    for (const auto& around : Current()) {
      is_around |= around != nullptr && around == tensor.graph && !graph.is_for_sessions();
    }
    if (is_around) return graph.Capture(object);
    ThrowStatus(absl::InvalidArgumentError(
        absl::StrCat("'", tensor.symbolic.name(), "' belongs to graph '", tensor.graph->name(),
                     "', and cannot be used in ",
                     tensor.graph->name() == graph.name() ? "another of that name, '" : "'",
                     graph.name(), "': return it from the function that it was made in")));
  }
  return tensor.symbolic;
}

nb::list WrapAll(const std::vector<Value>& values, const std::shared_ptr<GraphCore>& graph) {
  nb::list list;
  for (const Value& value : values)
    list.append(value.has_value() ? WrapSymbolic(value, graph) : nb::object(nb::none()));
  return list;
}

std::string DeviceOf(const Value& value) {
  return value.scope()->function().node(value.node()).device;
}

void BindGraphs(nb::module_& m) {
  nb::class_<PyScope>(m, "_Scope", nb::is_final())
      .def("__enter__", [](PyScope& self) { self.Enter(); })
      .def("__exit__", [](PyScope& self, nb::args) { self.Exit(); });
  nb::class_<PyGraph>(m, "Graph", nb::dynamic_attr(), nb::is_weak_referenceable(),
                      "A program while it is traced.")
      .def(
          "__init__",
          [](nb::handle self, nb::handle name, bool session_rules) {
            if (nb::inst_ready(self)) ThrowTypeError("a Graph is initialised once");
            PyGraph* const graph = nb::inst_ptr<PyGraph>(self);
            auto core =
                std::make_shared<GraphCore>(std::string(TextOf(name, "a name")), session_rules);
            core->object = self.ptr();
            new (graph) PyGraph{std::move(core)};
            nb::inst_mark_ready(self);
          },
          nb::arg("name") = "graph", nb::arg("session_rules") = false)
      .def("__enter__",
           [](nb::handle self) {
             const std::shared_ptr<GraphCore>& core = ToGraph(self);
             if (!core->is_for_sessions()) BeginTrace();
             Push(core);
             return nb::borrow(self);
           })
      .def("__exit__",
           [](PyGraph& self, nb::args) {
             Pop(self.core);
             if (!self.core->is_for_sessions()) EndTrace();
           })
      .def_prop_ro("name", [](PyGraph& self) { return ToStr(self.core->name()); })
      .def_prop_rw(
          "compile", [](PyGraph& self) { return ToStr(to_string(self.core->compile())); },
          [](PyGraph& self, nb::handle mode) {
            self.core->set_compile(ValueOf(ParseCompileMode(TextOf(mode, "a way of compiling"))));
          })
      .def_prop_ro("size", [](PyGraph& self) { return self.core->size(); })
      .def("placeholder", &Placeholder, nb::arg("dtype"), nb::arg("dims").none(),
           nb::arg("name") = "")
      .def("variable", &VariableIn, nb::arg("handle"), nb::arg("dtype"), nb::arg("dims").none())
      .def_prop_ro("captures",
                   [](PyGraph& self) { return Pairs(self.core->captures(), self.core); })
      .def_prop_ro("variables",
                   [](PyGraph& self) { return Pairs(self.core->variables(), self.core); })
      .def("prepare", &PrepareGraph, nb::arg("feeds"), nb::arg("fetches"),
           nb::arg("targets") = nb::none(), nb::arg("effects") = true,
           nb::arg("session") = nb::none())
      .def("text", [](PyGraph& self) { return ToStr(PrintProgram(*self.core->graph().program())); })
      .def("shapes", &ShapesOf)
      .def("graph_def", &GraphDefOf)
      .def("names_scope",
           [](PyGraph& self, nb::handle name) {
             return SettingOf(self.core, [text = std::string(TextOf(name, "a name"))] {
               return name_scope(text);
             });
           })
      .def("device_scope",
           [](PyGraph& self, nb::handle name) {
             return SettingOf(self.core, [text = std::string(TextOf(name, "a device"))] {
               return device(text);
             });
           })
      .def("control_scope", &ControlScope)
      .def("no_control_scope",
           [](PyGraph& self) {
             return SettingOf(self.core, [state = self.core->state()] {
               return state->Set({.forgets_awaited = true});
             });
           })
      .def("colocation_scope",
           [](PyGraph& self, nb::handle groups) {
             std::vector<std::string> names;
             for (const nb::handle group : nb::iter(groups))
               names.emplace_back(TextOf(group, "a group"));
             return SettingOf(self.core, [state = self.core->state(), names] {
               return state->Set({.colocated = names});
             });
           })
      .def("take_effects",
           [](PyGraph& self) {
             gyre::internal::Scope& main = *self.core->state()->main();
             nb::list names;
             for (const NodeId id : main.TakeEffects())
               names.append(ToStr(main.function().node(id).name));
             return names;
           })
      .def_prop_ro("follows_session_rules",
                   [](PyGraph& self) { return self.core->follows_session_rules(); })
      .def("main_scope", &MainScope)
      .def("freeze", [](PyGraph& self, bool frozen) { self.core->set_frozen(frozen); });
  m.def(
      "note_value",
      [](nb::handle tensor, nb::handle value) {
        const PyTensor& noted = RequireTensor(tensor, "what is noted");
        if (!noted.is_symbolic()) ThrowTypeError("what is noted must be a symbolic tensor");
        const Value& symbolic = noted.symbolic;
        symbolic.scope()->NoteValue({symbolic.node(), symbolic.slot()},
                                    RequireEager(value, "the value"));
      },
      nb::arg("tensor"), nb::arg("value"), "A symbolic tensor always has this value.");
  m.def(
      "lifted",
      [](nb::handle tensor) {
        const PyTensor& inner = RequireTensor(tensor, "what is lifted");
        if (!inner.is_symbolic()) return nb::borrow(tensor);
        return WrapSymbolic(gyre::internal::Lift(inner.symbolic, {}), inner.graph);
      },
      nb::arg("tensor"), "The same value, computed in the main graph of its graph.");
  m.def("current_graph", [] {
    return CurrentGraph() == nullptr ? nb::object(nb::none()) : ToPython(SharedCurrentGraph());
  });
  m.def("in_body", [] {
    GraphCore* const graph = CurrentGraph();
    return graph != nullptr && !graph->state()->scope()->is_main();
  });
  m.def(
      "open_scopes",
      [] {
        nb::list numbers;
        GraphCore* const graph = CurrentGraph();
        if (graph == nullptr) return nb::tuple(numbers);
        for (const gyre::internal::Scope* scope = graph->state()->scope().get(); scope != nullptr;
             scope = scope->parent().get()) {
          numbers.append(scope->number());
        }
        return nb::tuple(numbers);
      },
      "The numbers of the scopes whose values the current graph's innermost one can use, it "
      "first.");
  m.def("executing_eagerly", [] { return CurrentGraph() == nullptr; });
  m.def("hold_handlers", [] {
    return PyScope{[] {
                     BeginHolding();
                     return [] { EndHolding(); };
                   },
                   {}};
  });
  m.def("init_scope", [] {
    return PyScope{[] {
                     Push(nullptr);
                     return [] { Pop(nullptr); };
                   },
                   {}};
  });
}

}  // namespace gyre::python
