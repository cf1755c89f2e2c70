#include "ops/registry.h"

#include <algorithm>
#include <mutex>

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
  def->structure = std::move(registration.structure);
  def->shape = registration.shape;
  def->gradient = std::move(registration.gradient);
  def->batch = registration.batch;
  def->simplify = registration.simplify;
  def->failure = registration.failure;
  def->kinds = registration.kinds;
  auto entry = std::make_unique<Entry>(Entry{*std::move(def),
                                             {registration.api.begin(), registration.api.end()},
                                             std::move(registration.kernel)});
  const std::string name = entry->def.name;
  if (!entries_.emplace(name, std::move(entry)).second && status_.ok()) {
    status_ = absl::InvalidArgumentError(absl::StrCat("op ", name, " is registered twice"));
  }
}

absl::Status OpRegistry::Chain(std::unique_ptr<OpRegistry> more) {
  OpRegistry* last = nullptr;
  for (OpRegistry* part = this; part != nullptr; part = part->next_.load()) {
    for (const OpDef* op : more->Own()) {
      if (!part->entries_.contains(op->name)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "there is an op called ", op->name, " already, ",
          part->origin_.empty() ? "a built-in one" : absl::StrCat("of plug-in ", part->origin_)));
    }
    last = part;
  }
  last->next_.store(more.release(), std::memory_order_release);
  return absl::OkStatus();
}

const OpRegistry::Entry* OpRegistry::FindEntry(absl::string_view name) const {
  for (const OpRegistry* part = this; part != nullptr; part = part->next()) {
    const auto it = part->entries_.find(name);
    if (it != part->entries_.end()) return it->second.get();
  }
  return nullptr;
}

const OpDef* OpRegistry::Find(absl::string_view name) const {
  const Entry* const entry = FindEntry(name);
  return entry == nullptr ? nullptr : &entry->def;
}

absl::StatusOr<Kernel> OpRegistry::MakeKernel(const Node& node) const {
  const Entry* const entry = FindEntry(node.op_name);
  if (entry == nullptr)
    return absl::NotFoundError(absl::StrCat("there is no op called ", node.op_name));
  if (entry->kernel == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("op ", node.op_name, " cannot be run by this engine"));
  }
  return entry->kernel(node);
}

bool OpRegistry::HasKernel(absl::string_view name) const {
  const Entry* const entry = FindEntry(name);
  return entry != nullptr && entry->kernel != nullptr;
}

const std::vector<std::string>& OpRegistry::PublicNames(absl::string_view name) const {
  static const auto* const none = new std::vector<std::string>;
  const Entry* const entry = FindEntry(name);
  return entry == nullptr ? *none : entry->public_names;
}

std::vector<const OpDef*> OpRegistry::Own() const {
  std::vector<const OpDef*> own;
  for (const auto& [name, entry] : entries_) own.push_back(&entry->def);
  std::sort(own.begin(), own.end(),
            [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  return own;
}

std::vector<const OpDef*> OpRegistry::All() const {
  std::vector<const OpDef*> all = Own();
  for (const OpRegistry* part = next(); part != nullptr; part = part->next()) {
    const std::vector<const OpDef*> own = part->Own();
    const auto middle = all.insert(all.end(), own.begin(), own.end());
    std::inplace_merge(all.begin(), middle, all.end(),
                       [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  }
  return all;
}

namespace {

OpRegistry& MutableOps() {
  static OpRegistry* const registry = [] {
    auto* r = new OpRegistry;
#define GYRE_FAMILY(name) Register##name##Ops(*r);
    GYRE_OP_FAMILIES(GYRE_FAMILY)
#undef GYRE_FAMILY
    return r;
  }();
  return *registry;
}

}  // namespace

const OpRegistry& Ops() { return MutableOps(); }

absl::Status AddOps(std::unique_ptr<OpRegistry> more) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return MutableOps().Chain(std::move(more));
}

}  // namespace gyre
