#include "grad/memory_policy.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/call_graph.h"
#include "analysis/effects.h"
#include "base/status.h"
#include "base/work.h"
#include "grad/replay/captured_reads.h"
#include "grad/replay/recording.h"
#include "grad/segments.h"
#include "grad/structured.h"
#include "ir/builder.h"
#include "ir/calls.h"

namespace gyre::grad {
namespace {

// Whether it is a loop that may have to be cut, or a call that its gradient runs again.
bool IsRunAgain(const Node& node, const MemoryPolicy& other) {
  if (node.kind() == OpKind::kCall) return node.attrs.GetOr<bool>(kRecomputeAttr, false);
  if (!HasCondition(node) || node.attrs.Has(kSegmentsAttr)) return false;
  const auto* own = node.attrs.Get<std::string>(kMemoryAttr);
  if (own == nullptr) return other.kind() != MemoryPolicy::Kind::kSave;
  return !own->empty() && *own != "save";
}

bool MayCut(const Function& function, const MemoryPolicy& other) {
  return std::any_of(function.nodes.begin(), function.nodes.end(),
                     [&](const Node& node) { return IsRunAgain(node, other); });
}

// Cuts loops of one program that hold no other loop to be cut; afterwards those around them can be.
class Cutter {
 public:
  Cutter(const Program& program, const MemoryPolicy& other)
      : program_(program), other_(other), effects_(program), transform_(program, Shapes(program)) {}

  // Null: there is nothing to be cut.
  absl::StatusOr<std::shared_ptr<const Program>> Run() {
    GYRE_RETURN_IF_ERROR(Choose());
    if (chosen_.empty()) return nullptr;
    std::vector<Function> cut;
    std::vector<const Function*> roots;
    cut.reserve(chosen_.size());
    for (const auto& [function, loops] : chosen_) {
      GYRE_ASSIGN_OR_RETURN(cut.emplace_back(), Rewrite(*function, loops));
      roots.push_back(&cut.back());
    }
    ProgramBuilder builder(program_);
    for (Function& function : transform_.TakeFunctions(roots))
      builder.SetFunction(std::move(function));
    for (size_t i = 0; i < cut.size(); ++i) {
      if (chosen_[i].function == &program_.main()) {
        builder.SetMain(std::move(cut[i]));
      } else {
        builder.SetFunction(std::move(cut[i]));
      }
    }
    return builder.Build();
  }

 private:
  struct Choice {
    const Function* function;
    std::vector<NodeId> loops;
  };

  static ShapeTable Shapes(const Program& program) {
    absl::StatusOr<ShapeTable> shapes = InferShapes(program);
    return shapes.ok() ? *std::move(shapes) : ShapeTable();
  }

  absl::StatusOr<MemoryPolicy> PolicyOf(const Node& loop) const {
    const auto* own = loop.attrs.Get<std::string>(kMemoryAttr);
    if (own == nullptr) return other_;
    return ParseMemoryPolicy(*own);
  }

  absl::StatusOr<bool> IsToBeCut(const Node& node) const {
    if (!HasCondition(node) || node.attrs.Has(kSegmentsAttr)) return false;
    absl::StatusOr<MemoryPolicy> policy = PolicyOf(node);
    if (!policy.ok()) return Annotate(policy.status(), absl::StrCat("loop '", node.name, "'"));
    return policy->kind() != MemoryPolicy::Kind::kSave && effects_.Of(node).IsPure();
  }

  // The loops to be cut now: those that reach no other, or, where functions call themselves, all.
  absl::Status Choose() {
    std::vector<Choice> all;
    const auto look = [&](const Function& function) -> absl::Status {
      Choice choice{&function, {}};
      for (const Node& node : function.nodes) {
        SpendWork();
        GYRE_ASSIGN_OR_RETURN(const bool cut, IsToBeCut(node));
        if (cut) choice.loops.push_back(node.id);
      }
      if (!choice.loops.empty()) all.push_back(std::move(choice));
      return absl::OkStatus();
    };
    GYRE_RETURN_IF_ERROR(look(program_.main()));
    for (const auto& [name, function] : program_.functions()) GYRE_RETURN_IF_ERROR(look(*function));
    std::set<std::string> functions;
    for (const Choice& choice : all) {
      if (choice.function != &program_.main()) functions.insert(choice.function->name);
    }
    const std::set<std::string> holders = CallGraph(program_).Reaching(functions);
    for (const Choice& choice : all) {
      Choice ready{choice.function, {}};
      for (const NodeId id : choice.loops) {
        const std::vector<Callee> callees = CalleesOf(program_, choice.function->node(id));
        const bool is_innermost = std::none_of(
            callees.begin(), callees.end(),
            [&](const Callee& callee) { return holders.contains(callee.function.name); });
        if (is_innermost) ready.loops.push_back(id);
      }
      if (!ready.loops.empty()) chosen_.push_back(std::move(ready));
    }
    if (chosen_.empty()) chosen_ = std::move(all);
    return absl::OkStatus();
  }

  absl::StatusOr<Function> Rewrite(const Function& function, const std::vector<NodeId>& loops) {
    FunctionBuilder builder(program_.ops(), function);
    for (const NodeId id : loops) {
      const Node& loop = function.node(id);
      absl::StatusOr<Node> cut = Cut(loop);
      if (!cut.ok()) return Annotate(cut.status(), absl::StrCat("loop '", loop.name, "'"));
      builder.Replace(id, *std::move(cut));
    }
    return builder.Build();
  }

  // What takes the place of the loop's body under recompute, of the whole loop under checkpoint;
  // the same for loops of the same functions and policy.
  absl::StatusOr<std::string> FunctionOf(const Node& loop, const MemoryPolicy& policy) {
    std::vector<std::string> key;
    for (const Callee& callee : CalleesOf(program_, loop)) key.push_back(callee.function.name);
    std::string& made = made_[{std::move(key), policy.kind(), policy.amount()}];
    if (!made.empty()) return made;
    GYRE_ASSIGN_OR_RETURN(Segments segments, Segments::Make(transform_, loop));
    if (policy.kind() == MemoryPolicy::Kind::kRecompute) {
      GYRE_ASSIGN_OR_RETURN(made, segments.RecomputeBody(policy.amount()));
    } else {
      GYRE_ASSIGN_OR_RETURN(made, segments.Checkpointed(policy.amount()));
    }
    return made;
  }

  // The loop in the form that its policy wants.
  absl::StatusOr<Node> Cut(const Node& loop) {
    GYRE_ASSIGN_OR_RETURN(const MemoryPolicy policy, PolicyOf(loop));
    GYRE_ASSIGN_OR_RETURN(const std::string function, FunctionOf(loop, policy));
    Node cut = loop;
    if (policy.kind() == MemoryPolicy::Kind::kRecompute) {
      SetFunctions({loop.attrs.Get<FunctionRef>("cond")->name, function}, cut);
      cut.attrs.Set(std::string(kSegmentsAttr), true);
      return cut;
    }
    std::vector<DType> types;
    for (const auto& slot : loop.signature.outputs) types.push_back(slot.dtype);
    cut.op_name = "PartitionedCall";
    cut.op = program_.ops().Find(cut.op_name);
    cut.attrs = {{"f", FunctionRef{function, nullptr}}, {"Tin", types}, {"Tout", types}};
    GYRE_ASSIGN_OR_RETURN(cut.signature, ResolveSignature(*cut.op, cut.attrs));
    return cut;
  }

  const Program& program_;
  const MemoryPolicy other_;
  const Effects effects_;
  GradientTransform transform_;
  std::vector<Choice> chosen_;
  std::map<std::tuple<std::vector<std::string>, MemoryPolicy::Kind, int64_t>, std::string> made_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Program>> ApplyMemoryPolicies(
    std::shared_ptr<const Program> program, const Asked& asked, const MemoryPolicy& other) {
  return RunStage("cutting the loops of", [&]() -> absl::StatusOr<std::shared_ptr<const Program>> {
    GYRE_RETURN_IF_ERROR(CheckMemoryPolicy(other));
    bool may_cut = MayCut(program->main(), other);
    for (const auto& [name, function] : program->functions()) may_cut |= MayCut(*function, other);
    if (!may_cut) return program;
    const auto runs_again = [&other](const Node& node) { return IsRunAgain(node, other); };
    GYRE_ASSIGN_OR_RETURN(program, CaptureReads(std::move(program), runs_again));
    GYRE_ASSIGN_OR_RETURN(program, RecordEffects(std::move(program), asked, runs_again));
    while (may_cut) {
      GYRE_ASSIGN_OR_RETURN(std::shared_ptr<const Program> cut, Cutter(*program, other).Run());
      may_cut = cut != nullptr;
      if (may_cut) program = std::move(cut);
    }
    return program;
  });
}

}  // namespace gyre::grad
