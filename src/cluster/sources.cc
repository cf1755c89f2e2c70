#include "cluster/sources.h"

#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace gyre::cluster {
namespace {

constexpr absl::string_view kSourceAttr = "_gyre_source";

// The program with `change` applied to all nodes.
template <typename Change>
std::shared_ptr<const Program> WithNodes(const Program& program, const Change& change) {
  const auto changed = [&](Function function) {
    for (Node& node : function.nodes) change(node);
    return function;
  };
  ProgramBuilder builder(program);
  builder.SetMain(changed(program.main()));
  for (const auto& [name, function] : program.functions()) builder.SetFunction(changed(*function));
  return builder.Build();
}

}  // namespace

std::shared_ptr<const Program> WithSourcesAmongAttributes(const Program& program) {
  return WithNodes(program, [](Node& node) {
    if (!node.source.empty()) node.attrs.Set(std::string(kSourceAttr), node.source);
  });
}

std::shared_ptr<const Program> WithSourcesOfAttributes(const Program& program) {
  return WithNodes(program, [](Node& node) {
    const std::string* const source = node.attrs.Get<std::string>(kSourceAttr);
    if (source == nullptr) return;
    node.source = *source;
    node.attrs.Erase(kSourceAttr);
  });
}

}  // namespace gyre::cluster
