// Shape inference: what can be said of every value of a program before it runs.
//
// The ops' own rules (OpDef::shape) are run over the main graph and the functions it calls until
// nothing changes. Loops start from what enters them and widen what changes from one iteration to
// the next; branches join; a function is looked at once per distinct arguments, and a recursive one
// with everything that it is ever called with. Constants, values that are used as shapes, and the
// element types behind handles travel along, also through calls. Shapes that the program declares,
// of arguments and of what structured nodes return, are believed if nothing found contradicts any.
//
// The result is true of every run that feeds no tensor other than those listed in the options.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/hash_map.h"
#include "base/internal_export.h"
#include "ir/program.h"
#include "ir/shape_context.h"
#include "ir/value_info.h"

namespace gyre {

// What is known of one function's values, over all its calls.
class GYRE_INTERNAL_EXPORT FunctionShapes {
 public:
  FunctionShapes() = default;
  explicit FunctionShapes(std::vector<ValueInfos> nodes) : nodes_(std::move(nodes)) {}

  // Of a value that no run computes, or that does not exist, nothing is known.
  const ValueInfo& at(Endpoint e) const;
  // False for nodes that no run can complete, because one of their inputs never comes or their own
  // rule forbids it.
  bool IsComputed(NodeId node) const;

  const std::vector<ValueInfos>& nodes() const { return nodes_; }

 private:
  std::vector<ValueInfos> nodes_;  // by node, then by output slot
};

// A node that cannot succeed, if it ever runs.
struct ShapeProblem {
  std::string function;  // empty: the main graph
  NodeId node = -1;
  absl::Status status;  // names function, node and the shapes that went in
};

struct GYRE_INTERNAL_EXPORT ShapeTable {
  FunctionShapes main;
  std::map<std::string, FunctionShapes> functions;
  // Problems that stand on a path that need not be taken, in order of function and node.
  std::vector<ShapeProblem> problems;

  // Null when there is no such function; the main graph's for "".
  const FunctionShapes* Find(absl::string_view function) const;
};

struct ShapeOptions {
  // Outputs of the main graph that are fed, with the shapes of the feeds: what computes them is of
  // no interest.
  HashMap<Endpoint, PartialShape> fed;
  // What cannot succeed counts as making something of which nothing is known: the result holds even
  // where such a node is taken out. Without this, what runs behind it counts as never run, such as
  // all iterations of a loop but the first.
  bool may_lose_errors = false;
};

// INVALID_ARGUMENT when a node of the main graph that no Switch guards cannot succeed; the message
// names the node and the shapes. Always ends, in time about linear in the program's size.
GYRE_INTERNAL_EXPORT absl::StatusOr<ShapeTable> InferShapes(const Program& program,
                                                            const ShapeOptions& options = {});

// What one node makes of these inputs, for who builds a function node by node. The functions that
// it calls are those of `program`; the node itself need not be in it. INVALID_ARGUMENT when the
// node cannot succeed.
absl::StatusOr<std::vector<ValueInfo>> InferNode(const Program& program, const Node& node,
                                                 std::vector<ValueInfo> inputs);

}  // namespace gyre
