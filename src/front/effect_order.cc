#include "front/effect_order.h"

#include <algorithm>

namespace gyre::internal {

std::vector<NodeId> EffectOrder::Record(NodeId node, absl::Span<const Access> accesses) {
  std::vector<NodeId> before;
  for (const Access& access : accesses) {
    touched_[access.key] |= access.writes;
    if (access.key == kUnknownResource) {
      RecordUnknown(node, access.writes, before);
    } else {
      RecordKnown(node, access, before);
    }
  }
  std::sort(before.begin(), before.end());
  before.erase(std::unique(before.begin(), before.end()), before.end());
  // A node that touches one resource through several inputs.
  before.erase(std::remove_if(before.begin(), before.end(),
                              [node](NodeId id) { return id < 0 || id == node; }),
               before.end());
  return before;
}

void EffectOrder::RecordUnknown(NodeId node, bool writes, std::vector<NodeId>& before) {
  before.push_back(unknown_.last_write);
  for (const auto& [key, history] : histories_) {
    before.push_back(history.last_write);
    if (writes) before.insert(before.end(), history.reads.begin(), history.reads.end());
  }
  if (!writes) {
    unknown_.reads.push_back(node);
    return;
  }
  before.insert(before.end(), unknown_.reads.begin(), unknown_.reads.end());
  unknown_ = {node, {}};
  histories_.clear();  // all of it comes before this node
}

void EffectOrder::RecordKnown(NodeId node, const Access& access, std::vector<NodeId>& before) {
  History& history = histories_[access.key];
  before.push_back(unknown_.last_write);
  before.push_back(history.last_write);
  if (!access.writes) {
    history.reads.push_back(node);
    return;
  }
  before.insert(before.end(), history.reads.begin(), history.reads.end());
  before.insert(before.end(), unknown_.reads.begin(), unknown_.reads.end());
  history = {node, {}};
}

std::vector<NodeId> EffectOrder::Last() const {
  std::vector<NodeId> last;
  if (unknown_.last_write >= 0) last.push_back(unknown_.last_write);
  for (const auto& [key, history] : histories_) {
    if (history.last_write >= 0) last.push_back(history.last_write);
  }
  std::sort(last.begin(), last.end());
  last.erase(std::unique(last.begin(), last.end()), last.end());
  return last;
}

std::vector<Access> EffectOrder::Summary() const {
  std::vector<Access> summary;
  for (const auto& [key, writes] : touched_) summary.push_back({key, writes});
  return summary;
}

}  // namespace gyre::internal
