#include "eager/eager_op.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "analysis/same_attrs.h"
#include "base/fork.h"
#include "front/error.h"
#include "ops/evaluate.h"
#include "ops/registry.h"

namespace gyre::eager {
namespace {

using gyre::internal::Throw;
using gyre::internal::ValueOrThrow;

// Attributes that differ from call to call must not fill the memory.
constexpr size_t kMaxPerTypes = 64;

bool HoldsTensor(const AttrMap& attrs) {
  return std::any_of(attrs.begin(), attrs.end(), [](const auto& entry) {
    return std::holds_alternative<Tensor>(entry.second) ||
           std::holds_alternative<std::vector<Tensor>>(entry.second);
  });
}

// Named resources without a name are called after their node: here, one of their own each.
bool NeedsOwnName(const OpDef& op, const AttrMap& given) {
  const AttrDef* def = op.FindAttr("shared_name");
  return def != nullptr && given.GetOr<std::string>("shared_name", "").empty();
}

std::shared_ptr<const EagerOp> Make(const OpDef& op, absl::Span<const Tensor> inputs,
                                    AttrMap given) {
  if (!IsPlain(op.kind)) {
    Throw(absl::UnimplementedError(
        absl::StrCat(op.name, " runs only in graphs: call it in a gyre.function")));
  }
  auto made = std::make_shared<EagerOp>();
  made->def = &op;
  made->given = given;
  if (NeedsOwnName(op, given)) {
    static std::atomic<int64_t> last{0};
    given.Set("shared_name", absl::StrCat("eager_", op.name, "_", last.fetch_add(1) + 1));
  }
  made->node =
      ValueOrThrow(MakeNode(Ops(), op.name, {inputs.begin(), inputs.end()}, std::move(given)));
  made->node.name = op.name;
  made->kernel = ValueOrThrow(Ops().MakeKernel(made->node));
  made->is_quick = op.traits.elementwise && op.traits.effect == Effect::kNone;
  made->is_random = op.traits.effect == Effect::kRandom;
  return made;
}

}  // namespace

std::shared_ptr<const EagerOp> EagerOpTable::Find(const Key& key, const AttrMap& given) const {
  const auto it = known_.find(key);
  if (it == known_.end()) return nullptr;
  for (const auto& op : it->second) {
    if (SameAttrs(op->given, given)) return op;
  }
  return nullptr;
}

bool EagerOpTable::Add(const Key& key, std::shared_ptr<const EagerOp> op) {
  auto& list = known_[key];
  if (list.size() >= kMaxPerTypes) return false;
  list.push_back(std::move(op));
  return true;
}

size_t EagerOpTable::size() const {
  size_t count = 0;
  for (const auto& [key, list] : known_) count += list.size();
  return count;
}

std::shared_ptr<const EagerOp> EagerOps::Find(const OpDef& op, absl::Span<const Tensor> inputs,
                                              AttrMap given, bool& is_kept) {
  is_kept = false;
  if (HoldsTensor(given) || NeedsOwnName(op, given)) return Make(op, inputs, std::move(given));
  const EagerOpTable::Key key(op, inputs);
  const auto find = [&](const AttrMap& attrs) {
    const NoFork no_fork;
    const std::lock_guard lock(mutex_);
    return known_.Find(key, attrs);
  };
  std::shared_ptr<const EagerOp> found = find(given);
  is_kept = found != nullptr;
  if (is_kept) return found;
  std::shared_ptr<const EagerOp> made = Make(op, inputs, std::move(given));
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  found = known_.Find(key, made->given);  // another thread may have been quicker
  is_kept = found != nullptr || known_.Add(key, made);
  return found != nullptr ? found : made;
}

std::shared_ptr<const EagerOp> EagerOps::Find(const OpDef& op, absl::Span<const Tensor> inputs,
                                              AttrMap given, EagerOpTable& seen) {
  const EagerOpTable::Key key(op, inputs);
  if (std::shared_ptr<const EagerOp> found = seen.Find(key, given)) return found;
  bool is_kept = false;
  std::shared_ptr<const EagerOp> found = Find(op, inputs, std::move(given), is_kept);
  if (is_kept) seen.Add(key, found);
  return found;
}

size_t EagerOps::size() const {
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  return known_.size();
}

}  // namespace gyre::eager
