#include "transforms/transform.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "devices/device_set.h"
#include "grad/gradients.h"
#include "grad/symbolic_gradient.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "ops/registry.h"
#include "passes/pipeline.h"
#include "passes/raise/raise.h"
#include "passes/vectorize/vectorize.h"
#include "place/cut_program.h"
#include "session/names.h"
#include "support/lowered_program.h"

namespace gyre::testing {
namespace {

using Names = std::vector<std::string>;

// The case's program, and what is asked of it.
struct Input {
  const TextCase& options;
  Staged staged;
};
// What came out. INTERNAL is not among what a case may expect.
using Output = absl::StatusOr<std::string>;

Names List(const TextCase& options, const std::string& key) {
  return absl::StrSplit(options.option(key), ',', absl::SkipEmpty());
}

absl::StatusOr<int64_t> Number(const TextCase& options, const std::string& key, int64_t fallback) {
  const std::string text = options.option(key);
  int64_t number = fallback;
  if (text.empty() || absl::SimpleAtoi(text, &number)) return number;
  return absl::InternalError(absl::StrCat(key, "=", text, " is no number"));
}

// INTERNAL for a program that the verifier refuses.
absl::Status CheckSound(const Program& program, Dialect dialect) {
  const absl::Status status = Verify(program, dialect);
  if (status.ok()) return status;
  return absl::InternalError(
      absl::StrCat("it is not sound: ", status.message(), "\n", PrintProgram(program)));
}

std::string ProgramText(const Program& program) {
  std::string text = PrintFunction(program.main());
  for (const auto& [name, function] : program.functions())
    absl::StrAppend(&text, "\n", PrintFunction(*function));
  return text;
}

// A line for each of `before` that is another one in `after`, and for each that has come.
absl::StatusOr<std::string> Moved(absl::string_view what, const Names& before, const Names& after) {
  if (after.size() < before.size())
    return absl::InternalError(absl::StrCat("a ", what, " is lost"));
  std::string text;
  for (size_t i = 0; i < after.size(); ++i) {
    if (i >= before.size()) {
      absl::StrAppend(&text, what, " ", after[i], " is new\n");
    } else if (before[i] != after[i]) {
      absl::StrAppend(&text, what, " ", before[i], " is ", after[i], "\n");
    }
  }
  return text;
}

Names NamesOf(const Program& program, const std::vector<Endpoint>& endpoints) {
  Names names;
  for (const Endpoint& e : endpoints) names.push_back(program.main().EndpointName(e));
  return names;
}

Names NamesOf(const Program& program, const std::vector<NodeId>& nodes) {
  Names names;
  for (const NodeId id : nodes) names.push_back(program.main().node(id).name);
  return names;
}

// Which of the signature's names lead elsewhere.
absl::StatusOr<std::string> Moved(const Staged& before, const Program& program,
                                  const RunSignature& signature) {
  const Program& old = *before.program;
  GYRE_ASSIGN_OR_RETURN(const std::string feeds, Moved("feed", NamesOf(old, before.signature.feeds),
                                                       NamesOf(program, signature.feeds)));
  GYRE_ASSIGN_OR_RETURN(
      const std::string fetches,
      Moved("fetch", NamesOf(old, before.signature.fetches), NamesOf(program, signature.fetches)));
  GYRE_ASSIGN_OR_RETURN(
      const std::string targets,
      Moved("target", NamesOf(old, before.signature.targets), NamesOf(program, signature.targets)));
  return feeds + fetches + targets;
}

Output StagedText(const Input& input, const absl::StatusOr<Staged>& after, Dialect dialect) {
  GYRE_RETURN_IF_ERROR(after.status());
  GYRE_RETURN_IF_ERROR(CheckSound(*after->program, dialect));
  if (after->program == input.staged.program) return "unchanged\n";
  GYRE_ASSIGN_OR_RETURN(const std::string moved,
                        Moved(input.staged, *after->program, after->signature));
  return ProgramText(*after->program) + moved;
}

Output RunPass(const Input& input, Pass pass) {
  return StagedText(input, pass(input.staged), Dialect::kAny);
}

Output RunPipeline(const Input& input) {
  return StagedText(input, Optimize(input.staged, {.choice = {.verify = true}}), Dialect::kAny);
}

Output RunRaise(const Input& input) {
  return StagedText(input, Raise(input.staged), Dialect::kStructured);
}

// The main graph alone: functions stay as they are.
Output RunLower(const Input& input) {
  GYRE_ASSIGN_OR_RETURN(const LoweredProgram lowered,
                        LowerMain(*input.staged.program, input.staged.signature));
  GYRE_ASSIGN_OR_RETURN(const std::string moved,
                        Moved(input.staged, *lowered.program, lowered.signature));
  return PrintFunction(lowered.program->main()) + moved;
}

// What `@row` becomes, the new function first; what else was made; which nodes run row by row.
Output RunVectorize(const Input& input) {
  const Program& program = *input.staged.program;
  const Function* const row = program.FindFunction("row");
  if (row == nullptr) return absl::InternalError("there is no function @row");
  GYRE_ASSIGN_OR_RETURN(const int64_t stacked, Number(input.options, "stacked", 0));
  const std::string loops = input.options.option("loops");
  if (!loops.empty() && loops != "no") return absl::InternalError("loops is no, or left out");
  VectorizeRequest request{.name = "rows", .fall_back = loops.empty()};
  GYRE_ASSIGN_OR_RETURN(request.num_rows, Number(input.options, "rows", -1));
  for (size_t i = 0; i < row->args.size(); ++i) {
    request.stacked.push_back(static_cast<int64_t>(i) < stacked);
    request.args.push_back({.shape = row->args[i].shape});
  }
  ProgramBuilder builder(program);
  builder.SetMain(*row);
  GYRE_ASSIGN_OR_RETURN(const VectorizeResult made, Vectorize(builder.Build(), request));
  ProgramBuilder checked(*made.program);
  checked.SetMain(Function());
  GYRE_RETURN_IF_ERROR(CheckSound(*checked.Build(), Dialect::kAny));
  std::string text = PrintFunction(*made.program->FindFunction(made.function));
  for (const auto& [name, function] : made.program->functions()) {
    if (program.FindFunction(name) == nullptr && name != made.function)
      absl::StrAppend(&text, "\n", PrintFunction(*function));
  }
  for (const LoopOverRows& loop : made.loops)
    absl::StrAppend(&text, "loop: ", loop.op, " '", loop.node, "': ", loop.reason, "\n");
  return text;
}

// The gradients of the sum of all y by each x.
absl::StatusOr<GradientResult> GradientsOf(const Input& input) {
  const MainNames names(*input.staged.program);
  GYRE_ASSIGN_OR_RETURN(const RunSignature ys, names.FindSignature({}, List(input.options, "y")));
  GYRE_ASSIGN_OR_RETURN(const RunSignature xs, names.FindSignature({}, List(input.options, "x")));
  GYRE_ASSIGN_OR_RETURN(const MemoryPolicy memory,
                        ParseMemoryPolicy(input.options.option("memory")));
  return DenseGradients(input.staged.program,
                        {.ys = ys.fetches, .xs = xs.fetches, .memory = memory});
}

Output RunGradient(const Input& input) {
  GYRE_ASSIGN_OR_RETURN(const GradientResult made, GradientsOf(input));
  GYRE_RETURN_IF_ERROR(CheckSound(*made.program, Dialect::kStructured));
  std::string text = ProgramText(*made.program);
  const Names xs = List(input.options, "x");
  for (size_t i = 0; i < xs.size(); ++i) {
    absl::StrAppend(&text, "gradient by ", xs[i], ": ",
                    made.gradients[i] ? made.program->main().EndpointName(made.gradients[i]->values)
                                      : made.why_not[i],
                    "\n");
  }
  return text;
}

Output RunSymbolicGradient(const Input& input) {
  GYRE_ASSIGN_OR_RETURN(const std::shared_ptr<const Program> expanded,
                        ExpandSymbolicGradients(input.staged.program));
  GYRE_RETURN_IF_ERROR(CheckSound(*expanded, Dialect::kAny));
  return expanded == input.staged.program ? "unchanged\n" : ProgramText(*expanded);
}

// What each device runs. The names of devices are left out of transfers: a part says which it is.
std::string PartsText(const place::CutProgram& cut) {
  std::string all;
  for (const place::Part& part : cut.partition.parts) {
    Function function = part.lowered.function;
    for (Node& node : function.nodes) {
      if (node.kind() != OpKind::kTransfer) continue;
      node.attrs = {{"tensor_name", *node.attrs.Get<std::string>("tensor_name")}};
    }
    absl::StrAppend(&all, "CPU:", part.device.value(), " ", PrintFunction(function));
  }
  return all;
}

// What the devices run of the fetches or, without any, of the gradient of y by x.
Output RunCut(const Input& input) {
  Staged staged = input.staged;
  if (staged.signature.fetches.empty()) {
    GYRE_ASSIGN_OR_RETURN(const GradientResult made, GradientsOf(input));
    staged.program = made.program;
    for (const std::optional<GradientOfX>& gradient : made.gradients)
      if (gradient) staged.signature.fetches.push_back(gradient->values);
  }
  GYRE_ASSIGN_OR_RETURN(const std::vector<DeviceName> devices,
                        ParseDeviceSet(input.options.option("devices")));
  GYRE_ASSIGN_OR_RETURN(const place::CutProgram cut,
                        place::Cut(*staged.program, staged.signature, devices, {}));
  return PartsText(cut);
}

struct Transform {
  std::function<Output(const Input&)> run;
  std::vector<std::string> options;
};

// By name: those of this file, and every pass of the pipeline.
std::map<std::string, Transform> MakeTransforms() {
  const Names asked = {"feed", "fetch", "target"};
  std::map<std::string, Transform> transforms = {
      {"optimize", {RunPipeline, asked}},
      {"raise", {RunRaise, asked}},  // which says why not, as the pass does not
      {"lower", {RunLower, asked}},
      {"vectorize", {RunVectorize, {"stacked", "rows", "loops"}}},
      {"gradient", {RunGradient, {"y", "x", "memory"}}},
      {"symbolic-gradient", {RunSymbolicGradient, {}}},
      {"cut", {RunCut, {"devices", "feed", "fetch", "target", "y", "x", "memory"}}},
  };
  for (const PipelinePass& pass : PipelinePasses()) {
    const auto run = [pass = pass.run](const Input& input) { return RunPass(input, pass); };
    transforms.emplace(pass.name, Transform{run, asked});
  }
  return transforms;
}

absl::StatusOr<const Transform*> FindTransform(const TextCase& text_case) {
  static const auto* const transforms = new std::map<std::string, Transform>(MakeTransforms());
  const auto found = transforms->find(text_case.transform);
  if (found == transforms->end()) {
    const auto name = [](std::string* out, const auto& entry) { out->append(entry.first); };
    return absl::InvalidArgumentError(absl::StrCat("there is no transformation '",
                                                   text_case.transform, "'; there is ",
                                                   absl::StrJoin(*transforms, ", ", name)));
  }
  const Names& known = found->second.options;
  for (const auto& [key, value] : text_case.options) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat(text_case.transform, " has no option '", key,
                                                     "'; it has ", absl::StrJoin(known, ", ")));
    }
  }
  return &found->second;
}

}  // namespace

absl::StatusOr<std::string> ComesOut(const TextCase& text_case) {
  GYRE_ASSIGN_OR_RETURN(const Transform* transform, FindTransform(text_case));
  GYRE_ASSIGN_OR_RETURN(const auto program, ParseProgram(text_case.program, Ops()));
  GYRE_ASSIGN_OR_RETURN(
      RunSignature signature,
      MainNames(*program).FindSignature(List(text_case, "feed"), List(text_case, "fetch"),
                                        List(text_case, "target")));
  const Output text = transform->run({text_case, MakeStaged(program, std::move(signature))});
  if (text.ok() || absl::IsInternal(text.status())) return text;
  return absl::StrCat("error: ", absl::StatusCodeToString(text.status().code()), ": ",
                      text.status().message(), "\n");
}

}  // namespace gyre::testing
