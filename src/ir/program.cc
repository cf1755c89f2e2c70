#include "ir/program.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre {
namespace {

uint64_t NextVersion() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

absl::StatusOr<AttrValue> Substitute(const AttrValue& value, const AttrMap& attrs);

absl::StatusOr<FunctionRef> SubstituteRef(const FunctionRef& ref, const AttrMap& attrs) {
  if (ref.attrs == nullptr) return ref;
  AttrMap inner;
  for (const auto& [name, value] : *ref.attrs) {
    GYRE_ASSIGN_OR_RETURN(AttrValue replaced, Substitute(value, attrs));
    inner.Set(name, std::move(replaced));
  }
  return FunctionRef{ref.name, std::make_shared<const AttrMap>(std::move(inner))};
}

absl::StatusOr<AttrValue> Substitute(const AttrValue& value, const AttrMap& attrs) {
  if (const auto* placeholder = std::get_if<AttrPlaceholder>(&value)) {
    const AttrValue* replacement = attrs.Find(placeholder->name);
    if (replacement == nullptr || std::holds_alternative<AttrPlaceholder>(*replacement)) {
      return absl::InvalidArgumentError(
          absl::StrCat("no value is given for attribute ", placeholder->name));
    }
    return *replacement;
  }
  if (const auto* ref = std::get_if<FunctionRef>(&value)) {
    GYRE_ASSIGN_OR_RETURN(FunctionRef replaced, SubstituteRef(*ref, attrs));
    return AttrValue(std::move(replaced));
  }
  return value;
}

}  // namespace

const Tensor* ConstantValue(const Node& node) {
  if (node.kind() != OpKind::kConst || !node.control_inputs.empty()) return nullptr;
  const Tensor* value = node.attrs.Get<Tensor>("value");
  return value != nullptr && value->has_value() ? value : nullptr;
}

const Node* Function::FindNode(absl::string_view node_name) const {
  for (const Node& node : nodes) {
    if (node.name == node_name) return &node;
  }
  return nullptr;
}

std::string Function::EndpointName(Endpoint e) const {
  if (e.node < 0 || e.node >= static_cast<NodeId>(nodes.size())) return "(nothing)";
  return e.slot == 0 ? nodes[e.node].name : absl::StrCat(nodes[e.node].name, ":", e.slot);
}

const Function* Program::FindFunction(absl::string_view name) const {
  const auto it = functions_.find(std::string(name));
  return it == functions_.end() ? nullptr : it->second.get();
}

ProgramBuilder::ProgramBuilder(const OpLookup& ops) : program_(new Program) {
  program_->ops_ = &ops;
  program_->main_ = std::make_shared<const Function>();
}

ProgramBuilder::ProgramBuilder(const Program& base) : program_(new Program(base)) {}

ProgramBuilder& ProgramBuilder::SetMain(Function main) {
  program_->main_ = std::make_shared<const Function>(std::move(main));
  return *this;
}

ProgramBuilder& ProgramBuilder::SetFunction(Function function) {
  std::string name = function.name;
  program_->functions_[std::move(name)] = std::make_shared<const Function>(std::move(function));
  return *this;
}

ProgramBuilder& ProgramBuilder::EraseFunction(absl::string_view name) {
  program_->functions_.erase(std::string(name));
  return *this;
}

ProgramBuilder& ProgramBuilder::SetGradientFunction(absl::string_view function,
                                                    absl::string_view gradient) {
  program_->gradient_functions_[std::string(function)] = std::string(gradient);
  return *this;
}

ProgramBuilder& ProgramBuilder::SetVersions(int32_t producer, int32_t min_consumer) {
  program_->producer_ = producer;
  program_->min_consumer_ = min_consumer;
  return *this;
}

ProgramBuilder& ProgramBuilder::SetWireExtra(std::string bytes) {
  program_->wire_extra_ = std::move(bytes);
  return *this;
}

std::shared_ptr<const Program> ProgramBuilder::Build() {
  program_->version_ = NextVersion();
  auto copy = std::make_unique<Program>(*program_);  // the builder may go on
  return std::shared_ptr<const Program>(std::exchange(program_, std::move(copy)));
}

absl::StatusOr<Function> Instantiate(const Function& function, const AttrMap& attrs) {
  Function instance = function;
  for (Node& node : instance.nodes) {
    AttrMap replaced;
    for (const auto& [name, value] : node.attrs) {
      absl::StatusOr<AttrValue> result = Substitute(value, attrs);
      if (!result.ok())
        return Annotate(result.status(),
                        absl::StrCat("function ", function.name, ", node ", node.name));
      replaced.Set(name, *std::move(result));
    }
    node.attrs = std::move(replaced);
    if (node.op == nullptr) continue;
    absl::StatusOr<NodeSignature> signature = ResolveSignature(*node.op, node.attrs);
    if (!signature.ok()) {
      return Annotate(signature.status(),
                      absl::StrCat("function ", function.name, ", node ", node.name));
    }
    node.signature = *std::move(signature);
  }
  for (size_t i = 0; i < instance.args.size(); ++i) {
    const Node& arg = instance.nodes[instance.arg_nodes[i]];
    if (arg.num_outputs() == 1) instance.args[i].dtype = arg.signature.outputs[0].dtype;
  }
  for (FunctionResult& result : instance.results) {
    const Node& producer = instance.nodes[result.value.node];
    if (result.value.slot >= producer.num_outputs()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "function ", function.name, ": result ", result.name, " is output ", result.value.slot,
          " of node ", producer.name, ", which has ", producer.num_outputs()));
    }
    result.dtype = producer.signature.outputs[result.value.slot].dtype;
  }
  return instance;
}

}  // namespace gyre
