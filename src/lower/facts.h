// What Lower must know of the functions of a program before it expands them: which can be expanded,
// which have effects, which values they hand through.
//
// Computed on demand (effects at once, by analysis/effects.h), once per function, for one Lower;
// not thread-safe. The program must outlive it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "analysis/effects.h"
#include "analysis/run_signature.h"
#include "base/hash_map.h"
#include "ir/calls.h"
#include "ir/program.h"
#include "ir/shape_inference.h"

namespace gyre::lower {

struct FunctionFacts {
  // Its body may stand in place of its call: it has known ops, no primitives and no references, and
  // what it calls exists and fits.
  bool inlinable = false;
  bool has_references = false;
  std::vector<NodeId> order;  // what a call runs, producers first
  // Per node: it reads, writes or talks to the world by itself, not through what it calls.
  std::vector<bool> has_effect;
  // Per node: a call runs it although no result needs it.
  std::vector<bool> must_run;
  std::vector<bool> uses_arg;
};

class ProgramFacts {
 public:
  explicit ProgramFacts(const Program& program);

  const Program& program() const { return program_; }
  const FunctionFacts& Of(const Function& function);
  // Whether a call of what `callee` names has something to finish. Of a function that does not
  // exist: yes.
  bool Finishes(const Callee& callee) const;
  // As Finishes, of any function that a structured node calls.
  bool StructuredFinishes(const Node& structured) const;
  bool IsRecursive(const Function& function) const { return effects_.IsRecursive(function.name); }
  // The recursive function that `node` calls; null if it is no call, or of none.
  const Function* CalledRecursively(const Node& node) const;

  // How many nodes the body of `callee` is when the functions that it calls are written out in it,
  // too, those apart that may call themselves again; kHuge at most.
  static constexpr int64_t kHuge = int64_t{1} << 40;
  int64_t ExpandedSize(const Function& callee);
  // Nodes of bodies that have been written out in place of calls, for all that these facts served.
  int64_t num_inlined() const { return num_inlined_; }
  void CountInlined(const Function& callee) { num_inlined_ += OwnSize(callee); }
  // Nodes of all functions of the program.
  int64_t program_size() const { return program_size_; }

  // The argument that result `result` always equals, found through calls and loops; -1: none is
  // known.
  int PassedArgument(const Function& function, int result);

  // These feeds of the main graph will be scalars. Before InferMainShapes.
  void AssumeScalars(std::vector<Endpoint> feeds) { scalars_ = std::move(feeds); }
  // Looks at the shapes of the main graph, run with these feeds, and of all that it calls.
  void InferMainShapes(const std::vector<Endpoint>& feeds);
  // Known to have rank 0 whenever the main graph is run.
  bool IsScalar(const Function& function, Endpoint e) const;
  // Known to have another rank then.
  bool IsNoScalar(const Function& function, Endpoint e) const;
  // The shape that it always has then; nullopt: not known.
  std::optional<Shape> KnownShape(const Function& function, Endpoint e) const;
  // How many elements it always has then; -1: not known.
  int64_t NumElements(const Function& function, Endpoint e) const;

 private:
  FunctionFacts Examine(const Function& function) const;
  int64_t OwnSize(const Function& function);
  std::vector<const Function*> InlinedBy(const Function& function);
  bool CalleesFit(const Node& node) const;
  int FollowToArgument(const Function& function, Endpoint e, int depth);
  int PassedArgument(const Function& function, int result, int depth);

  const PartialShape* ShapeOf(const Function& function, Endpoint e) const;

  const Program& program_;
  std::vector<Endpoint> scalars_;
  const PartialShape scalar_ = PartialShape::Scalar();
  const Effects effects_;
  HashMap<const Function*, std::unique_ptr<FunctionFacts>> facts_;
  HashMap<std::pair<const Function*, int>, int> passed_;
  HashMap<const Function*, int64_t> expanded_sizes_;
  int64_t program_size_ = 0;
  int64_t num_inlined_ = 0;
  std::unique_ptr<ShapeTable> shapes_;  // null: nothing is known
};

}  // namespace gyre::lower
