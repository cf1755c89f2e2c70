// EffectOrder: which nodes of one body must come after which, so that effects happen in the order
// in which the program states them.
//
// Accesses of one resource keep their order, except that reads commute. Accesses of different
// resources are independent. What touches a resource that is not known may touch any, and is
// ordered with all. Owned by a Scope; one thread.
#pragma once

#include <map>
#include <vector>

#include "absl/types/span.h"
#include "base/internal_export.h"
#include "ir/program.h"

namespace gyre::internal {

// A resource, as far as programs can tell them apart while they are built.
using ResourceKey = int;
inline constexpr ResourceKey kHost = 0;  // prints, assertions, calls of the host
inline constexpr ResourceKey kUnknownResource = -1;

struct Access {
  ResourceKey key = kUnknownResource;
  bool writes = false;
  friend bool operator==(const Access&, const Access&) = default;
};

class GYRE_INTERNAL_EXPORT EffectOrder {
 public:
  // The node's accesses come next. Returns the nodes that must run before it.
  std::vector<NodeId> Record(NodeId node, absl::Span<const Access> accesses);
  // The nodes after which all writes so far have happened.
  std::vector<NodeId> Last() const;
  // All that has been touched: a resource once, as written if it was ever written.
  std::vector<Access> Summary() const;

 private:
  struct History {
    NodeId last_write = -1;
    std::vector<NodeId> reads;  // since
  };
  void RecordUnknown(NodeId node, bool writes, std::vector<NodeId>& before);
  void RecordKnown(NodeId node, const Access& access, std::vector<NodeId>& before);

  std::map<ResourceKey, History> histories_;
  History unknown_;                      // accesses of unknown resources
  std::map<ResourceKey, bool> touched_;  // and whether it was written
};

}  // namespace gyre::internal
