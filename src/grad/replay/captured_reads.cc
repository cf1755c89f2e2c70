#include "grad/replay/captured_reads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/call_graph.h"
#include "analysis/pass_through.h"
#include "base/status.h"
#include "grad/replay/resources.h"
#include "grad/saved_values.h"
#include "grad/structured.h"
#include "ir/builder.h"
#include "ir/calls.h"
#include "ops/state/captured.h"
#include "passes/edit/interface.h"
#include "passes/edit/unique_names.h"

namespace gyre::grad {
namespace {

// Arguments of a function that are handles of variables, with what the variables hold.
using Variables = std::map<int, DType>;

// The dtype of what the node reads of the variable behind its input 0; nothing: it is no such read.
std::optional<DType> ReadType(const Node& node) {
  const Role role = node.role();
  const bool reads =
      role == Role::kReadsAll || role == Role::kReadsRows || role == Role::kReadsElements;
  const DType* dtype = reads ? node.attrs.Get<DType>("dtype") : nullptr;
  return dtype == nullptr ? std::nullopt : std::optional<DType>(*dtype);
}

// Which arguments functions read, themselves or through what they call.
class Readers {
 public:
  explicit Readers(const Program& program) : program_(program) {
    CallGraph(program).UpdateUntilStable(
        [&](const std::string& name) { return Update(*program.FindFunction(name)); });
  }

  // By input of a structured node behind its selectors: what its functions read of it.
  Variables OfStructured(const Node& structured) const {
    Variables read;
    const size_t first = NumCounterArgs(structured);
    const std::vector<Callee> callees = CalleesOf(program_, structured);
    for (const Callee& callee : callees) {
      const auto found = read_.find(callee.function.name);
      if (found == read_.end()) continue;
      for (const auto& [arg, dtype] : found->second) {
        if (static_cast<size_t>(arg) >= first) read.emplace(arg - first, dtype);
      }
    }
    if (!IsLoop(structured.kind()) || callees.empty()) return read;
    const Function* body = program_.FindFunction(callees.back().function.name);
    if (body == nullptr) return {};
    const std::vector<bool> invariant = InvariantVariables(*body, NumCounterArgs(structured));
    std::erase_if(read, [&](const auto& one) { return !invariant[one.first]; });
    return read;
  }

 private:
  bool Update(const Function& function) {
    Variables& read = read_[function.name];
    const size_t before = read.size();
    for (const Node& node : function.nodes) {
      if (IsStructured(node.kind())) {
        for (const auto& [passed, dtype] : OfStructured(node)) {
          const int arg = ArgumentOf(function, node.inputs[NumSelectorInputs(node) + passed]);
          if (arg >= 0) read.emplace(arg, dtype);
        }
      } else if (const std::optional<DType> dtype = ReadType(node)) {
        if (const int arg = ArgumentOf(function, node.inputs[0]); arg >= 0)
          read.emplace(arg, *dtype);
      }
    }
    return read.size() != before;
  }

  const Program& program_;
  std::map<std::string, Variables> read_;
};

// The main graph and the functions that it needs.
std::vector<const Function*> Reached(const Program& program) {
  std::vector<const Function*> reached{&program.main()};
  std::set<std::string> seen;
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const std::string& name : NamedFunctions(*reached[i])) {
      const Function* function = program.FindFunction(name);
      if (function != nullptr && seen.insert(name).second) reached.push_back(function);
    }
  }
  return reached;
}

// One look at a program: rewrites the loops that it finds. What they call is rewritten as copies,
// so that others who call the same are left as they are.
class Capturer {
 public:
  Capturer(const Program& program, const std::function<bool(const Node&)>& again)
      : program_(program),
        again_(again),
        resources_(program),
        readers_(program),
        names_(program),
        builder_(program) {}

  // Null: there was nothing to capture.
  absl::StatusOr<std::shared_ptr<const Program>> Run() {
    bool changed = false;
    for (const Function* function : Reached(program_)) {
      const bool is_main = function == &program_.main();
      FunctionBuilder builder(program_.ops(), *function);
      bool is_new = false;
      for (const Node& node : function->nodes) {
        if (!IsStructured(node.kind()) || !again_(node)) continue;
        const Variables captured = CapturedBy(is_main ? "" : function->name, node);
        if (captured.empty()) continue;
        GYRE_RETURN_IF_ERROR(Capture(node, captured, builder));
        is_new = true;
      }
      changed |= is_new;
      if (is_new && is_main) builder_.SetMain(builder.Build());
      if (is_new && !is_main) builder_.SetFunction(builder.Build());
    }
    return changed ? builder_.Build() : nullptr;
  }

 private:
  // By input of the structured node behind its selectors.
  Variables CapturedBy(const std::string& function, const Node& structured) const {
    Variables read = readers_.OfStructured(structured);
    if (read.empty()) return read;
    const ResourceSet written = resources_.WrittenBy(function, structured);
    std::erase_if(read, [&](const auto& one) {
      const Endpoint handle = structured.inputs[NumSelectorInputs(structured) + one.first];
      return written.has_any ||
             (!written.names.empty() && resources_.Of(function, handle).MayMeet(written));
    });
    return read;
  }

  absl::Status Capture(const Node& structured, const Variables& captured,
                       FunctionBuilder& builder) {
    std::vector<Endpoint> values;
    for (const auto& [passed, dtype] : captured) {
      GYRE_ASSIGN_OR_RETURN(
          values.emplace_back(),
          builder.Add1("_CaptureVariable",
                       {structured.inputs[NumSelectorInputs(structured) + passed]},
                       {{"dtype", dtype}},
                       {absl::StrCat(structured.name, "/captured"), structured.control_inputs,
                        structured.device, structured.source}));
    }
    return Extend(structured, captured, values, builder);
  }

  // Hands the values of `captured` to the functions of the structured node, as their last
  // arguments.
  absl::Status Extend(const Node& structured, const Variables& captured,
                      const std::vector<Endpoint>& values, FunctionBuilder& builder) {
    const int first = NumCounterArgs(structured);
    Variables args;
    for (const auto& [passed, dtype] : captured) args.emplace(passed + first, dtype);
    passes::StructuredInterface interface = passes::InterfaceOf(structured);
    for (const Endpoint& value : values) {
      interface.args.push_back(value);
      interface.arg_types.push_back(builder.dtype(value));
      if (!IsLoop(structured.kind())) continue;
      interface.output_types.push_back(builder.dtype(value));
      interface.outputs_from.push_back(-1);
    }
    GYRE_ASSIGN_OR_RETURN(Node extended, passes::WithInterface(structured, interface));
    std::vector<std::string> names;
    for (const Callee& callee : CalleesOf(program_, structured)) {
      GYRE_ASSIGN_OR_RETURN(names.emplace_back(),
                            WithCaptured(callee.function.name, args,
                                         IsLoop(structured.kind()) && !callee.is_condition()));
    }
    SetFunctions(names, extended);
    builder.Replace(structured.id, std::move(extended));
    return absl::OkStatus();
  }

  // The function with what it reads of `args` as more arguments, which a loop's body returns.
  absl::StatusOr<std::string> WithCaptured(const std::string& name, const Variables& args,
                                           bool returns) {
    std::vector<int> which;
    for (const auto& [arg, dtype] : args) which.push_back(arg);
    const auto [made, is_new] = made_.try_emplace({name, std::move(which), returns});
    if (!is_new) return made->second;
    const std::string copied = names_.Unique(absl::StrCat(name, "_captured"));
    made->second = copied;
    const Function& function = *program_.FindFunction(name);
    FunctionBuilder builder(program_.ops(), function);
    std::map<int, Endpoint> values;
    for (const auto& [arg, dtype] : args) {
      values[arg] = builder.Arg(absl::StrCat(function.args[arg].name, "_captured"), dtype);
      if (returns) builder.Return(absl::StrCat(function.args[arg].name, "_captured"), values[arg]);
    }
    for (const Node& node : function.nodes) {
      if (IsStructured(node.kind())) {
        GYRE_RETURN_IF_ERROR(ExtendInner(function, node, values, builder));
      } else if (ReadType(node)) {
        GYRE_RETURN_IF_ERROR(Read(function, node, values, builder));
      }
    }
    Function copy = builder.Build();
    copy.name = copied;
    MarkAsCopy(function, copy);
    builder_.SetFunction(std::move(copy));
    return copied;
  }

  absl::Status ExtendInner(const Function& function, const Node& structured,
                           const std::map<int, Endpoint>& values, FunctionBuilder& builder) {
    Variables captured;
    std::vector<Endpoint> given;
    for (const auto& [passed, dtype] : readers_.OfStructured(structured)) {
      const auto value = values.find(
          ArgumentOf(function, structured.inputs[NumSelectorInputs(structured) + passed]));
      if (value == values.end()) continue;
      captured.emplace(passed, dtype);
      given.push_back(value->second);
    }
    return captured.empty() ? absl::OkStatus() : Extend(structured, captured, given, builder);
  }

  // Puts what was captured in the place of what the node would read.
  absl::Status Read(const Function& function, const Node& node,
                    const std::map<int, Endpoint>& values, FunctionBuilder& builder) {
    const auto value = values.find(ArgumentOf(function, node.inputs[0]));
    if (value == values.end() || builder.dtype(value->second) != *ReadType(node))
      return absl::OkStatus();
    const FunctionBuilder::NodeOptions options{node.name, node.control_inputs, node.device,
                                               node.source};
    GYRE_ASSIGN_OR_RETURN(Node captured,
                          builder.Make("_CapturedValue", {node.inputs[0], value->second},
                                       {{"dtype", *ReadType(node)}}, options));
    if (node.role() != Role::kReadsAll) {
      const Endpoint params{builder.Append(std::move(captured)), 0};
      GYRE_ASSIGN_OR_RETURN(captured, Gathered(node, params, options, builder));
    }
    builder.Replace(node.id, std::move(captured));
    return absl::OkStatus();
  }

  // The rows of `params`, with the gradient of the node, whose rows go to the handle.
  static absl::StatusOr<Node> Gathered(const Node& node, Endpoint params,
                                       const FunctionBuilder::NodeOptions& options,
                                       FunctionBuilder& builder) {
    Endpoint rows;
    if (node.role() == Role::kReadsRows) {
      const int64_t batch_dims = node.attrs.GetOr<int64_t>("batch_dims", 0);
      const Endpoint axis = builder.Constant(Tensor::Scalar(static_cast<int32_t>(batch_dims)));
      GYRE_ASSIGN_OR_RETURN(rows, builder.Add1("GatherV2", {params, node.inputs[1], axis},
                                               {{"batch_dims", batch_dims}}, options));
    } else {
      GYRE_ASSIGN_OR_RETURN(rows, builder.Add1("GatherNd", {params, node.inputs[1]}, {}, options));
    }
    return MakeReplayed(node, {rows}, builder);
  }

  const Program& program_;
  const std::function<bool(const Node&)>& again_;
  const Resources resources_;
  const Readers readers_;
  passes::UniqueNames names_;
  ProgramBuilder builder_;
  std::map<std::tuple<std::string, std::vector<int>, bool>, std::string> made_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Program>> CaptureReads(
    std::shared_ptr<const Program> program, const std::function<bool(const Node&)>& again) {
  const std::shared_ptr<const Program> before = program;
  // Copies may hold loops that have more to capture. Each look leaves fewer reads.
  for (bool changed = true; changed;) {
    GYRE_ASSIGN_OR_RETURN(std::shared_ptr<const Program> captured, Capturer(*program, again).Run());
    changed = captured != nullptr;
    if (changed) program = std::move(captured);
  }
  if (program == before) return program;
  // Copies of which there are copies.
  std::set<std::string> reached;
  for (const Function* function : Reached(*program)) reached.insert(function->name);
  ProgramBuilder builder(*program);
  for (const auto& [name, function] : program->functions()) {
    if (!reached.contains(name) && before->FindFunction(name) == nullptr)
      builder.EraseFunction(name);
  }
  return builder.Build();
}

}  // namespace gyre::grad
