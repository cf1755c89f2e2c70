#include "session/ahead/compile.h"

#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analysis/order.h"
#include "analysis/refusals.h"
#include "base/fork.h"
#include "base/status.h"
#include "compiled/library.h"
#include "exec/sequential/loop.h"
#include "exec/sequential/native.h"
#include "ir/builder.h"
#include "lower/facts.h"
#include "ops/registry.h"
#include "session/ahead/c_header.h"
#include "session/form.h"

namespace gyre {
namespace {

constexpr int64_t kMostStackBytes = int64_t{1} << 30;

// Functions of the C library cannot be replaced by one of another kind.
bool IsOfTheCLibrary(const std::string& name) {
  if (name == "main") return true;
  void* const library = dlopen("libm.so.6", RTLD_LAZY);  // and libc, which it needs
  return library != nullptr && dlsym(library, name.c_str()) != nullptr;
}

absl::Status CheckOptions(const AheadOptions& options) {
  if (!ahead::IsIdentifier(options.name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", options.name,
        "' cannot name a function in C: a name is letters, digits and _, begins with no digit, "
        "and is no keyword; give another (gyre compile --name)"));
  }
  if (IsOfTheCLibrary(options.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", options.name,
                     "' is a function that C programs have already: give another name (gyre "
                     "compile --name)"));
  }
  if (options.stack_bytes < 0 || options.stack_bytes > kMostStackBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a stack of ", options.stack_bytes,
                                                   " bytes: it must have 0 to ", kMostStackBytes));
  }
  return absl::OkStatus();
}

// A feed, or a fetch.
struct Value {
  std::string name;
  DType dtype = DType::kInvalid;
  Shape shape;
  bool is_read = true;  // of a feed: something is computed of it, or it is fetched
  bool is_fed = false;  // of a fetch
};

absl::Status InTheWay(absl::string_view why) {
  return absl::UnimplementedError(
      absl::StrCat("this program cannot be compiled ahead of time: ", why));
}

// A loop of primitives that could not be raised.
absl::Status WaitsForItself(const Node& node) {
  return InTheWay(absl::StrCat(node.name, " (", node.op_name,
                               ") is in a loop of primitives that cannot become a While"));
}

// The main graph of `staged` as a function of its feeds, with results for its fetches.
absl::StatusOr<Function> AsFunction(const Staged& staged, absl::string_view name) {
  const Function& main = staged.program->main();
  FunctionBuilder f(Ops(), std::string(name));
  HashMap<Endpoint, Endpoint> places;
  for (const Endpoint& feed : staged.signature.feeds) {
    const DType dtype = main.node(feed.node).signature.outputs[feed.slot].dtype;
    places.emplace(feed, f.Arg(main.EndpointName(feed), dtype));
  }
  std::vector<NodeId> ids(main.nodes.size(), -1);
  const std::vector<bool> needed = NeededNodes(main, staged.signature);
  const auto place = [&](Endpoint e) {
    const auto fed = places.find(e);
    return fed != places.end() ? fed->second : Endpoint{ids[e.node], e.slot};
  };
  for (const NodeId id : ProducersFirst(main, needed)) {
    const Node& node = main.node(id);
    std::vector<Endpoint> inputs;
    for (const Endpoint& input : node.inputs) {
      inputs.push_back(place(input));
      if (inputs.back().node < 0) return WaitsForItself(node);
    }
    std::vector<NodeId> control_inputs;
    for (const NodeId control : node.control_inputs)
      if (ids[control] >= 0) control_inputs.push_back(ids[control]);
    ids[id] = f.Copy(node, std::move(inputs), std::move(control_inputs));
  }
  for (const Endpoint& fetch : staged.signature.fetches) {
    const Endpoint value = place(fetch);
    if (value.node < 0) return WaitsForItself(main.node(fetch.node));
    f.Return(main.EndpointName(fetch), value);
  }
  return f.Build();
}

// NOT_FOUND where an op that is needed, or a function that it calls, is not there.
absl::Status CheckNodes(const Staged& asked) {
  const Function& main = asked.program->main();
  const std::vector<bool> needed = NeededNodes(main, asked.signature);
  for (const Node& node : main.nodes) {
    if (!needed[node.id]) continue;
    if (node.op == nullptr) return UnregisteredOp(node);
    GYRE_RETURN_IF_ERROR(CheckCallees(*asked.program, node));
  }
  return absl::OkStatus();
}

// A program with one structured node: it calls what `staged` asks for.
struct Whole {
  std::shared_ptr<const Program> program;
  NodeId node = -1;
  std::vector<Endpoint> feeds;
  std::string function;  // that is called
};

absl::StatusOr<Whole> MakeWhole(const Staged& staged, const std::vector<Value>& inputs,
                                const std::vector<Value>& outputs) {
  std::string name = "program";
  while (staged.program->FindFunction(name) != nullptr) name += "_";
  GYRE_ASSIGN_OR_RETURN(Function function, AsFunction(staged, name));
  FunctionBuilder main(Ops(), "");
  Whole whole;
  std::vector<Endpoint> operands = {main.Constant(Tensor::Scalar<int32_t>(0))};
  std::vector<DType> types, result_types;
  for (const Value& input : inputs) {
    GYRE_ASSIGN_OR_RETURN(
        const Endpoint fed,
        main.Add1("Placeholder", {}, {{"dtype", input.dtype}, {"shape", PartialShape(input.shape)}},
                  {.name = "input"}));
    whole.feeds.push_back(fed);
    operands.push_back(fed);
    types.push_back(input.dtype);
  }
  for (const Value& output : outputs) result_types.push_back(output.dtype);
  GYRE_ASSIGN_OR_RETURN(whole.node,
                        main.Add("StatelessCase", operands,
                                 {{"Tin", std::move(types)},
                                  {"Tout", std::move(result_types)},
                                  {"branches", std::vector<FunctionRef>{{name, nullptr}}}}));
  ProgramBuilder builder(*staged.program);
  builder.SetFunction(std::move(function)).SetMain(main.Build());
  whole.function = std::move(name);
  whole.program = builder.Build();
  return whole;
}

// Structures whose members follow each other as C lays them out. What nobody reads has no cell.
std::vector<compiled::ObjectMember> Lay(uint32_t first, const std::vector<Value>& values,
                                        ahead::Structure& structure) {
  std::vector<compiled::ObjectMember> members;
  size_t end = 0, align = 1;
  for (uint32_t i = 0; i < values.size(); ++i) {
    const size_t size = DTypeSize(values[i].dtype);
    end = (end + size - 1) / size * size;
    align = std::max(align, size);
    if (values[i].is_read) members.push_back({first + i, static_cast<uint32_t>(end)});
    structure.members.push_back({values[i].name, values[i].dtype, values[i].shape});
    end += size * static_cast<size_t>(values[i].shape.num_elements());
  }
  structure.bytes = (end + align - 1) / align * align;
  return members;
}

std::string Told(const sequential::Instruction& op) {
  if (op.told == nullptr) return "an op";
  return absl::StrCat(op.told->name, " (", (op.node == nullptr ? op.told : op.node)->op_name, ")");
}

class AheadCompiler {
 public:
  AheadCompiler(const Staged& asked, const AheadOptions& options)
      : asked_(asked), options_(options) {}

  absl::StatusOr<CompiledAhead> Compile() {
    GYRE_ASSIGN_OR_RETURN(Staged staged, WithoutSymbolicGradients(asked_));
    GYRE_RETURN_IF_ERROR(CheckNodes(staged));
    SessionOptions session;
    session.form = ProgramForm::kOptimized;
    GYRE_ASSIGN_OR_RETURN(staged, ToForm(std::move(staged), session));
    GYRE_RETURN_IF_ERROR(FindValues(staged));
    GYRE_ASSIGN_OR_RETURN(const Whole whole, MakeWhole(staged, inputs_, outputs_));
    lower::ProgramFacts facts(*whole.program);
    facts.InferMainShapes(whole.feeds);
    std::string why;
    const Function& main = whole.program->main();
    const std::shared_ptr<const sequential::RegisterLoop> loop =
        sequential::CompileLoop(facts, main, main.node(whole.node), &why);
    // The function that is asked for is not one of the user's.
    if (loop == nullptr)
      return InTheWay(absl::StrReplaceAll(why, {{absl::StrCat(" in @", whole.function), ""}}));
    const auto native = std::make_shared<sequential::NativeLoop>();
    if (!native->MakeRegion(*loop))
      return InTheWay("what decides where a loop or a call goes is no scalar");
    GYRE_RETURN_IF_ERROR(CheckCells(native->region()));
    return Generate(*loop, native->region());
  }

 private:
  // What is fed and fetched, under the names that it was asked for by.
  absl::Status FindValues(const Staged& staged) {
    if (staged.signature.fetches.empty())
      return absl::InvalidArgumentError("nothing is fetched, so there is nothing to compute");
    lower::ProgramFacts facts(*staged.program);
    facts.InferMainShapes(staged.signature.feeds);
    const auto find = [&](const std::vector<Endpoint>& asked, const std::vector<Endpoint>& now,
                          absl::string_view what, std::vector<Value>& values) -> absl::Status {
      for (size_t i = 0; i < now.size(); ++i) {
        Value& value = values.emplace_back();
        value.name = asked_.program->main().EndpointName(asked[i]);
        const Function& main = staged.program->main();
        value.dtype = main.node(now[i].node).signature.outputs[now[i].slot].dtype;
        const std::optional<Shape> shape = facts.KnownShape(main, now[i]);
        if (!shape) {
          const std::string why =
              absl::StrCat(value.name, ", which is ", what,
                           ", is of a shape that is not known before it runs: code that is "
                           "compiled ahead of time has to know it");
          if (&values != &inputs_) return absl::UnimplementedError(why);
          return absl::InvalidArgumentError(absl::StrCat(
              why,
              "; the attribute shape of its Placeholder can say it: shape=(2,3), or shape=()"));
        }
        if (ahead::TypeInC(value.dtype).empty()) {
          return absl::UnimplementedError(
              absl::StrCat(value.name, ", which is ", what, ", is of type ", to_string(value.dtype),
                           ": only numbers of at most eight bytes can be"));
        }
        if (shape->num_elements() == 0) {
          return absl::UnimplementedError(
              absl::StrCat(value.name, ", which is ", what, ", is empty: C has no such arrays"));
        }
        value.shape = *shape;
      }
      return absl::OkStatus();
    };
    GYRE_RETURN_IF_ERROR(find(asked_.signature.feeds, staged.signature.feeds, "fed", inputs_));
    GYRE_RETURN_IF_ERROR(
        find(asked_.signature.fetches, staged.signature.fetches, "fetched", outputs_));
    FindReaders(staged);
    return absl::OkStatus();
  }

  void FindReaders(const Staged& staged) {
    const RunSignature& signature = staged.signature;
    HashSet<Endpoint> read(signature.fetches.begin(), signature.fetches.end());
    const Function& main = staged.program->main();
    const std::vector<bool> needed = NeededNodes(main, signature);
    for (const Node& node : main.nodes)
      if (needed[node.id]) read.insert(node.inputs.begin(), node.inputs.end());
    const HashSet<Endpoint> fed(signature.feeds.begin(), signature.feeds.end());
    for (size_t i = 0; i < inputs_.size(); ++i)
      inputs_[i].is_read = read.contains(signature.feeds[i]);
    for (size_t i = 0; i < outputs_.size(); ++i)
      outputs_[i].is_fed = fed.contains(signature.fetches[i]);
  }

  // Everything that goes in, and is read, and that comes out must be a cell of the size that it
  // has.
  absl::Status CheckCells(const compiled::Region& region) const {
    const auto check = [&](uint32_t reg, const Value& value) -> absl::Status {
      const compiled::Cell& cell = region.cells[reg];
      if (!cell.is_object() && cell.element_bytes == DTypeSize(value.dtype) &&
          cell.elements == value.shape.num_elements())
        return absl::OkStatus();
      return InTheWay(absl::StrCat(value.name, " of shape ", value.shape.ToString(),
                                   value.is_fed
                                       ? " is fetched as it is fed: nothing is computed of it"
                                       : " is not small, or it is used as a whole by what is not"));
    };
    for (size_t i = 0; i < outputs_.size(); ++i)
      GYRE_RETURN_IF_ERROR(check(static_cast<uint32_t>(i), outputs_[i]));
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].is_read)
        GYRE_RETURN_IF_ERROR(check(FirstInput() + static_cast<uint32_t>(i), inputs_[i]));
    return absl::OkStatus();
  }

  // Registers begin with the results, then comes which branch, then what it is given.
  uint32_t FirstInput() const { return static_cast<uint32_t>(outputs_.size()) + 1; }

  absl::StatusOr<CompiledAhead> Generate(const sequential::RegisterLoop& loop,
                                         const compiled::Region& region) const {
    ahead::Header header;
    header.name = options_.name;
    const std::vector<compiled::ObjectMember> ins = Lay(FirstInput(), inputs_, header.inputs),
                                              outs = Lay(0, outputs_, header.outputs);
    for (size_t at = 0; at < loop.code.size(); ++at) {
      const sequential::Instruction& op = loop.code[at];
      const bool may_fail = op.action == sequential::Action::kRun && op.node->op != nullptr &&
                            op.node->op->failure != nullptr &&
                            op.node->op->failure(*op.node) == Failure::kByValues;
      if (may_fail) header.failures.emplace_back(at + 1, Told(op));
    }
    header.may_be_too_deep = !loop.subroutines.empty();
    compiled::ObjectRequest request = {.region = &region,
                                       .symbol = options_.name.c_str(),
                                       .cpu = options_.cpu.c_str(),
                                       .may_contract = options_.may_contract,
                                       .inputs = ins.data(),
                                       .num_inputs = static_cast<uint32_t>(ins.size()),
                                       .outputs = outs.data(),
                                       .num_outputs = static_cast<uint32_t>(outs.size()),
                                       .stack_bytes = static_cast<uint32_t>(options_.stack_bytes)};
    uint32_t refused = UINT32_MAX;
    const NoFork no_fork;
    absl::StatusOr<std::string> object = compiled::ObjectFile(request, refused);
    if (!object.ok()) {
      if (object.status().code() != absl::StatusCode::kUnimplemented) return object.status();
      if (refused < loop.code.size())
        return InTheWay(absl::StrCat(Told(loop.code[refused]),
                                     " has no code of its own: Gyre's library runs it"));
      return InTheWay(object.status().message());
    }
    return CompiledAhead{*std::move(object), ahead::TextOf(header)};
  }

  const Staged& asked_;
  const AheadOptions& options_;
  std::vector<Value> inputs_, outputs_;
};

}  // namespace

absl::StatusOr<CompiledAhead> CompileAhead(const Staged& asked, const AheadOptions& options) {
  GYRE_RETURN_IF_ERROR(CheckOptions(options));
  return AheadCompiler(asked, options).Compile();
}

}  // namespace gyre
