// Models of ONNX: what the package needs of them.
#include <memory>
#include <string>

#include "onnx/import.h"
#include "ops/registry.h"
#include "python/dtype.h"
#include "python/execute.h"
#include "python/files/import_graph.h"
#include "python/python.h"
#include "python/tensor.h"

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
}

}  // namespace gyre::python
