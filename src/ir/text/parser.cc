#include "ir/text/parser.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ir/data_order.h"
#include "ir/text/arg.h"
#include "ir/text/literal.h"
#include "ir/text/reader.h"
#include "ir/type_attrs.h"

namespace gyre {
namespace {

using Slot = NodeSignature::Slot;

struct Type {
  Slot slot;
  PartialShape shape;
};

// A mention of a node: names may be used before they are defined.
struct Mention {
  std::string name;
  int32_t slot = 0;
  bool is_control = false;
  size_t mark = 0;
};

// What the text says of a node beyond what fits into Node.
struct NodeText {
  size_t mark = 0;
  std::vector<Mention> inputs;
  std::optional<std::vector<Slot>> types;
};

class FunctionParser {
 public:
  FunctionParser(TextReader& reader, const OpLookup& ops) : reader_(reader), ops_(ops) {}

  // Everything after the name.
  absl::StatusOr<Function> Parse(std::string name) {
    function_.name = std::move(name);
    if (reader_.Accept("(")) GYRE_RETURN_IF_ERROR(ParseSignature());
    GYRE_RETURN_IF_ERROR(reader_.Expect("{"));
    GYRE_RETURN_IF_ERROR(ParseProperties());
    while (reader_.Peek() == '%') GYRE_RETURN_IF_ERROR(ParseNode());
    const size_t end = reader_.Mark();
    if (reader_.Accept("return")) GYRE_RETURN_IF_ERROR(ParseReturn());
    if (!reader_.Accept("}")) return reader_.Expected("a node (%name = Op(...)), 'return' or '}'");
    GYRE_RETURN_IF_ERROR(ResolveNames(end));
    GYRE_RETURN_IF_ERROR(ResolveTypes());
    return std::move(function_);
  }

 private:
  // (%x: float32[2,?] {attr=…}, y: int32 = %node) -> (z: float32)
  absl::Status ParseSignature() {
    while (!reader_.Accept(")")) {
      if (!function_.args.empty()) GYRE_RETURN_IF_ERROR(reader_.Expect(","));
      GYRE_RETURN_IF_ERROR(ParseArg());
    }
    GYRE_RETURN_IF_ERROR(reader_.Expect("->"));
    GYRE_RETURN_IF_ERROR(reader_.Expect("("));
    while (!reader_.Accept(")")) {
      if (!function_.results.empty()) GYRE_RETURN_IF_ERROR(reader_.Expect(","));
      FunctionResult result;
      GYRE_ASSIGN_OR_RETURN(result.name, reader_.Name("the name of a result"));
      GYRE_RETURN_IF_ERROR(reader_.Expect(":"));
      GYRE_ASSIGN_OR_RETURN(const Type type, ParseType());
      result.dtype = type.slot.dtype;
      function_.results.push_back(std::move(result));
    }
    return absl::OkStatus();
  }

  absl::Status ParseArg() {
    const size_t mark = reader_.Mark();
    const bool is_plain = reader_.Accept("%");
    if (!function_.args.empty() && is_plain != arg_mentions_.empty()) {
      return reader_.ErrorAt(
          mark, "either all arguments are written %name: type, or all name: type = %node");
    }
    FunctionArg arg;
    GYRE_ASSIGN_OR_RETURN(arg.name, reader_.Name("the name of an argument"));
    GYRE_RETURN_IF_ERROR(reader_.Expect(":"));
    GYRE_ASSIGN_OR_RETURN(Type type, ParseType());
    arg.dtype = type.slot.dtype;
    arg.is_ref = type.slot.is_ref;
    arg.shape = std::move(type.shape);
    if (reader_.Accept("{")) {
      GYRE_ASSIGN_OR_RETURN(arg.attrs, ReadAttrsInBraces(reader_));
    }
    if (is_plain) {
      const NodeId id = static_cast<NodeId>(function_.args.size());
      function_.nodes.push_back(PlainArgNode(&ops_, id, arg));
      function_.arg_nodes.push_back(id);
      texts_.push_back({mark, {}, std::vector<Slot>{type.slot}});
    } else {
      GYRE_RETURN_IF_ERROR(reader_.Expect("="));
      GYRE_ASSIGN_OR_RETURN(Mention mention, ParseMention());
      arg_mentions_.push_back(std::move(mention));
    }
    function_.args.push_back(std::move(arg));
    return absl::OkStatus();
  }

  // doc "…", stateful, wire "…", attr name=value: before the nodes, in any order.
  absl::Status ParseProperties() {
    AttrTexts attrs;
    while (true) {
      if (reader_.Accept("doc")) {
        GYRE_ASSIGN_OR_RETURN(function_.doc, reader_.Quoted("a text in quotes"));
      } else if (reader_.Accept("stateful")) {
        function_.stateful = true;
      } else if (reader_.Accept("wire")) {
        GYRE_ASSIGN_OR_RETURN(function_.wire_extra, reader_.Quoted("a text in quotes"));
      } else if (reader_.Accept("attr")) {
        const size_t mark = reader_.Mark();
        GYRE_ASSIGN_OR_RETURN(std::string name, reader_.Name("the name of an attribute"));
        GYRE_RETURN_IF_ERROR(reader_.Expect("="));
        GYRE_RETURN_IF_ERROR(attrs.ReadValueOf(std::move(name), mark, reader_));
      } else {
        function_.attrs = attrs.Take();
        return absl::OkStatus();
      }
    }
  }

  // %name = Op(%a, %b:1, ^%c) attr=value : types on "device" at "source" wire "…"
  absl::Status ParseNode() {
    SpendWork();
    SpendWorkMemory(kWorkBytesOfNode);
    Node node;
    NodeText text;
    text.mark = reader_.Mark();
    GYRE_RETURN_IF_ERROR(reader_.Expect("%"));
    node.id = static_cast<NodeId>(function_.nodes.size());
    GYRE_ASSIGN_OR_RETURN(node.name, reader_.Name("the name of a node"));
    GYRE_RETURN_IF_ERROR(reader_.Expect("="));
    GYRE_ASSIGN_OR_RETURN(node.op_name, reader_.Name("the name of an op"));
    node.op = ops_.Find(node.op_name);
    GYRE_RETURN_IF_ERROR(reader_.Expect("("));
    while (!reader_.Accept(")")) {
      if (!text.inputs.empty()) GYRE_RETURN_IF_ERROR(reader_.Expect(","));
      GYRE_ASSIGN_OR_RETURN(Mention mention, ParseMention());
      text.inputs.push_back(std::move(mention));
    }
    GYRE_RETURN_IF_ERROR(ParseClauses(node, text));
    function_.nodes.push_back(std::move(node));
    texts_.push_back(std::move(text));
    return absl::OkStatus();
  }

  // What stands after a node's inputs.
  absl::Status ParseClauses(Node& node, NodeText& text) {
    AttrTexts attrs;
    GYRE_RETURN_IF_ERROR(ParseClauses(node, text, attrs));
    node.attrs = attrs.Take();
    return absl::OkStatus();
  }

  absl::Status ParseClauses(Node& node, NodeText& text, AttrTexts& attrs) {
    while (true) {
      const size_t mark = reader_.Mark();
      if (reader_.Accept(":")) {
        GYRE_ASSIGN_OR_RETURN(text.types, ParseTypes());
        continue;
      }
      if (reader_.Peek() != '"' && reader_.Word().empty()) return absl::OkStatus();
      reader_.Seek(mark);
      GYRE_ASSIGN_OR_RETURN(const std::string word, reader_.Name("an attribute"));
      if (reader_.Accept("=")) {
        GYRE_RETURN_IF_ERROR(attrs.ReadValueOf(word, mark, reader_));
      } else if (word == "on") {
        GYRE_ASSIGN_OR_RETURN(node.device, reader_.Quoted("a device in quotes"));
      } else if (word == "at") {
        GYRE_ASSIGN_OR_RETURN(node.source, reader_.Quoted("a place in quotes"));
      } else if (word == "wire") {
        GYRE_ASSIGN_OR_RETURN(node.wire_extra, reader_.Quoted("a text in quotes"));
      } else {
        reader_.Seek(mark);
        return absl::OkStatus();
      }
    }
  }

  // %name, %name:1 or ^%name
  absl::StatusOr<Mention> ParseMention() {
    Mention mention;
    mention.mark = reader_.Mark();
    mention.is_control = reader_.Accept("^");
    if (!reader_.Accept("%")) return reader_.Expected("a value (%name)");
    GYRE_ASSIGN_OR_RETURN(mention.name, reader_.Name("the name of a node"));
    if (!mention.is_control && reader_.Accept(":")) {
      const size_t mark = reader_.Mark();
      GYRE_ASSIGN_OR_RETURN(const int64_t slot, ReadInt(reader_));
      if (slot < 0 || slot > (int64_t{1} << 30))
        return reader_.ErrorAt(mark, "this is not the number of an output");
      mention.slot = static_cast<int32_t>(slot);
    }
    return mention;
  }

  absl::StatusOr<Type> ParseType() {
    Type type;
    const size_t mark = reader_.Mark();
    if (!reader_.Accept("?")) {
      const std::optional<DType> dtype = ParseDType(reader_.Word());
      if (!dtype) {
        reader_.Seek(mark);
        return reader_.Expected("a type");
      }
      type.slot.dtype = *dtype;
    }
    if (reader_.Accept("[")) {
      GYRE_ASSIGN_OR_RETURN(type.shape, ReadDims(reader_, "]"));
    }
    type.slot.is_ref = reader_.Accept("&");
    return type;
  }

  // One type, or any number in parentheses.
  absl::StatusOr<std::vector<Slot>> ParseTypes() {
    std::vector<Slot> types;
    if (!reader_.Accept("(")) {
      GYRE_ASSIGN_OR_RETURN(const Type type, ParseType());
      types.push_back(type.slot);
      return types;
    }
    while (!reader_.Accept(")")) {
      if (!types.empty()) GYRE_RETURN_IF_ERROR(reader_.Expect(","));
      GYRE_ASSIGN_OR_RETURN(const Type type, ParseType());
      types.push_back(type.slot);
    }
    return types;
  }

  absl::Status ParseReturn() {
    do {
      GYRE_ASSIGN_OR_RETURN(Mention mention, ParseMention());
      std::string name = mention.name;
      if (mention.is_control && reader_.Accept("as")) {
        GYRE_ASSIGN_OR_RETURN(name, reader_.Name("the name of a control result"));
      }
      returned_.emplace_back(std::move(name), std::move(mention));
    } while (reader_.Accept(","));
    return absl::OkStatus();
  }

  absl::Status ResolveNames(size_t end) {
    for (const Node& node : function_.nodes) {
      if (!by_name_.emplace(node.name, node.id).second) {
        return reader_.ErrorAt(texts_[node.id].mark,
                               absl::StrCat("%", WriteName(node.name), " is defined twice"));
      }
    }
    for (Node& node : function_.nodes) {
      for (const Mention& mention : texts_[node.id].inputs) {
        GYRE_ASSIGN_OR_RETURN(const NodeId source, Find(mention));
        if (mention.is_control) {
          node.control_inputs.push_back(source);
        } else if (!node.control_inputs.empty()) {
          return reader_.ErrorAt(mention.mark,
                                 "control inputs (^%name) must stand after the others");
        } else {
          node.inputs.push_back({source, mention.slot});
        }
      }
    }
    for (const Mention& mention : arg_mentions_) {
      GYRE_ASSIGN_OR_RETURN(const NodeId id, Find(mention));
      function_.arg_nodes.push_back(id);
    }
    return ResolveReturn(end);
  }

  absl::Status ResolveReturn(size_t end) {
    size_t num_values = 0;
    for (auto& [name, mention] : returned_) {
      GYRE_ASSIGN_OR_RETURN(const NodeId id, Find(mention));
      if (mention.is_control) {
        function_.control_results.emplace_back(std::move(name), id);
      } else if (num_values++ < function_.results.size()) {
        function_.results[num_values - 1].value = {id, mention.slot};
      }
    }
    if (num_values == function_.results.size()) return absl::OkStatus();
    return reader_.ErrorAt(
        end, absl::StrCat("function ", function_.name, " has ", function_.results.size(),
                          " results, but ", num_values, " values are returned"));
  }

  absl::StatusOr<NodeId> Find(const Mention& mention) const {
    const auto it = by_name_.find(mention.name);
    if (it != by_name_.end()) return it->second;
    return reader_.ErrorAt(mention.mark,
                           absl::StrCat("%", WriteName(mention.name), " is not defined"));
  }

  // Fills in the attributes that the text leaves out, and the signatures. Types that the text
  // states are relied upon before their node is reached, so loops cause no trouble.
  absl::Status ResolveTypes() {
    for (Node& node : function_.nodes) {
      if (texts_[node.id].types) node.signature.outputs = *texts_[node.id].types;
    }
    for (const NodeId id : OrderByData(function_).order)
      GYRE_RETURN_IF_ERROR(ResolveNode(function_.nodes[id]));
    return absl::OkStatus();
  }

  absl::Status ResolveNode(Node& node) {
    if (IsGeneric(node)) return absl::OkStatus();
    std::vector<Slot> inputs;
    for (const Endpoint& e : node.inputs) {
      const std::vector<Slot>& outputs = function_.nodes[e.node].signature.outputs;
      inputs.push_back(static_cast<size_t>(e.slot) < outputs.size() ? outputs[e.slot] : Slot());
    }
    if (node.op == nullptr) {
      node.signature.inputs = std::move(inputs);
      return absl::OkStatus();
    }
    AttachConstantType(node);
    for (const auto& [name, value] : DeduceTypeAttrs(*node.op, inputs, node.signature.outputs)) {
      if (!node.attrs.Has(name)) node.attrs.Set(name, value);
    }
    const NodeText& text = texts_[node.id];
    absl::StatusOr<NodeSignature> signature = ResolveSignature(*node.op, node.attrs);
    if (!signature.ok()) return reader_.ErrorAt(text.mark, signature.status().message());
    if (node.kind() == OpKind::kArg && !node.signature.outputs.empty())
      signature->outputs[0].is_ref = node.signature.outputs[0].is_ref;
    // What a loop hands on as a reference only the text can tell: its schema knows of none.
    const bool is_stated = text.types && text.types->size() == signature->outputs.size();
    for (size_t i = 0; IsLoop(node.kind()) && is_stated && i < text.types->size(); ++i)
      signature->outputs[i].is_ref = (*text.types)[i].is_ref;
    if (text.types && *text.types != signature->outputs) {
      return reader_.ErrorAt(text.mark, absl::StrCat("%", WriteName(node.name), " is said to be ",
                                                     TypesText(*text.types), ", but ", node.op_name,
                                                     " makes ", TypesText(signature->outputs)));
    }
    node.signature = *std::move(signature);
    return absl::OkStatus();
  }

  // The type of an op without inputs is that of the value it holds, when nothing else is said.
  static void AttachConstantType(Node& node) {
    const Tensor* value = node.attrs.Get<Tensor>("value");
    if (value == nullptr || !node.inputs.empty() || !node.signature.outputs.empty()) return;
    for (const ArgDef& output : node.op->outputs) {
      if (output.type_attr.empty() || node.attrs.Has(output.type_attr)) continue;
      node.attrs.Set(output.type_attr, value->dtype());
    }
  }

  static std::string TypesText(const std::vector<Slot>& types) {
    return absl::StrCat("(",
                        absl::StrJoin(types, ", ",
                                      [](std::string* out, const Slot& slot) {
                                        absl::StrAppend(out, WriteDType(slot.dtype),
                                                        slot.is_ref ? "&" : "");
                                      }),
                        ")");
  }

  TextReader& reader_;
  const OpLookup& ops_;
  Function function_;
  std::vector<NodeText> texts_;        // by node
  std::vector<Mention> arg_mentions_;  // of the nodes of arguments, unless these are plain
  std::vector<std::pair<std::string, Mention>> returned_;
  HashMap<std::string, NodeId> by_name_;
};

class ProgramParser {
 public:
  ProgramParser(absl::string_view text, const OpLookup& ops)
      : reader_(text), ops_(ops), builder_(ops) {}

  absl::StatusOr<std::shared_ptr<const Program>> Parse() {
    if (reader_.Accept("program")) GYRE_RETURN_IF_ERROR(ParseProperties());
    while (!reader_.AtEnd()) {
      if (reader_.Accept("gradient")) {
        GYRE_RETURN_IF_ERROR(ParseGradient());
      } else if (reader_.Sees("graph")) {
        GYRE_RETURN_IF_ERROR(ParseGraph());
      } else if (reader_.Sees("func")) {
        GYRE_RETURN_IF_ERROR(ParseFunction());
      } else {
        return reader_.Expected("'graph', 'func' or 'gradient'");
      }
    }
    return WithReferences(builder_.Build());
  }

 private:
  // A structured node hands references to functions that take them.
  static std::shared_ptr<const Program> WithReferences(std::shared_ptr<const Program> program) {
    const auto takes_references = [](const auto& named) {
      const std::vector<FunctionArg>& args = named.second->args;
      return std::any_of(args.begin(), args.end(), [](const FunctionArg& a) { return a.is_ref; });
    };
    const auto& functions = program->functions();
    if (std::none_of(functions.begin(), functions.end(), takes_references)) return program;
    ProgramBuilder builder(*program);
    builder.SetMain(WithReferences(*program, program->main()));
    for (const auto& [name, function] : functions)
      builder.SetFunction(WithReferences(*program, *function));
    return builder.Build();
  }

  static Function WithReferences(const Program& program, Function function) {
    for (Node& node : function.nodes) {
      if (!IsStructured(node.kind())) continue;
      for (const Callee& callee : CalleesOf(program, node)) {
        const Function* const called = program.FindFunction(callee.function.name);
        if (called == nullptr) continue;
        for (size_t i = 0; i < node.signature.inputs.size(); ++i) {
          const int arg = ArgOfInput(node, static_cast<int>(i));
          if (arg >= 0 && arg < static_cast<int>(called->args.size()) && called->args[arg].is_ref)
            node.signature.inputs[i].is_ref = true;
        }
      }
    }
    return function;
  }

  absl::Status ParseProperties() {
    int64_t producer = 0;
    int64_t min_consumer = 0;
    while (true) {
      if (reader_.Accept("producer")) {
        GYRE_ASSIGN_OR_RETURN(producer, ParseVersion());
      } else if (reader_.Accept("min_consumer")) {
        GYRE_ASSIGN_OR_RETURN(min_consumer, ParseVersion());
      } else if (reader_.Accept("wire")) {
        GYRE_ASSIGN_OR_RETURN(std::string bytes, reader_.Quoted("a text in quotes"));
        builder_.SetWireExtra(std::move(bytes));
      } else {
        break;
      }
    }
    builder_.SetVersions(static_cast<int32_t>(producer), static_cast<int32_t>(min_consumer));
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> ParseVersion() {
    GYRE_RETURN_IF_ERROR(reader_.Expect("="));
    const size_t mark = reader_.Mark();
    GYRE_ASSIGN_OR_RETURN(const int64_t version, ReadInt(reader_));
    if (version != static_cast<int32_t>(version))
      return reader_.ErrorAt(mark, "this version is out of range");
    return version;
  }

  absl::StatusOr<std::string> FunctionName() {
    GYRE_RETURN_IF_ERROR(reader_.Expect("@"));
    return reader_.Name("the name of a function");
  }

  absl::Status ParseGradient() {
    GYRE_ASSIGN_OR_RETURN(const std::string function, FunctionName());
    GYRE_RETURN_IF_ERROR(reader_.Expect("="));
    GYRE_ASSIGN_OR_RETURN(const std::string gradient, FunctionName());
    builder_.SetGradientFunction(function, gradient);
    return absl::OkStatus();
  }

  absl::Status ParseGraph() {
    if (std::exchange(has_graph_, true))
      return reader_.ErrorAt(reader_.Mark(), "there is a graph already");
    reader_.Accept("graph");
    std::string name;
    if (reader_.Peek() == '@') {
      GYRE_ASSIGN_OR_RETURN(name, FunctionName());
    }
    GYRE_ASSIGN_OR_RETURN(Function main, FunctionParser(reader_, ops_).Parse(std::move(name)));
    builder_.SetMain(std::move(main));
    return absl::OkStatus();
  }

  absl::Status ParseFunction() {
    const size_t mark = reader_.Mark();
    reader_.Accept("func");
    GYRE_ASSIGN_OR_RETURN(const std::string name, FunctionName());
    if (!functions_.insert(name).second) {
      return reader_.ErrorAt(mark,
                             absl::StrCat("there is a function @", WriteName(name), " already"));
    }
    GYRE_ASSIGN_OR_RETURN(Function function, FunctionParser(reader_, ops_).Parse(name));
    builder_.SetFunction(std::move(function));
    return absl::OkStatus();
  }

  TextReader reader_;
  const OpLookup& ops_;
  ProgramBuilder builder_;
  bool has_graph_ = false;
  HashSet<std::string> functions_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Program>> ParseProgram(absl::string_view text,
                                                            const OpLookup& ops) {
  return RunStage("reading", [&]() -> absl::StatusOr<std::shared_ptr<const Program>> {
    return ProgramParser(text, ops).Parse();
  });
}

}  // namespace gyre
