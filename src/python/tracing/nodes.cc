#include "python/tracing/nodes.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "front/graph_state.h"
#include "front/import_program.h"
#include "graphdef/export.h"
#include "graphdef/import.h"
#include "ops/registry.h"
#include "python/arrays/items.h"
#include "python/attrs.h"
#include "python/dtype.h"
#include "python/execute.h"
#include "python/lines.h"
#include "session/form.h"

namespace gyre::python {
namespace {

const std::source_location kNowhere;

struct PyNode {
  std::shared_ptr<GraphCore> graph;
  Operation operation;

  gyre::internal::Scope& scope() const { return *operation.scope(); }
  const Node& node() const { return scope().function().node(operation.node()); }
  nb::object Wrap(Endpoint e) const { return WrapSymbolic(scope().ValueAt(e), graph); }
};

// TypeError for eager tensors.
const PyTensor& RequireOutput(nb::handle object) {
  const PyTensor& tensor = RequireTensor(object, "an output of a node");
  if (!tensor.is_symbolic()) ThrowTypeError("an eager tensor is no output of a node");
  return tensor;
}

PyNode& RequireNode(nb::handle object) {
  if (!nb::isinstance<PyNode>(object))
    ThrowTypeError(absl::StrCat("a Node is wanted, not ", TypeNameOf(object)));
  return *nb::inst_ptr<PyNode>(object);
}

nb::list InputsOf(const PyNode& self) {
  nb::list inputs;
  for (const Endpoint& e : self.node().inputs) inputs.append(self.Wrap(e));
  return inputs;
}

nb::list OutputsOf(const PyNode& self) {
  nb::list outputs;
  for (int i = 0; i < self.node().num_outputs(); ++i)
    outputs.append(self.Wrap({self.operation.node(), i}));
  return outputs;
}

nb::list ControlInputsOf(const PyNode& self) {
  nb::list before;
  for (const NodeId id : self.node().control_inputs)
    before.append(WrapNode(Operation(self.operation.scope(), id), self.graph));
  return before;
}

bool IsSame(const PyNode& a, nb::handle b) {
  if (!nb::isinstance<PyNode>(b)) return false;
  const Operation& other = nb::inst_ptr<PyNode>(b)->operation;
  return a.operation.scope() == other.scope() && a.operation.node() == other.node();
}

void SetInput(PyNode& self, int slot, nb::handle tensor) {
  const Value value = ValueIn(*self.graph, tensor);
  self.scope().SetInput(self.operation.node(), slot, self.scope().Use(value, kNowhere), kNowhere);
}

void AddControlInput(PyNode& self, nb::handle before) {
  const Operation& other = RequireNode(before).operation;
  if (other.scope() != self.operation.scope())
    ThrowValueError("a control edge cannot lead from one body into another");
  self.scope().AddControlInput(self.operation.node(), other.node());
}

nb::list NodesOf(nb::handle graph, int start) {
  const std::shared_ptr<GraphCore>& core = ToGraph(graph);
  const auto& main = core->state()->main();
  if (start < 0) ThrowValueError("nodes are counted from 0");
  nb::list nodes;
  for (int i = start; i < static_cast<int>(main->function().nodes.size()); ++i)
    nodes.append(WrapNode(Operation(main, i), core));
  return nodes;
}

// The node that was added last where nodes are being added now.
nb::object LastNode() {
  if (CurrentGraph() == nullptr) ThrowValueError("no graph is current, so there is no last node");
  const std::shared_ptr<GraphCore>& core = SharedCurrentGraph();
  const auto& scope = core->state()->scope();
  const auto count = static_cast<int32_t>(scope->function().nodes.size());
  if (count == 0) return nb::none();
  return WrapNode(Operation(scope, count - 1), core);
}

// (file name, node) for each node of a GraphDef, which is added to the current graph.
nb::list ImportGraphDefBytes(nb::handle bytes, nb::handle inputs) {
  if (CurrentGraph() == nullptr)
    ThrowValueError("no graph is current that could import a GraphDef");
  if (PyBytes_Check(bytes.ptr()) == 0)
    ThrowTypeError(absl::StrCat("a GraphDef as bytes is wanted, not ", TypeNameOf(bytes)));
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0) throw nb::python_error();
  UseLineProvider();
  const std::shared_ptr<GraphCore> core = SharedCurrentGraph();
  const std::shared_ptr<const Program> program = ValueOf(ImportGraphDef(
      absl::string_view(data, static_cast<size_t>(size)), Ops(), {.refuse_unknown_ops = true}));
  ImportInputs replaced;
  const nb::dict entries = ItemsOfDict(inputs, "inputs");
  for (const auto& [name, value] : entries) {
    const nb::object tensor = Convert(value);
    replaced.emplace_back(TextOf(name, "a name"), Operand(ValueIn(*core, tensor), kNowhere));
  }
  const std::vector<Operation> added = gyre::internal::ImportNodes(program, replaced, kNowhere);
  nb::list nodes;
  for (size_t i = 0; i < added.size(); ++i) {
    nodes.append(nb::make_tuple(ToStr(program->main().nodes[i].name), WrapNode(added[i], core)));
  }
  return nodes;
}

// The main graph with primitives in place of If, Case, While and calls.
nb::object LoweredGraphDef(nb::handle graph) {
  const std::shared_ptr<const Program> program = ToGraph(graph)->graph().program();
  const std::string bytes = ValueOf(ExportGraphDef(*ValueOf(LowerMain(*program))));
  return Own(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

gyre::internal::SessionNames& NamesOf(nb::handle graph) {
  auto* const names = ToGraph(graph)->state()->session_names();
  if (names == nullptr) ThrowValueError("only graphs with session_rules have names of scopes");
  return *names;
}

}  // namespace

const Operation* AsOperation(nb::handle object) {
  return nb::isinstance<PyNode>(object) ? &nb::inst_ptr<PyNode>(object)->operation : nullptr;
}

nb::object WrapNode(const Operation& operation, const std::shared_ptr<GraphCore>& graph) {
  return nb::cast(PyNode{graph, operation});
}

void BindNodes(nb::module_& m) {
  nb::class_<PyNode>(m, "Node", nb::is_final(), "A node of a graph, or of a body in it.")
      .def_prop_ro("id", [](const PyNode& self) { return self.operation.node(); })
      .def_prop_ro("name", [](const PyNode& self) { return ToStr(self.node().name); })
      .def_prop_ro("type", [](const PyNode& self) { return ToStr(self.node().op_name); })
      .def_prop_ro("device", [](const PyNode& self) { return ToStr(self.node().device); })
      .def_prop_ro("line", [](const PyNode& self) { return ToStr(self.node().source); })
      .def_prop_ro("graph", [](const PyNode& self) { return ToPython(self.graph); })
      .def_prop_ro("place",
                   [](const PyNode& self) { return ToStr(self.scope().description().what); })
      .def_prop_ro("in_main", [](const PyNode& self) { return self.scope().is_main(); })
      .def_prop_ro("inputs", &InputsOf)
      .def_prop_ro("outputs", &OutputsOf)
      .def_prop_ro("control_inputs", &ControlInputsOf)
      .def_prop_ro("attrs", [](const PyNode& self) { return ToPython(self.node().attrs); })
      .def("set_input", &SetInput, nb::arg("slot"), nb::arg("tensor"))
      .def("add_control_input", &AddControlInput, nb::arg("before"))
      .def("__eq__", &IsSame, nb::arg("other").none())
      .def("__hash__", [](const PyNode& self) {
        return static_cast<Py_ssize_t>((std::hash<const void*>()(&self.scope()) >> 4) * 31 +
                                       self.operation.node());
      });
  m.def("node_of", [](nb::handle tensor) {
    const PyTensor& t = RequireOutput(tensor);
    return WrapNode(t.symbolic.operation(), t.graph);
  });
  m.def("slot_of", [](nb::handle tensor) { return RequireOutput(tensor).symbolic.slot(); });
  m.def("refine_shape", [](nb::handle tensor, nb::handle dims) {
    const Value& value = RequireOutput(tensor).symbolic;
    UseLineProvider();
    value.scope()->RefineShape({value.node(), value.slot()}, ToPartialShape(dims), kNowhere);
  });
  m.def("last_node", &LastNode);
  m.def("nodes_of", &NodesOf, nb::arg("graph"), nb::arg("start") = 0);
  m.def("import_graph_def", &ImportGraphDefBytes, nb::arg("bytes"), nb::arg("inputs"));
  m.def("lowered_graph_def", &LoweredGraphDef, nb::arg("graph"));
  m.def(
      "claim_name",
      [](nb::handle graph, nb::handle name, bool take, bool absolute) {
        auto& names = NamesOf(graph);
        const std::string wanted(TextOf(name, "a name"));
        return ToStr(absolute ? names.ClaimAbsolute(wanted, take) : names.Claim(wanted, take));
      },
      nb::arg("graph"), nb::arg("name"), nb::arg("take") = true, nb::arg("absolute") = false);
  m.def("scope_name", [](nb::handle graph) { return ToStr(NamesOf(graph).scope()); });
  m.def("set_scope_name", [](nb::handle graph, nb::handle name) {
    NamesOf(graph).set_scope(std::string(TextOf(name, "a name")));
  });
}

}  // namespace gyre::python
