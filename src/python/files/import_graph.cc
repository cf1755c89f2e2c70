#include "python/files/import_graph.h"

#include <string>
#include <utility>
#include <vector>

#include "front/import_program.h"
#include "python/arrays/convert.h"
#include "python/arrays/items.h"
#include "python/execute.h"
#include "python/graph.h"
#include "python/lines.h"
#include "python/tensor.h"
#include "python/tracing/body.h"

namespace gyre::python {

nb::list ImportIntoGraph(std::shared_ptr<const Program> program, nb::handle outputs,
                         nb::handle inputs) {
  const std::source_location nowhere;
  const auto graph = RequireGraph("a model");
  std::vector<std::string> names;
  for (const nb::handle output : nb::iter(outputs)) names.emplace_back(TextOf(output, "an output"));
  ImportInputs replaced;
  const nb::dict entries = ItemsOfDict(inputs, "inputs");
  for (const auto& [name, value] : entries) {
    const nb::object tensor = Convert(value);
    replaced.emplace_back(TextOf(name, "a name"), Operand(ValueIn(*graph, tensor), nowhere));
  }
  UseLineProvider();
  return WrapAll(gyre::internal::ImportRaised(std::move(program), names, replaced, nowhere), graph);
}

}  // namespace gyre::python
