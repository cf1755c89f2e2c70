#include "place/partition.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "devices/device_type.h"
#include "lower/emitter.h"

namespace gyre::place {
namespace {

using lower::LoweringEmitter;
using lower::Where;

// One part while it is written.
struct Draft {
  Draft(const OpLookup& ops, const Function& whole, size_t num_frames)
      : emitter(ops), local(whole.nodes.size(), -1), pivots(num_frames, -1) {
    for (const Node& node : whole.nodes) emitter.UniqueName(node.name);
  }

  LoweringEmitter emitter;
  std::vector<NodeId> local;  // by node of the whole: its copy here, or -1
  HashMap<Endpoint, Endpoint> received;
  // By value: what decides whether it is sent here, since all that use it here wait for that; -1
  // where they do not.
  HashMap<Endpoint, NodeId> gates;
  HashMap<NodeId, NodeId> received_controls;
  HashMap<NodeId, NodeId> entered_controls;  // by Enter: see EnteredControl
  HashMap<Endpoint, NodeId> there;           // by value: see There
  HashMap<Endpoint, Endpoint> fed;
  std::vector<NodeId> pivots;  // by frame: what fires once in each iteration, or -1
  RunSignature signature;
  std::vector<int> feeds, fetches;
};

class Cutter {
 public:
  Cutter(const OpLookup& ops, const Lowered& whole, const FrameTable& frames,
         const std::vector<bool>& needed, const Placement& placement,
         absl::Span<const DeviceName> devices)
      : whole_(whole),
        function_(whole.function),
        frames_(frames),
        needed_(needed),
        device_of_(placement.device) {
    for (const DeviceName& device : devices) {
      const DeviceType* const type = FindDeviceType(device.type.value_or(""));
      if (host_ == kNoDevice && (type == nullptr || !type->is_discrete))
        host_ = DeviceIndex(static_cast<int32_t>(device_names_.size()));
      device_names_.push_back(device.ToString());
      drafts_.push_back(std::make_unique<Draft>(ops, function_, frames.frames.size()));
    }
    for (size_t i = 0; i < whole.signature.feeds.size(); ++i)
      feed_of_.emplace(whole.signature.feeds[i], static_cast<int>(i));
  }

  absl::StatusOr<Partition> Run() {
    for (const Node& node : function_.nodes) {
      SpendWork();
      if (needed_[node.id] && device_of_[node.id] != kNoDevice) CopyTo(device_of_[node.id], node);
    }
    FindGates();
    for (const Node& node : function_.nodes) {
      if (needed_[node.id] && device_of_[node.id] != kNoDevice) Connect(device_of_[node.id], node);
    }
    DriveFrames();
    AddSignature();
    GYRE_RETURN_IF_ERROR(status_);
    return Finish();
  }

 private:
  void CopyTo(DeviceIndex d, const Node& node) {
    drafts_[d]->local[node.id] = drafts_[d]->emitter.Add(node, whole_.origins[node.id]);
  }

  void Connect(DeviceIndex d, const Node& node) {
    const NodeId copy = drafts_[d]->local[node.id];
    for (size_t i = 0; i < node.inputs.size(); ++i)
      drafts_[d]->emitter.SetInput(copy, static_cast<int>(i), Input(d, node.inputs[i]));
    std::vector<NodeId> controls;
    for (const NodeId control : node.control_inputs) {
      if (!needed_[control] || IsGated(d, node, control)) continue;  // it is fed, or waited for
      controls.push_back(Control(d, control));
    }
    drafts_[d]->emitter.SetControls(copy, std::move(controls));
  }

  // A branch uses values of outside, and waits for its turn by control edges. Where both come from
  // one device, a value that is for the branch alone is sent in its turn: dead if it never comes,
  // and then no more than a key crosses. Who gets it need not wait for anything else.
  void FindGates() {
    for (const Node& node : function_.nodes) {
      if (!needed_[node.id]) continue;
      for (DeviceIndex d{0}; d < drafts_.end_index(); ++d) {
        if (device_of_[node.id] != d && device_of_[node.id] != kNoDevice) continue;
        for (const Endpoint& input : node.inputs) {
          if (!IsReceived(d, input)) continue;
          const NodeId gate = GateOf(node, input);
          const auto [it, is_new] = drafts_[d]->gates.try_emplace(input, gate);
          if (it->second != gate) it->second = -1;
        }
      }
    }
  }

  // The node of the value's device that `node` waits for; -1: none, or several. A Merge may live
  // though one of its values is dead.
  NodeId GateOf(const Node& node, Endpoint value) const {
    if (node.kind() == OpKind::kMerge) return -1;
    NodeId gate = -1;
    for (const NodeId control : node.control_inputs) {
      if (!needed_[control] || device_of_[control] != device_of_[value.node]) continue;
      if (!IsSameFrame(control, value.node)) continue;
      if (gate >= 0) return -1;
      gate = control;
    }
    return gate;
  }

  bool IsSameFrame(NodeId a, NodeId b) const {
    return frames_.output_frame_of_node[a] == frames_.output_frame_of_node[b];
  }

  // Whether a value of another device crosses for it.
  bool IsReceived(DeviceIndex d, Endpoint e) const {
    return !feed_of_.contains(e) && needed_[e.node] && device_of_[e.node] != kNoDevice &&
           device_of_[e.node] != d &&
           frames_.frames[frames_.output_frame_of_node[e.node]].loop_cond != e.node;
  }

  // Whether one of the node's values comes only if `control` does.
  bool IsGated(DeviceIndex d, const Node& node, NodeId control) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Endpoint& input) {
      const auto it = drafts_[d]->gates.find(input);
      return it != drafts_[d]->gates.end() && it->second == control;
    });
  }

  // What stands for a value of the whole on device d.
  Endpoint Input(DeviceIndex d, Endpoint e) {
    if (feed_of_.contains(e)) return Fed(d, e);
    if (IsEverywhere(e.node)) return {OwnEnter(d, e.node), 0};
    if (device_of_[e.node] == d) return {drafts_[d]->local[e.node], e.slot};
    return Received(d, e);
  }

  NodeId Control(DeviceIndex d, NodeId node) {
    if (IsEverywhere(node)) return EnteredControl(d, node);
    if (device_of_[node] == d) return drafts_[d]->local[node];
    const auto it = drafts_[d]->received_controls.find(node);
    if (it != drafts_[d]->received_controls.end()) return it->second;
    const DeviceIndex home = device_of_[node];
    const NodeId received = ReceivedControl(d, node, drafts_[home]->local[node],
                                            absl::StrCat("^", function_.node(node).name));
    drafts_[d]->received_controls.emplace(node, received);
    return received;
  }

  // On device d, that `done`, a node beside `node` on that one's device, has fired: a node that is
  // dead where it is.
  NodeId ReceivedControl(DeviceIndex d, NodeId node, NodeId done, const std::string& edge) {
    const Where where = WhereOutput(node);
    const Endpoint value = EmptySignal(device_of_[node], where, function_.node(node).name, {done});
    const Endpoint received = {Transfer(d, node, value, DType::kBool, edge), 0};
    // A _Recv lives, whatever it receives.
    return drafts_[d]->emitter.Plumb(
        where, "Identity", absl::StrCat(function_.node(node).name, "/done_on_", d.value()),
        {received});
  }

  // An empty value on device d that waits for `done`, and is dead where one of that is.
  Endpoint EmptySignal(DeviceIndex d, const Where& where, absl::string_view name,
                       std::vector<NodeId> done) {
    AttrMap attrs{{"dtype", DType::kBool}};
    attrs.Set("value", Tensor::FromValues(absl::Span<const bool>(), Shape::Vector(0)));
    return drafts_[d]->emitter.Plumb1(where, "Const", absl::StrCat(name, "/done"), {},
                                      std::move(done), std::move(attrs));
  }

  // For who waits for an Enter of what a loop does not change, but does not use it: an Enter of
  // nothing, which is dead where the value is. So the value need not cross.
  NodeId EnteredControl(DeviceIndex d, NodeId enter) {
    Draft& draft = *drafts_[d];
    if (draft.local[enter] >= 0) return draft.local[enter];
    const auto it = draft.entered_controls.find(enter);
    if (it != draft.entered_controls.end()) return it->second;
    const Node& node = function_.node(enter);
    const Endpoint input = node.inputs[0];
    const int outside = frames_.output_frame_of_node[input.node];
    std::vector<NodeId> done;
    if (!feed_of_.contains(input)) {
      done.push_back(IsEverywhere(input.node) ? EnteredControl(d, input.node)
                                              : LivenessSignal(d, input));
    } else if (outside > 0) {
      done.push_back(Pivot(d, outside));
    }
    const Endpoint nothing = EmptySignal(d, WhereOutput(input.node), node.name, std::move(done));
    std::vector<NodeId> controls;
    for (const NodeId control : node.control_inputs) {
      if (needed_[control]) controls.push_back(Control(d, control));
    }
    const Frame& loop = frames_.frames[frames_.output_frame_of_node[enter]];
    AttrMap attrs{{"frame_name", loop.name},
                  {"is_constant", true},
                  {"parallel_iterations", loop.parallel_iterations}};
    const NodeId entered = draft.emitter.Plumb(WhereOutput(enter), "Enter",
                                               absl::StrCat(node.name, "/done_on_", d.value()),
                                               {nothing}, std::move(controls), std::move(attrs));
    draft.entered_controls.emplace(enter, entered);
    return entered;
  }

  // A node of device d that is dead where `e` is, though the node that makes it may live.
  NodeId LivenessSignal(DeviceIndex d, Endpoint e) {
    const auto it = drafts_[d]->there.find(e);
    if (it != drafts_[d]->there.end()) return it->second;
    const std::string& name = function_.node(e.node).name;
    const DeviceIndex home = device_of_[e.node];
    NodeId there = -1;
    if (home == d) {
      there =
          drafts_[d]->emitter.Plumb(WhereOutput(e.node), "Identity", absl::StrCat(name, "/there"),
                                    {{drafts_[d]->local[e.node], e.slot}});
    } else {
      there =
          ReceivedControl(d, e.node, LivenessSignal(home, e), absl::StrCat("^", name, ":", e.slot));
    }
    drafts_[d]->there.emplace(e, there);
    return there;
  }

  Endpoint Fed(DeviceIndex d, Endpoint e) {
    Draft& draft = *drafts_[d];
    const auto it = draft.fed.find(e);
    if (it != draft.fed.end()) return it->second;
    const Node& node = function_.node(e.node);
    // The control edge tells in which frame it stands.
    const int frame = frames_.output_frame_of_node[e.node];
    std::vector<NodeId> controls;
    if (frame > 0) controls.push_back(Pivot(d, frame));
    AttrMap attrs{{"dtype", node.signature.outputs[e.slot].dtype}};
    const Endpoint placeholder = draft.emitter.Plumb1(WhereOutput(e.node), "Placeholder",
                                                      absl::StrCat(node.name, "/fed_", e.slot), {},
                                                      std::move(controls), std::move(attrs));
    draft.signature.feeds.push_back(placeholder);
    draft.feeds.push_back(feed_of_.at(e));
    draft.fed.emplace(e, placeholder);
    return placeholder;
  }

  // Device d's own Enter of what a loop does not change.
  NodeId OwnEnter(DeviceIndex d, NodeId enter) {
    if (drafts_[d]->local[enter] >= 0) return drafts_[d]->local[enter];
    CopyTo(d, function_.node(enter));
    Connect(d, function_.node(enter));
    return drafts_[d]->local[enter];
  }

  Endpoint Received(DeviceIndex d, Endpoint e) {
    const int frame = frames_.output_frame_of_node[e.node];
    if (frame > 0) Pivot(d, frame);  // which may receive this very value, the loop's predicate
    const auto it = drafts_[d]->received.find(e);
    if (it != drafts_[d]->received.end()) return it->second;
    const Node& node = function_.node(e.node);
    const DType dtype = node.signature.outputs[e.slot].dtype;
    if (node.signature.outputs[e.slot].is_ref || dtype == DType::kResource) {
      Bug(absl::StrCat(node.name, " and who shares its state stand on two devices"));
      return e;
    }
    Draft& sender = *drafts_[device_of_[e.node]];
    Endpoint value = {sender.local[e.node], e.slot};
    const auto gate = drafts_[d]->gates.find(e);
    if (gate != drafts_[d]->gates.end() && gate->second >= 0) {
      value = sender.emitter.Plumb1(WhereOutput(e.node), "Identity",
                                    absl::StrCat(node.name, "/for_", d.value()), {value},
                                    {sender.local[gate->second]});
    }
    Endpoint received = {Transfer(d, e.node, value, dtype, absl::StrCat(node.name, ":", e.slot)),
                         0};
    if (frames_.frames[frame].loop_cond == e.node) {
      received = drafts_[d]->emitter.Plumb1(WhereOutput(e.node), "LoopCond",
                                            absl::StrCat(node.name, "/on_", d.value()), {received});
    }
    drafts_[d]->received.emplace(e, received);
    return received;
  }

  // The _Recv on device d of what the sender's copy of `node` gives as `value`.
  NodeId Transfer(DeviceIndex d, NodeId node, Endpoint value, DType dtype, std::string edge) {
    const DeviceIndex from = device_of_[node];
    const Where where = WhereOutput(node);
    const std::string& name = function_.node(node).name;
    const int frame = frames_.output_frame_of_node[node];
    copies_.push_back({edge, from, d, frame});
    AttrMap attrs{{"tensor_name", std::move(edge)},
                  {"send_device", device_names_[from]},
                  {"send_device_incarnation", int64_t{0}},
                  {"recv_device", device_names_[d]},
                  {"client_terminated", false}};
    std::vector<NodeId> controls;
    if (frame > 0) controls.push_back(Pivot(d, frame));
    AttrMap recv_attrs = attrs;
    recv_attrs.Set("tensor_type", dtype);
    Draft& sender = *drafts_[from];
    sender.signature.targets.push_back(sender.emitter.Plumb(
        where, "_Send", absl::StrCat(name, "/send_", d.value()), {value}, {}, std::move(attrs)));
    return drafts_[d]->emitter.Plumb(where, "_Recv", absl::StrCat(name, "/recv_", from.value()), {},
                                     std::move(controls), std::move(recv_attrs));
  }

  // A node of device d that fires once in every iteration of the frame: of a control loop.
  NodeId Pivot(DeviceIndex d, int frame) {
    Draft& draft = *drafts_[d];
    if (draft.pivots[frame] >= 0) return draft.pivots[frame];
    const Frame& loop = frames_.frames[frame];
    if (loop.loop_cond < 0) {
      Bug(absl::StrCat("frame ", loop.name, " has no LoopCond, but is cut"));
      return draft.pivots[frame] = 0;
    }
    const Where where = WhereOutput(loop.loop_cond);
    const Where outside = WhereOutside(loop);
    const auto name = [&](const char* what) {
      return absl::StrCat(loop.name, "/", what, "_", d.value());
    };
    std::vector<NodeId> controls;
    if (loop.parent > 0) controls.push_back(Pivot(d, loop.parent));
    AttrMap yes{{"dtype", DType::kBool}};
    yes.Set("value", Tensor::Scalar(true));
    const Endpoint start =
        draft.emitter.Plumb1(outside, "Const", name("start"), {}, controls, std::move(yes));
    AttrMap attrs{{"frame_name", loop.name},
                  {"is_constant", false},
                  {"parallel_iterations", loop.parallel_iterations}};
    const Endpoint enter =
        draft.emitter.Plumb1(outside, "Enter", name("enter"), {start}, {}, std::move(attrs));
    const NodeId pivot = draft.emitter.Plumb(where, "Merge", name("pivot"), {enter, enter});
    draft.pivots[frame] = pivot;
    const Endpoint goes_on = Input(d, {loop.loop_cond, 0});
    const NodeId go = draft.emitter.Plumb(where, "Switch", name("switch"), {{pivot, 0}, goes_on});
    const Endpoint next = draft.emitter.Plumb1(where, "NextIteration", name("next"), {{go, 1}});
    draft.emitter.SetInput(pivot, 1, next);
    // Also where nothing waits for it: without a next iteration, what the loop does not change
    // would be sent once.
    draft.signature.targets.push_back(next.node);
    return pivot;
  }

  // A frame runs on each device that has a node in it. Where there are several, its iterations go
  // on as the predicate says, on each of them, though nothing there may make them follow each
  // other.
  void DriveFrames() {
    const size_t num_frames = frames_.frames.size();
    IndexedVector<DeviceIndex, std::vector<bool>> is_used(drafts_.size(),
                                                          std::vector<bool>(num_frames));
    for (DeviceIndex d{0}; d < drafts_.end_index(); ++d) {
      for (const Node& node : function_.nodes) {
        if (drafts_[d]->local[node.id] >= 0) is_used[d][frames_.frame_of_node[node.id]] = true;
      }
      for (size_t f = num_frames; f-- > 1;) {
        if (is_used[d][f]) is_used[d][frames_.frames[f].parent] = true;
      }
    }
    for (size_t f = 1; f < num_frames; ++f) {
      std::vector<DeviceIndex> devices;
      for (DeviceIndex d{0}; d < drafts_.end_index(); ++d) {
        if (is_used[d][f]) devices.push_back(d);
      }
      if (devices.size() < 2 || frames_.frames[f].loop_cond < 0) continue;
      for (const DeviceIndex d : devices) Pivot(d, static_cast<int>(f));
    }
  }

  void AddSignature() {
    const RunSignature& signature = whole_.signature;
    for (size_t i = 0; i < signature.fetches.size(); ++i) {
      const Endpoint fetch = signature.fetches[i];
      const DeviceIndex d = HomeOf(fetch.node);
      drafts_[d]->signature.fetches.push_back(Input(d, fetch));
      drafts_[d]->fetches.push_back(static_cast<int>(i));
    }
    for (const NodeId target : signature.targets) {
      const DeviceIndex d = HomeOf(target);
      drafts_[d]->signature.targets.push_back(Control(d, target));
    }
  }

  // An Enter of what a loop does not change: each device has its own.
  bool IsEverywhere(NodeId node) const { return needed_[node] && device_of_[node] == kNoDevice; }
  // What is fed and fetched alone is on no device: any that holds values of all types will do.
  DeviceIndex HomeOf(NodeId node) const {
    return device_of_[node] != kNoDevice ? device_of_[node] : std::max(host_, DeviceIndex(0));
  }

  Partition Finish() {
    Partition partition;
    partition.copies = std::move(copies_);
    for (DeviceIndex d{0}; d < drafts_.end_index(); ++d) {
      Draft& draft = *drafts_[d];
      if (draft.emitter.size() == 0) continue;
      Part& part = partition.parts.emplace_back();
      part.device = d;
      part.feeds = std::move(draft.feeds);
      part.fetches = std::move(draft.fetches);
      part.lowered.signature = std::move(draft.signature);
      part.lowered.scopes = whole_.scopes;
      part.lowered.function.name = function_.name;
      part.lowered.function.attrs = function_.attrs;
      part.lowered.function.stateful = function_.stateful;
      part.lowered.function.nodes = draft.emitter.TakeNodes();
      part.lowered.origins = draft.emitter.TakeOrigins();
    }
    return partition;
  }

  // Where plumbing stands that handles the outputs of a node: those of an Exit leave the loop.
  Where WhereOutput(NodeId node) const {
    const NodeOrigin& origin = whole_.origins[node];
    const LoweredScope& scope = whole_.scopes[origin.scope];
    const bool leaves = function_.node(node).kind() == OpKind::kExit && scope.is_loop();
    return {origin.node, leaves ? scope.parent : origin.scope};
  }

  Where WhereOutside(const Frame& loop) const {
    const NodeOrigin& origin = whole_.origins[loop.enters[0]];
    return {origin.node, origin.scope};
  }

  void Bug(absl::string_view what) {
    if (status_.ok()) status_ = BugError(what);
  }

  const Lowered& whole_;
  const Function& function_;
  const FrameTable& frames_;
  const std::vector<bool>& needed_;
  const std::vector<DeviceIndex>& device_of_;
  IndexedVector<DeviceIndex, std::string> device_names_;
  DeviceIndex host_ = kNoDevice;  // the first that holds values of all types
  HashMap<Endpoint, int> feed_of_;
  IndexedVector<DeviceIndex, std::unique_ptr<Draft>> drafts_;
  std::vector<Copy> copies_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Partition> Cut(const OpLookup& ops, const Lowered& lowered, const FrameTable& frames,
                              const std::vector<bool>& needed, const Placement& placement,
                              absl::Span<const DeviceName> devices) {
  return Cutter(ops, lowered, frames, needed, placement, devices).Run();
}

}  // namespace gyre::place
