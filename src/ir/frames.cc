#include "ir/frames.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/data_order.h"

namespace gyre {
namespace {

std::string NodeText(const Node& node) { return absl::StrCat("{{node ", node.name, "}}"); }

// Who reads each node: its consumers are the targets from begin[node] up to begin[node + 1].
struct Consumers {
  std::vector<int32_t> begin;
  std::vector<NodeId> targets;
};

class FrameAnalysis {
 public:
  // A strict analysis stops at the first error; one that is not gives a node the first frame that
  // reaches it.
  FrameAnalysis(const Function& function, const FrameScope& scope, bool strict)
      : function_(function), scope_(scope), strict_(strict) {}

  absl::StatusOr<FrameTable> Run() {
    const size_t n = function_.nodes.size();
    table_.frames.emplace_back();
    table_.frame_of_node.assign(n, 0);
    table_.output_frame_of_node.assign(n, 0);
    reached_from_.assign(n, kNotReached);
    CollectConsumers();
    GYRE_RETURN_IF_ERROR(ReachRoots());
    while (!ready_.empty()) {
      const NodeId id = ready_.front();
      ready_.pop_front();
      SpendWork(1 + consumers_.begin[id + 1] - consumers_.begin[id]);
      const int frame = table_.output_frame_of_node[id];
      for (int32_t i = consumers_.begin[id]; i < consumers_.begin[id + 1]; ++i) {
        GYRE_RETURN_IF_ERROR(Reach(consumers_.targets[i], id, frame));
      }
    }
    GYRE_RETURN_IF_ERROR(ListMembers());
    if (strict_ && table_.frames.size() > 1) GYRE_RETURN_IF_ERROR(CheckLoopsBeginBeforeTheyEnd());
    return std::move(table_);
  }

 private:
  static constexpr NodeId kNotReached = -2;
  static constexpr NodeId kNoInputs = -1;

  bool Counts(NodeId id) const { return scope_.nodes == nullptr || (*scope_.nodes)[id]; }
  bool IsFed(Endpoint e) const { return scope_.fed != nullptr && scope_.fed->contains(e); }

  // Calls `visit(source)` for every edge into `node` that constrains its frame.
  template <typename Visit>
  void ForEachSource(const Node& node, Visit visit) const {
    for (const Endpoint& e : node.inputs) {
      if (Counts(e.node) && !IsFed(e)) visit(e.node);
    }
    for (NodeId source : node.control_inputs) {
      if (Counts(source)) visit(source);
    }
  }

  void CollectConsumers() {
    const size_t n = function_.nodes.size();
    consumers_.begin.assign(n + 1, 0);
    for (const Node& node : function_.nodes) {
      if (!Counts(node.id)) continue;
      ForEachSource(node, [&](NodeId source) { ++consumers_.begin[source + 1]; });
    }
    for (size_t i = 0; i < n; ++i) consumers_.begin[i + 1] += consumers_.begin[i];
    consumers_.targets.resize(consumers_.begin[n]);
    std::vector<int32_t> next(consumers_.begin.begin(), consumers_.begin.end() - 1);
    for (const Node& node : function_.nodes) {
      if (!Counts(node.id)) continue;
      ForEachSource(node, [&](NodeId source) { consumers_.targets[next[source]++] = node.id; });
    }
  }

  // Starts at the nodes that no edge leads to: in frame 0, or, where feeds cut all edges, in the
  // frame that they would have been in.
  absl::Status ReachRoots() {
    std::vector<int>
        natural;  // frame that each node has in the whole function; computed when first needed
    for (const Node& node : function_.nodes) {
      if (!Counts(node.id)) continue;
      bool has_source = false;
      ForEachSource(node, [&](NodeId) { has_source = true; });
      if (has_source) continue;
      int frame = 0;
      if (scope_.fed != nullptr && !node.inputs.empty()) {
        if (natural.empty()) {
          GYRE_ASSIGN_OR_RETURN(FrameTable whole, FrameAnalysis(function_, {}, false).Run());
          natural = FramesOf(whole);
        }
        frame = natural[node.id];
      }
      GYRE_RETURN_IF_ERROR(Reach(node.id, kNoInputs, frame));
    }
    return absl::OkStatus();
  }

  // The frames of `whole`'s nodes, as indices into table_.frames.
  std::vector<int> FramesOf(const FrameTable& whole) {
    std::vector<int> here(whole.frames.size(), 0);
    for (size_t i = 1; i < whole.frames.size(); ++i) {
      const Frame& frame = whole.frames[i];
      here[i] = Intern(frame.name, here[frame.parent], frame.parallel_iterations);
    }
    std::vector<int> result;
    result.reserve(whole.frame_of_node.size());
    for (int frame : whole.frame_of_node) result.push_back(here[frame]);
    return result;
  }

  // An edge from `source`, whose outputs live in `frame`, leads to `id`.
  absl::Status Reach(NodeId id, NodeId source, int frame) {
    const Node& node = function_.nodes[id];
    if (reached_from_[id] == kNotReached) {
      reached_from_[id] = source;
      table_.frame_of_node[id] = frame;
      ready_.push_back(id);
      return SetOutputFrame(node, frame);
    }
    if (!strict_ || table_.frame_of_node[id] == frame) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        NodeText(node), " has inputs from different frames. ", InputText(source, frame), " ",
        InputText(reached_from_[id], table_.frame_of_node[id])));
  }

  std::string InputText(NodeId source, int frame) const {
    if (source == kNoInputs)
      return absl::StrCat("A fed input is in frame '", table_.frames[frame].name, "'.");
    return absl::StrCat("The input ", NodeText(function_.nodes[source]), " is in frame '",
                        table_.frames[frame].name, "'.");
  }

  absl::Status SetOutputFrame(const Node& node, int frame) {
    int output_frame = frame;
    if (node.kind() == OpKind::kEnter) {
      GYRE_ASSIGN_OR_RETURN(output_frame, Open(node, frame));
    } else if (node.kind() == OpKind::kExit) {
      if (frame == 0 && strict_) {
        return absl::InvalidArgumentError(
            absl::StrCat("Invalid Exit op: Cannot find a corresponding Enter op. ", NodeText(node),
                         " is outside of any frame."));
      }
      output_frame = frame == 0 ? 0 : table_.frames[frame].parent;
    }
    if (node.kind() == OpKind::kNextIteration && frame == 0 && strict_) {
      return absl::InvalidArgumentError(
          absl::StrCat("Invalid NextIteration op: ", NodeText(node), " is outside of any loop."));
    }
    table_.output_frame_of_node[node.id] = output_frame;
    return absl::OkStatus();
  }

  // The frame that `enter`, which runs in `parent`, opens.
  absl::StatusOr<int> Open(const Node& enter, int parent) {
    const std::string name = enter.attrs.GetOr<std::string>("frame_name", "");
    const int64_t parallel_iterations = enter.attrs.GetOr<int64_t>("parallel_iterations", 10);
    if (strict_ && name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("The Enter ", NodeText(enter), " must have a frame name."));
    }
    if (strict_ && parallel_iterations < 1) {
      return absl::InvalidArgumentError(absl::StrCat("The Enter ", NodeText(enter),
                                                     " must have parallel_iterations > 0, but has ",
                                                     parallel_iterations, "."));
    }
    const int frame = Intern(name, parent, parallel_iterations);
    Frame& f = table_.frames[frame];
    if (strict_ && f.parent != parent) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Invalid loop structure: Mismatched parent frames for \"", name, "\": \"",
          table_.frames[parent].name, "\" vs \"", table_.frames[f.parent].name,
          "\". Two loops need two frame names. The node giving this error: ", NodeText(enter),
          "."));
    }
    f.enters.push_back(enter.id);
    return frame;
  }

  // The frame of that name, made a child of `parent` if it is new. Of all the numbers of parallel
  // iterations that it is asked for with, the smallest is its own.
  int Intern(const std::string& name, int parent, int64_t parallel_iterations) {
    const auto [it, inserted] = by_name_.try_emplace(name, static_cast<int>(table_.frames.size()));
    if (inserted) {
      Frame frame;
      frame.name = name;
      frame.parent = parent;
      frame.parallel_iterations = parallel_iterations;
      table_.frames.push_back(std::move(frame));
    }
    Frame& frame = table_.frames[it->second];
    frame.parallel_iterations = std::min(frame.parallel_iterations, parallel_iterations);
    return it->second;
  }

  absl::Status ListMembers() {
    for (const Node& node : function_.nodes) {
      if (!Counts(node.id)) continue;
      if (reached_from_[node.id] == kNotReached) {
        table_.unreachable.push_back(node.id);
        continue;
      }
      Frame& frame = table_.frames[table_.frame_of_node[node.id]];
      switch (node.kind()) {
        case OpKind::kExit:
          frame.exits.push_back(node.id);
          break;
        case OpKind::kNextIteration:
          frame.next_iterations.push_back(node.id);
          break;
        case OpKind::kLoopCond:
          GYRE_RETURN_IF_ERROR(SetLoopCond(node, frame));
          break;
        default:
          break;
      }
    }
    return absl::OkStatus();
  }

  absl::Status SetLoopCond(const Node& node, Frame& frame) {
    const auto counts_iterations = [](const Node& n) {
      return absl::StrContains(n.name, "LoopCounter");
    };
    if (frame.loop_cond == -1) {
      frame.loop_cond = node.id;
      return absl::OkStatus();
    }
    const Node& other = function_.nodes[frame.loop_cond];
    if (strict_ && !counts_iterations(node) && !counts_iterations(other)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Invalid loop structure: Loop \"", frame.name,
          "\" has more than one LoopCond node: ", NodeText(node), " and ", NodeText(other), "."));
    }
    if (counts_iterations(other) && !counts_iterations(node)) frame.loop_cond = node.id;
    return absl::OkStatus();
  }

  // Vertices: the nodes, and behind them the frames, each after its Enters and before its Exits.
  // Back edges of loops don't count.
  template <typename Visit>
  void ForEachSuccessor(size_t vertex, Visit visit) const {
    const size_t n = function_.nodes.size();
    if (vertex >= n) {
      for (const NodeId exit : table_.frames[vertex - n].exits) visit(static_cast<size_t>(exit));
      return;
    }
    const Node& node = function_.nodes[vertex];
    if (node.kind() == OpKind::kEnter) visit(n + table_.output_frame_of_node[vertex]);
    for (int32_t i = consumers_.begin[vertex]; i < consumers_.begin[vertex + 1]; ++i) {
      const NodeId consumer = consumers_.targets[i];
      if (!IsBackEdge(node, function_.nodes[consumer])) visit(static_cast<size_t>(consumer));
    }
  }

  template <typename Visit>
  void ForEachPredecessor(size_t vertex, Visit visit) const {
    const size_t n = function_.nodes.size();
    if (vertex >= n) {
      for (const NodeId enter : table_.frames[vertex - n].enters) visit(static_cast<size_t>(enter));
      return;
    }
    const Node& node = function_.nodes[vertex];
    if (node.kind() == OpKind::kExit) visit(n + table_.frame_of_node[vertex]);
    ForEachSource(node, [&](NodeId source) {
      if (!IsBackEdge(function_.nodes[source], node)) visit(static_cast<size_t>(source));
    });
  }

  // Per vertex, for how many others it still waits once all have gone that can: those that are left
  // lie on a cycle, or behind one.
  std::vector<int32_t> WaitingVertices() const {
    const size_t n = function_.nodes.size();
    std::vector<int32_t> pending(n + table_.frames.size(), 0);
    std::vector<size_t> ready;
    for (size_t vertex = 0; vertex < pending.size(); ++vertex) {
      if (vertex < n && reached_from_[vertex] == kNotReached) continue;
      ForEachPredecessor(vertex, [&](size_t source) {
        pending[vertex] += source >= n || reached_from_[source] != kNotReached ? 1 : 0;
      });
      if (pending[vertex] == 0) ready.push_back(vertex);
    }
    while (!ready.empty()) {
      const size_t vertex = ready.back();
      ready.pop_back();
      ForEachSuccessor(vertex, [&](size_t next) {
        if (--pending[next] == 0) ready.push_back(next);
      });
    }
    return pending;
  }

  // A loop whose Enter waits for one of its own Exits would run only as far as other variables get
  // ahead of that one: as far as the window allows.
  absl::Status CheckLoopsBeginBeforeTheyEnd() const {
    const std::vector<int32_t> pending = WaitingVertices();
    const auto waits = [](int32_t count) { return count > 0; };
    const auto first = std::find_if(pending.begin(), pending.end(), waits);
    if (first == pending.end()) return absl::OkStatus();
    // Backwards until a vertex comes up again, then once around.
    size_t vertex = static_cast<size_t>(first - pending.begin());
    const auto before = [&](size_t at) {
      size_t found = at;
      ForEachPredecessor(at, [&](size_t source) { found = pending[source] > 0 ? source : found; });
      return found;
    };
    std::vector<bool> seen(pending.size(), false);
    for (; !seen[vertex]; vertex = before(vertex)) seen[vertex] = true;
    const size_t n = function_.nodes.size();
    const size_t start = vertex;
    NodeId exit = -1;
    do {
      const size_t source = before(vertex);
      if (source >= n) exit = static_cast<NodeId>(vertex);
      if (vertex >= n) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Invalid loop structure: ", NodeText(function_.nodes[source]), " brings into loop \"",
            table_.frames[vertex - n].name, "\" what depends on ",
            exit < 0 ? "an Exit" : NodeText(function_.nodes[exit]),
            " of that loop. A loop must be entered by all its Enters before it ends."));
      }
      vertex = source;
    } while (vertex != start);
    return absl::OkStatus();  // a cycle of nodes alone, which is not for this analysis to refuse
  }

  const Function& function_;
  const FrameScope scope_;
  const bool strict_;
  FrameTable table_;
  HashMap<std::string, int> by_name_;
  Consumers consumers_;
  std::vector<NodeId> reached_from_;  // the source of the edge that first led to a node
  std::deque<NodeId> ready_;
};

}  // namespace

absl::StatusOr<FrameTable> AnalyzeFrames(const Function& function, const FrameScope& scope) {
  return FrameAnalysis(function, scope, true).Run();
}

absl::Status CheckFrames(const Function& function) { return AnalyzeFrames(function).status(); }

}  // namespace gyre
