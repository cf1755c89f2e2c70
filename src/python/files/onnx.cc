// Models of ONNX: what the package needs of them.
#include <memory>
#include <string>

#include "front/import_program.h"
#include "onnx/import.h"
#include "ops/registry.h"
#include "python/arrays/convert.h"
#include "python/arrays/items.h"
#include "python/dtype.h"
#include "python/execute.h"
#include "python/graph.h"
#include "python/lines.h"
#include "python/python.h"
#include "python/tensor.h"
#include "python/tracing/body.h"

namespace gyre::python {
namespace {

const std::source_location kNowhere;

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

// Adds what `outputs` need to the current graph; `inputs`: {endpoint: tensor to be used instead}.
nb::list ImportGraph(const PyOnnxModel& self, nb::handle outputs, nb::handle inputs) {
  const auto graph = RequireGraph("a model");
  std::vector<std::string> names;
  for (const nb::handle output : nb::iter(outputs)) names.emplace_back(TextOf(output, "an output"));
  ImportInputs replaced;
  const nb::dict entries = ItemsOfDict(inputs, "inputs");
  for (const auto& [name, value] : entries) {
    const nb::object tensor = Convert(value);
    replaced.emplace_back(TextOf(name, "a name"), Operand(ValueIn(*graph, tensor), kNowhere));
  }
  UseLineProvider();
  return WrapAll(gyre::internal::ImportRaised(self.model->program, names, replaced, kNowhere),
                 graph);
}

}  // namespace

void BindOnnx(nb::module_& m) {
  nb::class_<PyOnnxModel>(m, "OnnxModel", nb::is_final(), "A model of ONNX that has been read.")
      .def("inputs", [](const PyOnnxModel& self) { return Described(self.model->inputs); })
      .def("outputs", [](const PyOnnxModel& self) { return Described(self.model->outputs); })
      .def("initializers", &Initializers)
      .def("import_graph", &ImportGraph, nb::arg("outputs"), nb::arg("inputs"));
  m.def("load_onnx", &LoadOnnx, nb::arg("path"));
}

}  // namespace gyre::python
