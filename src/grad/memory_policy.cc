#include "grad/memory_policy.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "grad/segments.h"
#include "grad/sites.h"
#include "ir/builder.h"
#include "passes/edit/effects.h"

namespace gyre::grad {
namespace {

bool HasLoop(const Function& function) {
  return std::any_of(function.nodes.begin(), function.nodes.end(),
                     [](const Node& node) { return node.kind() == OpKind::kWhile; });
}

// Whether a loop of the function may have to be cut.
bool MayCut(const Function& function, absl::string_view other) {
  const bool by_default = !other.empty() && other != "save";
  return std::any_of(function.nodes.begin(), function.nodes.end(), [&](const Node& node) {
    return node.kind() == OpKind::kWhile && (by_default || node.attrs.Has(kMemoryAttr));
  });
}

class Cutter {
 public:
  Cutter(const Program& program, absl::string_view other)
      : program_(program), other_(other), effects_(program), transform_(program, Shapes(program)) {}

  absl::StatusOr<std::shared_ptr<const Program>> Run() {
    ProgramBuilder builder(program_);
    GYRE_ASSIGN_OR_RETURN(Function main, Rewrite(program_.main()));
    builder.SetMain(std::move(main));
    for (const auto& [name, function] : program_.functions()) {
      if (!HasLoop(*function)) continue;
      GYRE_ASSIGN_OR_RETURN(Function rewritten, Rewrite(*function));
      builder.SetFunction(std::move(rewritten));
    }
    for (Function& function : transform_.TakeFunctions()) builder.SetFunction(std::move(function));
    return builder.Build();
  }

 private:
  static ShapeTable Shapes(const Program& program) {
    absl::StatusOr<ShapeTable> shapes = InferShapes(program);
    return shapes.ok() ? *std::move(shapes) : ShapeTable();
  }

  absl::StatusOr<Function> Rewrite(const Function& function) {
    FunctionBuilder builder(program_.ops(), function);
    for (const Node& node : function.nodes) {
      if (node.kind() != OpKind::kWhile) continue;
      absl::StatusOr<Node> cut = Cut(node);
      if (!cut.ok()) return Annotate(cut.status(), absl::StrCat("loop '", node.name, "'"));
      builder.Replace(node.id, *std::move(cut));
    }
    return builder.Build();
  }

  // The loop in the form that its policy wants; itself if that is the one it has.
  absl::StatusOr<Node> Cut(const Node& loop) {
    GYRE_ASSIGN_OR_RETURN(
        const MemoryPolicy policy,
        ParseMemoryPolicy(loop.attrs.GetOr<std::string>(kMemoryAttr, std::string(other_))));
    const bool is_cut = loop.attrs.Has(kSegmentsAttr);
    if (policy.kind == MemoryPolicy::Kind::kSave || is_cut || !effects_.Of(loop).IsPure())
      return loop;
    GYRE_ASSIGN_OR_RETURN(Segments segments, Segments::Make(transform_, loop));
    Node cut = loop;
    if (policy.kind == MemoryPolicy::Kind::kRecompute) {
      GYRE_ASSIGN_OR_RETURN(const std::string body, segments.RecomputeBody(policy.amount));
      SetFunctions({loop.attrs.Get<FunctionRef>("cond")->name, body}, cut);
      cut.attrs.Set(std::string(kSegmentsAttr), true);
      return cut;
    }
    GYRE_ASSIGN_OR_RETURN(const std::string all, segments.Checkpointed(policy.amount));
    std::vector<DType> types;
    for (const auto& slot : loop.signature.outputs) types.push_back(slot.dtype);
    cut.op_name = "PartitionedCall";
    cut.op = program_.ops().Find(cut.op_name);
    cut.attrs = {{"f", FunctionRef{all, nullptr}}, {"Tin", types}, {"Tout", types}};
    GYRE_ASSIGN_OR_RETURN(cut.signature, ResolveSignature(*cut.op, cut.attrs));
    return cut;
  }

  const Program& program_;
  const absl::string_view other_;
  const passes::Effects effects_;
  Transform transform_;
};

}  // namespace

absl::StatusOr<MemoryPolicy> ParseMemoryPolicy(absl::string_view text) {
  if (text.empty() || text == "save") return MemoryPolicy();
  const auto amount_of = [text](absl::string_view name) -> int64_t {
    int64_t amount = 0;
    const bool fits =
        absl::StartsWith(text, name) && absl::EndsWith(text, ")") &&
        absl::SimpleAtoi(text.substr(name.size(), text.size() - name.size() - 1), &amount);
    return fits ? amount : 0;
  };
  if (const int64_t trips = amount_of("recompute("); trips >= 1)
    return MemoryPolicy{MemoryPolicy::Kind::kRecompute, trips};
  if (const int64_t bytes = amount_of("checkpoint("); bytes >= 1)
    return MemoryPolicy{MemoryPolicy::Kind::kCheckpoint, bytes};
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is no memory policy; there is save, recompute(TRIPS) and "
                   "checkpoint(BYTES), with numbers of at least 1"));
}

absl::StatusOr<std::shared_ptr<const Program>> ApplyMemoryPolicies(
    std::shared_ptr<const Program> program, absl::string_view other) {
  GYRE_RETURN_IF_ERROR(ParseMemoryPolicy(other).status());
  bool may_cut = MayCut(program->main(), other);
  for (const auto& [name, function] : program->functions()) may_cut |= MayCut(*function, other);
  if (!may_cut) return program;
  return Cutter(*program, other).Run();
}

}  // namespace gyre::grad
