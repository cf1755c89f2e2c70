#include "ops/registry.h"

#include <algorithm>

#include "ops/families.h"

namespace gyre {

void OpRegistry::Add(OpRegistration registration) {
  absl::StatusOr<OpDef> def = ParseOpSchema(registration.schema);
  if (!def.ok()) {
    if (status_.ok()) status_ = Annotate(def.status(), registration.schema);
    return;
  }
  def->doc = std::string(registration.doc);
  def->kind = registration.kind;
  def->traits = registration.traits;
  def->shape = registration.shape;
  def->gradient = std::move(registration.gradient);
  auto entry = std::make_unique<Entry>(Entry{*std::move(def), std::move(registration.kernel)});
  const std::string name = entry->def.name;
  if (!entries_.emplace(name, std::move(entry)).second && status_.ok()) {
    status_ = BugError(absl::StrCat("op ", name, " is registered twice"));
  }
}

const OpDef* OpRegistry::Find(absl::string_view name) const {
  const auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &it->second->def;
}

absl::StatusOr<Kernel> OpRegistry::MakeKernel(const Node& node) const {
  const auto it = entries_.find(node.op_name);
  if (it == entries_.end())
    return absl::NotFoundError(absl::StrCat("there is no op called ", node.op_name));
  if (it->second->kernel == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("op ", node.op_name, " cannot be run by this engine"));
  }
  return it->second->kernel(node);
}

bool OpRegistry::HasKernel(absl::string_view name) const {
  const auto it = entries_.find(name);
  return it != entries_.end() && it->second->kernel != nullptr;
}

std::vector<const OpDef*> OpRegistry::All() const {
  std::vector<const OpDef*> all;
  for (const auto& [name, entry] : entries_) all.push_back(&entry->def);
  std::sort(all.begin(), all.end(),
            [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  return all;
}

const OpRegistry& Ops() {
  static const OpRegistry* const registry = [] {
    auto* r = new OpRegistry;
#define GYRE_FAMILY(name) Register##name##Ops(*r);
    GYRE_OP_FAMILIES(GYRE_FAMILY)
#undef GYRE_FAMILY
    return r;
  }();
  return *registry;
}

}  // namespace gyre
