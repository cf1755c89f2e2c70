// The module `gyre._gyre`: what the Python package is made of. python/gyre/_gyre.pyi says what is
// in it.
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
  BindRanks(m);
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
  BindOnnx(m);
  BindFiles(m);
}
