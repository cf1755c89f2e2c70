// The module `gyre._gyre`: what the Python package is made of. python/gyre/_gyre.pyi says what is
// in it.
#include "compiled/use.h"
#include "python/python.h"

NB_MODULE(_gyre, m) {
  using namespace gyre::python;  // NOLINT: one name per file
  // Ops, kernels and cached objects live as long as the process.
  nb::set_leak_warnings(false);
  BindErrors(m);
  BindDTypes(m);
  BindTensors(m);
  BindDLPack(m);
  BindExecute(m);
  BindPublicFunctions(m);
  BindOpInfo(m);
  BindTapes(m);
  BindGraphs(m);
  BindClusters(m);
  BindExecutables(m);
  BindNodes(m);
  BindControlFlow(m);
  BindFunctions(m);
  BindGradients(m);
  BindVariables(m);
  BindHostFunctions(m);
  BindSettings(m);
  BindQuietCallable(m);
  BindTools(m);
  BindModels(m);
  BindFiles(m);
  // Daemon threads may be inside loops that are about to be compiled when Python ends.
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function([] { gyre::StopCompiling(); }, nb::call_guard<nb::gil_scoped_release>()));
}
