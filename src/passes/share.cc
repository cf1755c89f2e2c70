#include "passes/share.h"

#include <algorithm>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/hash/hash.h"
#include "analysis/same_attrs.h"
#include "base/hash_map.h"
#include "base/work.h"
#include "passes/edit/body.h"
#include "passes/edit/rewrite.h"
#include "passes/edit/staged_edit.h"

namespace gyre {
namespace {

using passes::BodyFacts;
using passes::Rewrite;

size_t Hash(const Tensor& tensor) {
  size_t hash = absl::HashOf(tensor.dtype());
  if (!tensor.has_value() || tensor.dtype() == DType::kResource ||
      tensor.dtype() == DType::kVariant) {
    return hash;
  }
  hash = absl::HashOf(hash, tensor.shape().dims());
  if (tensor.dtype() == DType::kString) return absl::HashOf(hash, tensor.values<std::string>());
  return absl::HashOf(hash, absl::string_view(static_cast<const char*>(tensor.raw_data()),
                                              tensor.num_elements() * DTypeSize(tensor.dtype())));
}

// Equal values have equal hashes; of kinds that seldom tell nodes apart, all have the same.
size_t Hash(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> size_t {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Tensor>) {
          return Hash(v);
        } else if constexpr (std::is_same_v<T, FunctionRef>) {
          return absl::HashOf(v.name);
        } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, int64_t> ||
                             std::is_same_v<T, bool> || std::is_same_v<T, DType> ||
                             std::is_same_v<T, std::vector<int64_t>> ||
                             std::is_same_v<T, std::vector<std::string>> ||
                             std::is_same_v<T, std::vector<DType>>) {
          return absl::HashOf(v);
        } else {
          return 0;
        }
      },
      value);
}

// A node as it reads once what it reads has been shared.
struct Computation {
  const Node* node;
  std::vector<Endpoint> inputs;
  std::vector<NodeId> control_inputs;  // sorted

  size_t Hashed() const {
    size_t hash = absl::HashOf(node->op_name, inputs, control_inputs, node->device);
    for (const auto& [name, value] : node->attrs) hash = absl::HashOf(hash, name, Hash(value));
    return hash;
  }
  bool operator==(const Computation& other) const {
    return node->op_name == other.node->op_name && inputs == other.inputs &&
           control_inputs == other.control_inputs && node->device == other.node->device &&
           SameAttrs(node->attrs, other.node->attrs);
  }
};

bool CanShare(const Node& node, const BodyFacts& body) {
  return body.IsPure(node.id) && node.num_outputs() > 0 &&
         (IsPlain(node.kind()) || IsStructured(node.kind()));
}

void Share(const BodyFacts& body, Rewrite& rewrite) {
  HashMap<size_t, std::vector<Computation>> found;
  for (const NodeId id : body.order) {
    SpendWork();
    const Node& node = rewrite.node(id);
    if (!CanShare(node, body)) continue;
    Computation computation{&node, node.inputs, node.control_inputs};
    for (Endpoint& e : computation.inputs) e = rewrite.Resolve(e);
    std::sort(computation.control_inputs.begin(), computation.control_inputs.end());
    std::vector<Computation>& candidates = found[computation.Hashed()];
    const auto first = std::find(candidates.begin(), candidates.end(), computation);
    if (first == candidates.end()) {
      candidates.push_back(std::move(computation));
      continue;
    }
    for (int slot = 0; slot < node.num_outputs(); ++slot)
      rewrite.Replace({id, slot}, {first->node->id, slot});
    rewrite.Drop(id, {first->node->id});
  }
}

}  // namespace

absl::StatusOr<Staged> SharePass(const Staged& staged) {
  const Effects effects(*staged.program);
  return passes::RewriteEach(staged, [&](absl::string_view, Rewrite& rewrite) {
    Share(passes::ReadBody(rewrite.function(), effects, rewrite.run().feeds), rewrite);
    return absl::OkStatus();
  });
}

}  // namespace gyre
