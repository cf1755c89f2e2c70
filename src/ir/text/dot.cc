#include "ir/text/dot.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/work.h"
#include "ir/branches.h"
#include "ir/calls.h"
#include "ir/data_order.h"
#include "ir/frames.h"

namespace gyre {
namespace {

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::CHexEscape(text), "\"");
}

// Boxes may stand in boxes this deep; what stands deeper is drawn in the last one.
constexpr size_t kMaxDepth = 32;

class DotPrinter {
 public:
  explicit DotPrinter(const Program& program) : program_(program) {}

  std::string Print() {
    out_ =
        "digraph program {\n"
        "  rankdir=TB; compound=true; fontname=\"Helvetica\";\n"
        "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", "
        "fontsize=10];\n"
        "  edge [fontname=\"Helvetica\", fontsize=8, arrowsize=0.6];\n";
    std::vector<const Function*> functions = {&program_.main()};
    for (const auto& [name, function] : program_.functions()) {
      number_of_.emplace(name, functions.size());
      functions.push_back(function.get());
    }
    for (size_t i = 0; i < functions.size(); ++i) PrintFunction(*functions[i], i);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  // A box is named by what it stands for: a frame or a side of a conditional, from the outermost
  // in.
  using Path = std::vector<std::string>;

  static std::string NodeName(size_t function, NodeId id) {
    return absl::StrCat("f", function, "_n", id);
  }

  // The node that stands for a whole function where an edge leads to it.
  static std::string AnchorName(size_t function) { return absl::StrCat("f", function, "_anchor"); }

  void PrintFunction(const Function& function, size_t number) {
    const bool is_main = number == 0;
    std::string indent = "  ";
    if (!is_main) {
      absl::StrAppend(&out_, "  subgraph cluster_f", number,
                      " {\n    label=", Quoted(absl::StrCat("@", function.name)),
                      "; style=\"rounded,filled\"; fillcolor=\"#f4f6fb\"; color=\"#8090b0\";\n    ",
                      AnchorName(number), " [shape=point, style=invis];\n");
      indent = "    ";
    }
    PrintNodes(function, number, indent);
    if (!is_main) out_ += "  }\n";
    for (const Node& node : function.nodes) PrintEdges(function, number, node);
  }

  // Nodes of one box after the other, boxes inside boxes.
  void PrintNodes(const Function& function, size_t number, const std::string& indent) {
    std::map<Path, std::vector<NodeId>>
        boxes;  // sorted, so that a box comes before those inside it
    const std::vector<Path> paths = BoxesOf(function);
    for (const Node& node : function.nodes) boxes[paths[node.id]].push_back(node.id);
    Path open;
    const auto close_to = [&](size_t depth) {
      for (; open.size() > depth; open.pop_back()) {
        absl::StrAppend(&out_, indent, std::string(2 * (open.size() - 1), ' '), "}\n");
      }
    };
    for (const auto& [path, ids] : boxes) {
      const auto mismatch = std::mismatch(open.begin(), open.end(), path.begin(), path.end());
      close_to(static_cast<size_t>(mismatch.first - open.begin()));
      while (open.size() < path.size()) OpenBox(path[open.size()], number, indent, open);
      const std::string inner = absl::StrCat(indent, std::string(2 * open.size(), ' '));
      for (const NodeId id : ids) PrintNode(function.node(id), number, inner);
    }
    close_to(0);
  }

  void OpenBox(const std::string& title, size_t number, const std::string& indent, Path& open) {
    const bool is_loop = title.substr(0, 4) == "loop";
    absl::StrAppend(&out_, indent, std::string(2 * open.size(), ' '), "subgraph cluster_f", number,
                    "_b", next_box_++, " { label=", Quoted(title), "; style=\"rounded\"; color=\"",
                    is_loop ? "#2a7f3f" : "#c07010", "\";\n");
    open.push_back(title);
  }

  // The boxes that each node stands in: loops first, then the sides of conditionals inside the
  // innermost loop.
  static std::vector<Path> BoxesOf(const Function& function) {
    const absl::StatusOr<FrameTable> frames = AnalyzeFrames(function);
    const BranchTable branches = AnalyzeBranches(function);
    std::vector<Path> paths(function.nodes.size());
    for (const Node& node : function.nodes) {
      SpendWork();
      Path& path = paths[node.id];
      int frame = 0;
      if (frames.ok()) {
        // An Enter is drawn in the loop that it opens, an Exit in the one that it leaves.
        frame = std::max(frames->frame_of_node[node.id], frames->output_frame_of_node[node.id]);
        for (int f = frame; f > 0 && path.size() < kMaxDepth; f = frames->frames[f].parent) {
          path.push_back(absl::StrCat("loop ", frames->frames[f].name));
        }
        std::reverse(path.begin(), path.end());
      }
      Path sides;
      for (int b = branches.branch_of_node[node.id]; b > 0 && sides.size() < kMaxDepth;
           b = branches.branches[b].parent) {
        const Branch& branch = branches.branches[b];
        if (frames.ok() && frames->frame_of_node[branch.predicate.node] != frame)
          break;  // drawn with an outer loop
        sides.push_back(
            absl::StrCat(function.EndpointName(branch.predicate), SideName(branch.side)));
      }
      path.insert(path.end(), sides.rbegin(), sides.rend());
    }
    return paths;
  }

  static std::string SideName(int side) {
    if (side == 0) return " is false";
    return side == 1 ? " is true" : absl::StrCat(" is ", side);
  }

  static absl::string_view FillColor(OpKind kind) {
    if (IsStructured(kind)) return "#dde6ff";
    switch (kind) {
      case OpKind::kSwitch:
      case OpKind::kSwitchN:
      case OpKind::kMerge:
        return "#ffe8c8";
      case OpKind::kEnter:
      case OpKind::kExit:
      case OpKind::kNextIteration:
      case OpKind::kLoopCond:
        return "#d8f0dc";
      case OpKind::kArg:
      case OpKind::kPlaceholder:
        return "#eeeeee";
      default:
        return "white";
    }
  }

  void PrintNode(const Node& node, size_t number, const std::string& indent) {
    const std::string label =
        node.name == node.op_name ? node.name : absl::StrCat(node.name, "\n", node.op_name);
    absl::StrAppend(&out_, indent, NodeName(number, node.id), " [label=", Quoted(label),
                    ", fillcolor=\"", FillColor(node.kind()), "\"];\n");
  }

  void PrintEdges(const Function& function, size_t number, const Node& node) {
    const std::string target = NodeName(number, node.id);
    SpendWork(1 + static_cast<int64_t>(node.inputs.size() + node.control_inputs.size()));
    for (const Endpoint& e : node.inputs) {
      const Node& source = function.node(e.node);
      std::string style;
      if (IsBackEdge(source, node)) {
        style = "style=bold, color=\"#2a7f3f\", constraint=false";
      } else if (source.kind() == OpKind::kSwitch || source.kind() == OpKind::kSwitchN) {
        style = "color=\"#e07000\"";
      }
      if (e.slot != 0) absl::StrAppend(&style, style.empty() ? "" : ", ", "label=\"", e.slot, "\"");
      PrintEdge(NodeName(number, e.node), target, style);
    }
    for (const NodeId source : node.control_inputs) {
      PrintEdge(NodeName(number, source), target, "style=dashed, color=gray");
    }
    for (const Callee& callee : CalleesOf(program_, node)) {
      const auto it = number_of_.find(callee.function.name);
      if (it == number_of_.end()) continue;
      PrintEdge(target, AnchorName(it->second),
                absl::StrCat("style=dotted, color=\"#4060c0\", label=", Quoted(callee.attr),
                             ", lhead=cluster_f", it->second));
    }
  }

  void PrintEdge(const std::string& from, const std::string& to, const std::string& style) {
    absl::StrAppend(&out_, "  ", from, " -> ", to,
                    style.empty() ? "" : absl::StrCat(" [", style, "]"), ";\n");
  }

  const Program& program_;
  std::map<std::string, size_t> number_of_;  // functions, as they are numbered in the picture
  int next_box_ = 0;
  std::string out_;
};

}  // namespace

std::string PrintDot(const Program& program) { return DotPrinter(program).Print(); }

}  // namespace gyre
