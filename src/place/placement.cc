#include "place/placement.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ir/where.h"
#include "place/groups.h"
#include "place/kernels.h"

namespace gyre::place {
namespace {

bool HoldsSavedValues(const Node& node) {
  return node.op != nullptr && node.op->traits.keeps_for_gradients;
}

// Nodes to be looked at, in the order of their ids, again and again. One owner.
class Sweep {
 public:
  void Add(NodeId id) { pending_.insert(id); }
  // Looks at each node once; at one that is added meanwhile, too, if its turn is yet to come. The
  // others wait for the next time. Whether `look` was true for any.
  bool Run(absl::FunctionRef<bool(NodeId)> look) {
    bool changed = false;
    for (auto next = pending_.begin(); next != pending_.end();) {
      SpendWork();
      const NodeId id = *next;
      pending_.erase(next);
      changed |= look(id);
      next = pending_.upper_bound(id);
    }
    return changed;
  }

 private:
  std::set<NodeId> pending_;
};

class Placer {
 public:
  Placer(const Lowered& lowered, const FrameTable& frames, const std::vector<bool>& needed,
         absl::Span<const DeviceName> devices, const PlaceOptions& options)
      : lowered_(lowered),
        function_(lowered.function),
        needed_(needed),
        devices_(devices),
        options_(options),
        colocation_(FindColocation(lowered, frames, needed)),
        by_group_(function_.nodes.size()),
        kernels_(function_, devices) {
    for (const Node& node : function_.nodes) {
      SpendWork();
      if (needed_[node.id] && !colocation_.is_invariant[node.id])
        kernels_.Add(node.id, colocation_.groups.Of(node.id));
    }
  }

  absl::StatusOr<Placement> Run() && {
    if (options_.spread_seed != 0) {
      Spread(options_.spread_seed);
    } else {
      GYRE_RETURN_IF_ERROR(FollowRequests());
      PutTheRestFirst();
      FollowData();
    }
    return Finish();
  }

 private:
  struct Group {
    DeviceName request;
    NodeId asks = -1;          // a node that asks
    bool is_of_maker = false;  // the request, or a part of it, is that of who makes state
    bool follows_data = true;
    DeviceIndex device = kNoDevice;
    std::string why;
  };

  bool FollowsData(const Node& node) const {
    return IsPrimitive(node.kind()) || node.kind() == OpKind::kConst ||
           node.kind() == OpKind::kIdentity || HoldsSavedValues(node) || IsInCondition(node);
  }

  // A predicate is worked out where the variables are that it looks at: everybody waits for it.
  bool IsInCondition(const Node& node) const {
    const LoweredScope& scope = lowered_.scopes[lowered_.origins[node.id].scope];
    return scope.structured != nullptr &&
           KindOfCallee(*scope.structured, scope.callee) == CalleeKind::kCondition;
  }

  DeviceIndex num_devices() const { return DeviceIndex(static_cast<int32_t>(devices_.size())); }
  Group& GroupOf(NodeId node) { return by_group_[colocation_.groups.Of(node)]; }
  bool CanRun(NodeId node, DeviceIndex device) {
    return kernels_.CanRun(colocation_.groups.Of(node), device.value());
  }

  // The devices that have kernels for all of a node's group. Where there are none, the first one:
  // to run it there says what is missing.
  std::vector<DeviceIndex> DevicesFor(NodeId node) {
    std::vector<DeviceIndex> able;
    for (DeviceIndex d{0}; d < num_devices(); ++d) {
      if (CanRun(node, d)) able.push_back(d);
    }
    if (able.empty()) able.push_back(DeviceIndex(0));
    return able;
  }

  void Spread(uint64_t seed) {
    uint64_t drawn = seed;
    const auto draw = [&] {
      // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
      uint64_t z = drawn += 0x9e3779b97f4a7c15;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      return z ^ (z >> 31);
    };
    const auto pick = [&](NodeId node, uint64_t number) {
      const std::vector<DeviceIndex> able = DevicesFor(node);
      return able[number % able.size()];
    };
    // Runs of one program need different parts of it: state is drawn alike for all of them, and
    // together, for one run may join what another has not.
    const uint64_t of_state = draw();
    for (const auto& [node, name] : colocation_.states) {
      GroupOf(node).device = pick(node, of_state);
      GroupOf(node).why = "drawn for all state";
    }
    for (const Node& node : function_.nodes) {
      Group& group = GroupOf(node.id);
      if (!needed_[node.id] || group.device != kNoDevice) continue;
      group.device = pick(node.id, draw());
      group.why = "drawn";
    }
  }

  bool UsesState(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Endpoint& input) {
      return needed_[input.node] && colocation_.gives_state[input.node];
    });
  }

  // State is where its maker asks for, whatever its users ask for: each run of a program has others
  // of them. Where no maker asks, they decide.
  absl::Status FollowRequests() {
    for (const auto& [id, name] : colocation_.states) {
      const auto home = options_.homes.find(name);
      const Node& node = function_.node(id);
      if (home != options_.homes.end() && node.device.empty()) {
        GYRE_RETURN_IF_ERROR(AddRequest(node, home->second, GroupOf(id)));
        GroupOf(id).is_of_maker = true;
      }
    }
    for (const bool of_makers : {true, false}) {
      for (const Node& node : function_.nodes) {
        if (!needed_[node.id]) continue;
        Group& group = GroupOf(node.id);
        if (!FollowsData(node)) group.follows_data = false;
        if (node.device.empty() || colocation_.is_invariant[node.id]) continue;
        const bool uses = UsesState(node);
        if (of_makers != (colocation_.gives_state[node.id] && !uses)) continue;
        if (uses && group.is_of_maker) continue;
        GYRE_RETURN_IF_ERROR(AddRequest(node, node.device, group));
        group.is_of_maker |= of_makers;
      }
    }
    for (const Node& node : function_.nodes) {
      Group& group = GroupOf(node.id);
      if (group.asks != node.id) continue;
      std::string lacks;  // why the first of those that the request means cannot run it
      for (DeviceIndex d{0}; d < num_devices() && group.device == kNoDevice; ++d) {
        if (!group.request.Matches(devices_[d.value()])) continue;
        if (CanRun(node.id, d)) group.device = d;
        if (lacks.empty()) lacks = kernels_.Why(colocation_.groups.Of(node.id), d.value(), node.id);
      }
      if (lacks.empty())
        lacks = absl::StrCat(
            "there are only ", DeviceNames(),
            ": name one of these, run it on more (--devices cpu:4, also of workers; "
            "SessionOptions::devices; in Python config.set_logical_device_configuration or "
            "ConfigProto.device_count), or let nodes run elsewhere (soft placement)");
      if (group.device != kNoDevice) {
        group.why = absl::StrCat("asks for ", group.request.ToString());
      } else if (!options_.soft) {
        return absl::InvalidArgumentError(absl::StrCat("node ", node.name, " asks for the device ",
                                                       group.request.ToString(), ", but ", lacks,
                                                       NodeText(node)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddRequest(const Node& node, const std::string& device, Group& group) {
    absl::StatusOr<DeviceName> request = DeviceName::Parse(device);
    if (!request.ok()) return Annotate(request.status(), absl::StrCat("node ", node.name));
    if (group.asks < 0) {
      group.request = *std::move(request);
      group.asks = node.id;
      return absl::OkStatus();
    }
    absl::StatusOr<DeviceName> both = group.request.Intersect(*request);
    if (both.ok()) {
      group.request = *std::move(both);
    } else if (!options_.soft) {
      return absl::InvalidArgumentError(absl::StrCat(
          "nodes ", function_.node(group.asks).name, " and ", node.name,
          " must stand on one device, since they share state or are colocated, but ask for ",
          group.request.ToString(), " and ", request->ToString()));
    }
    return absl::OkStatus();
  }

  void PutTheRestFirst() {
    for (const Node& node : function_.nodes) {
      Group& group = GroupOf(node.id);
      if (!needed_[node.id] || group.device != kNoDevice || group.follows_data) continue;
      PutFirst(node.id, group);
    }
  }

  void PutFirst(NodeId node, Group& group) {
    group.device = DevicesFor(node).front();
    group.why = "the first device";
    if (group.device != DeviceIndex(0)) {
      absl::StrAppend(&group.why,
                      " with kernels for it: ", kernels_.Why(colocation_.groups.Of(node), 0, node));
    }
  }

  // Plumbing first goes where its values come from; what is left, constants for instance, where
  // they are used. What neither is placed by depends on nothing that is placed.
  //
  // Each of the three ways goes over all nodes once; after that it looks only at what the placed
  // ones may have changed, in the same order.
  void FollowData() {
    std::vector<std::vector<NodeId>> consumers(function_.nodes.size());
    std::vector<std::vector<NodeId>> members(function_.nodes.size());  // by group
    Sweep inner, all, back;
    for (const Node& node : function_.nodes) {
      if (!needed_[node.id]) continue;
      for (Sweep* sweep : {&inner, &all, &back}) sweep->Add(node.id);
      members[colocation_.groups.Of(node.id)].push_back(node.id);
      for (const Endpoint& input : node.inputs) consumers[input.node].push_back(node.id);
    }
    const auto placed = [&](NodeId id) {
      for (const NodeId member : members[colocation_.groups.Of(id)]) {
        back.Add(member);
        for (const NodeId consumer : consumers[member]) {
          inner.Add(consumer);
          all.Add(consumer);
        }
      }
    };
    while (true) {
      // A variable of a loop is where it is made anew each time, rather than where it comes from.
      if (inner.Run([&](NodeId id) {
            const Node& node = function_.node(id);
            return node.kind() != OpKind::kEnter && FollowInput(node, placed);
          }))
        continue;
      if (all.Run([&](NodeId id) { return FollowInput(function_.node(id), placed); })) continue;
      if (!back.Run([&](NodeId id) { return PlaceInputs(function_.node(id), placed); })) break;
    }
    for (const Node& node : function_.nodes) {
      Group& group = GroupOf(node.id);
      if (needed_[node.id] && group.device == kNoDevice) PutFirst(node.id, group);
    }
  }

  // Where the last input that says so is: of a Merge, what comes round a loop; of a Switch, the
  // value, not the predicate.
  bool FollowInput(const Node& node, absl::FunctionRef<void(NodeId)> placed) {
    Group& group = GroupOf(node.id);
    if (group.device != kNoDevice || node.kind() == OpKind::kConst) return false;
    size_t size = node.inputs.size();
    if (node.kind() == OpKind::kSwitch || node.kind() == OpKind::kSwitchN) size = 1;
    for (size_t i = size; i-- > 0;) {
      const NodeId source = node.inputs[i].node;
      if (!needed_[source] || function_.node(source).kind() == OpKind::kConst) continue;
      if (colocation_.is_invariant[source] || GroupOf(source).device == kNoDevice) continue;
      if (!CanRun(node.id, GroupOf(source).device)) continue;
      group.device = GroupOf(source).device;
      group.why = absl::StrCat("follows its input ", function_.node(source).name);
      placed(node.id);
      return true;
    }
    return false;
  }

  bool PlaceInputs(const Node& node, absl::FunctionRef<void(NodeId)> placed) {
    if (colocation_.is_invariant[node.id]) return false;
    const Group& group = GroupOf(node.id);
    if (group.device == kNoDevice) return false;
    bool changed = false;
    for (const Endpoint& input : node.inputs) {
      NodeId from = input.node;
      while (needed_[from] && colocation_.is_invariant[from])
        from = function_.node(from).inputs[0].node;
      Group& source = GroupOf(from);
      if (!needed_[from] || source.device != kNoDevice) continue;
      if (!CanRun(from, group.device)) continue;
      source.device = group.device;
      source.why = absl::StrCat("is used by ", node.name);
      placed(from);
      changed = true;
    }
    return changed;
  }

  Placement Finish() {
    Placement placement;
    placement.device.assign(function_.nodes.size(), kNoDevice);
    placement.why.resize(function_.nodes.size());
    for (const Node& node : function_.nodes) {
      if (!needed_[node.id]) continue;
      if (colocation_.is_invariant[node.id]) {
        placement.why[node.id] = "on each device that uses it";
        continue;
      }
      const Group& group = GroupOf(node.id);
      placement.device[node.id] = group.device;
      const bool asks = !node.device.empty() && !(group.is_of_maker && UsesState(node));
      placement.why[node.id] =
          group.asks >= 0 && group.asks != node.id && !(asks && IsMet(node, group.device))
              ? absl::StrCat("stands with ", function_.node(group.asks).name)
              : group.why;
    }
    return placement;
  }

  // Whether the node runs where it asks to.
  bool IsMet(const Node& node, DeviceIndex device) const {
    const absl::StatusOr<DeviceName> request = DeviceName::Parse(node.device);
    return request.ok() && request->Matches(devices_[device.value()]);
  }

  std::string DeviceNames() const {
    return absl::StrJoin(devices_, ", ", [](std::string* out, const DeviceName& device) {
      absl::StrAppend(out, device.ToString());
    });
  }

  const Lowered& lowered_;
  const Function& function_;
  const std::vector<bool>& needed_;
  const absl::Span<const DeviceName> devices_;
  const PlaceOptions& options_;
  Colocation colocation_;
  std::vector<Group> by_group_;
  MissingKernels kernels_;
};

}  // namespace

absl::StatusOr<Placement> Place(const Lowered& lowered, const FrameTable& frames,
                                const std::vector<bool>& needed,
                                absl::Span<const DeviceName> devices, const PlaceOptions& options) {
  return Placer(lowered, frames, needed, devices, options).Run();
}

}  // namespace gyre::place
