// Models of ONNX: what the package needs of them.
#include <map>
#include <memory>
#include <string>

#include "eager/variable_store.h"
#include "onnx/import.h"
#include "ops/registry.h"
#include "python/dtype.h"
#include "python/execute.h"
#include "python/files/import_graph.h"
#include "python/graph.h"
#include "python/python.h"
#include "python/tensor.h"
#include "session/onnx/onnx_file.h"

namespace gyre::python {
namespace {

// Immutable.
struct PyOnnxModel {
  std::shared_ptr<const OnnxModel> model;
};

PyOnnxModel LoadOnnx(nb::handle path) {
  const std::string where(TextOf(path, "a path"));
  absl::StatusOr<OnnxModel> model;
  {
    const nb::gil_scoped_release release;
    model = ImportOnnxFile(where, Ops(), {.folder = "", .trainable_initializers = true});
  }
  return {std::make_shared<const OnnxModel>(ValueOf(std::move(model)))};
}

// [(name, endpoint, dtype, dims)]; what is no tensor is a variant.
nb::list Described(const std::vector<OnnxValue>& values) {
  nb::list result;
  for (const OnnxValue& value : values) {
    const bool is_tensor = value.type.kind == OnnxKind::kTensor;
    result.append(nb::make_tuple(ToStr(value.name), ToStr(value.endpoint),
                                 ToPython(is_tensor ? value.type.dtype : DType::kVariant),
                                 ToPython(value.shape)));
  }
  return result;
}

// [(name, endpoint, value)]
nb::list Initializers(const PyOnnxModel& self) {
  nb::list result;
  for (const OnnxInitializer& initializer : self.model->initializers) {
    result.append(nb::make_tuple(ToStr(initializer.name), ToStr(initializer.endpoint),
                                 WrapEager(initializer.value)));
  }
  return result;
}

Endpoint EndpointIn(GraphCore& graph, nb::handle tensor) {
  const Value value = ValueIn(graph, tensor);
  return {value.node(), value.slot()};
}

// [(name, tensor)]: values of the graph, and handles of variables, with what they are called in the
// model. Variables have
// their values of now, and what the graph has captured is constant.
void SaveOnnx(nb::handle graph_object, nb::handle inputs, nb::handle outputs, nb::handle variables,
              nb::handle path) {
  GraphCore& graph = *ToGraph(graph_object);
  const std::string where(TextOf(path, "a path"));
  std::vector<std::string> input_names, output_names;
  RunSignature signature;
  for (const nb::handle input : nb::iter(inputs)) {
    input_names.emplace_back(TextOf(input[0], "a name"));
    signature.feeds.push_back(EndpointIn(graph, input[1]));
  }
  for (const nb::handle output : nb::iter(outputs)) {
    output_names.emplace_back(TextOf(output[0], "a name"));
    signature.fetches.push_back(EndpointIn(graph, output[1]));
  }
  OnnxSource source = SourceOf(graph.graph().program(), std::move(signature));
  source.inputs = std::move(input_names);
  source.outputs = std::move(output_names);
  for (const GraphCore::CapturedTensor& captured : graph.captures()) {
    source.constants.emplace_back(Endpoint{captured.inner.node(), captured.inner.slot()},
                                  RequireEager(captured.outer, "what the function uses"));
  }
  std::map<uint64_t, std::string> names;
  for (const nb::handle variable : nb::iter(variables)) {
    names[RequireTensor(variable[1], "the handle of a variable").id] =
        std::string(TextOf(variable[0], "a name"));
  }
  for (const GraphCore::CapturedTensor& variable : graph.variables()) {
    const PyTensor& handle = RequireTensor(variable.outer, "the handle of a variable");
    if (handle.owner == nullptr) continue;
    OnnxVariable& added = source.variables[handle.owner->name()];
    added.value = eager::ValueBehind(handle.eager);
    added.initializer = names[handle.id];
  }
  absl::Status status;
  {
    const nb::gil_scoped_release release;
    status = SaveAsOnnx(source, where);
  }
  Check(status);
}

}  // namespace

void BindOnnx(nb::module_& m) {
  nb::class_<PyOnnxModel>(m, "OnnxModel", nb::is_final(), "A model of ONNX that has been read.")
      .def("inputs", [](const PyOnnxModel& self) { return Described(self.model->inputs); })
      .def("outputs", [](const PyOnnxModel& self) { return Described(self.model->outputs); })
      .def("initializers", &Initializers)
      .def(
          "import_graph",
          [](const PyOnnxModel& self, nb::handle outputs, nb::handle inputs) {
            return ImportIntoGraph(self.model->program, outputs, inputs);
          },
          nb::arg("outputs"), nb::arg("inputs"));
  m.def("load_onnx", &LoadOnnx, nb::arg("path"));
  m.def("save_onnx", &SaveOnnx, nb::arg("graph"), nb::arg("inputs"), nb::arg("outputs"),
        nb::arg("variables"), nb::arg("path"), "Writes values of a graph as a model of ONNX.");
}

}  // namespace gyre::python
