#include "python/tracing/body.h"

#include "python/execute.h"
#include "python/lines.h"

namespace gyre::python {
namespace {

std::vector<Value> Values(nb::handle list) {
  GraphCore& graph = *SharedCurrentGraph();
  std::vector<Value> values;
  for (const nb::handle item : nb::iter(list))
    values.push_back(ValueIn(graph, AsTensor(item) != nullptr ? nb::borrow(item) : Convert(item)));
  return values;
}

}  // namespace

std::vector<Value> ResultsOfBody(nb::handle results, absl::string_view what) {
  if (PyList_Check(results.ptr()) == 0 && PyTuple_Check(results.ptr()) == 0) {
    ThrowTypeError(absl::StrCat(what, " must return a list of tensors, not ", TypeNameOf(results)));
  }
  return Values(results);
}

std::vector<Value> ValuesOf(nb::handle tensors, absl::string_view what) {
  if (PyList_Check(tensors.ptr()) == 0 && PyTuple_Check(tensors.ptr()) == 0)
    ThrowTypeError(absl::StrCat(what, " must be a list of tensors, not ", TypeNameOf(tensors)));
  return Values(tensors);
}

gyre::internal::Leaves LeavesOf(std::vector<Value> values, nb::handle paths) {
  gyre::internal::Leaves leaves;
  if (paths.is_none()) {
    for (size_t i = 0; i < values.size(); ++i) leaves.paths.push_back(absl::StrCat(i));
  } else {
    for (const nb::handle path : nb::iter(paths)) leaves.paths.emplace_back(TextOf(path, "a path"));
    // A body that returns too much or too little: the front end says so.
    for (size_t i = leaves.paths.size(); i < values.size(); ++i)
      leaves.paths.push_back(absl::StrCat(i));
    leaves.paths.resize(values.size());
  }
  leaves.values = std::move(values);
  return leaves;
}

std::shared_ptr<GraphCore> RequireGraph(absl::string_view what) {
  if (CurrentGraph() == nullptr) {
    ThrowStatus(absl::FailedPreconditionError(
        absl::StrCat(what, " is for graphs, and none is being traced")));
  }
  CurrentGraph()->RequireGrowing();
  UseLineProvider();
  return SharedCurrentGraph();
}

}  // namespace gyre::python
