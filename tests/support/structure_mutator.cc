#include "support/structure_mutator.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/type_attrs.h"

namespace gyre::test {
namespace {

const std::vector<DType> kTypes = {DType::kFloat,    DType::kDouble, DType::kInt32,
                                   DType::kInt64,    DType::kBool,   DType::kString,
                                   DType::kResource, DType::kVariant};
const std::vector<int64_t> kNumbers = {-2, -1, 0, 1, 2, 3, 32, int64_t{1} << 40};

// One element more, one fewer, the first twice.
template <typename T>
void AddLists(const std::vector<T>& list, std::vector<AttrValue>& values) {
  if (list.empty()) return;
  std::vector<T> shorter(list.begin(), list.end() - 1), longer = list, first = list;
  longer.push_back(list.back());
  std::fill(first.begin(), first.end(), list.front());
  values.emplace_back(std::move(shorter));
  values.emplace_back(std::move(longer));
  values.emplace_back(std::move(first));
}

void AddShapes(const PartialShape& shape, std::vector<AttrValue>& values) {
  values.emplace_back(PartialShape::Unknown());
  values.emplace_back(PartialShape::Scalar());
  if (!shape.has_rank()) return;
  Dims dims(shape.dims().begin(), shape.dims().end());
  dims.push_back(2);
  values.emplace_back(PartialShape(dims));
  dims.pop_back();
  for (int64_t& dim : dims) {
    for (const int64_t other : {int64_t{-1}, int64_t{0}, dim + 1}) {
      const int64_t was = std::exchange(dim, other);
      values.emplace_back(PartialShape(dims));
      dim = was;
    }
  }
}

// Of a constant: of another shape, and with its first element changed.
void AddTensors(const Tensor& tensor, std::vector<AttrValue>& values) {
  if (!tensor.has_value() || !IsTrivial(tensor.dtype()) || tensor.num_elements() == 0) return;
  const auto change = [&](unsigned char byte) {
    auto copy = Tensor::Make(tensor.dtype(), tensor.shape());
    if (!copy.ok()) return;
    const auto* from = static_cast<const unsigned char*>(tensor.raw_data());
    auto* to = static_cast<unsigned char*>(copy->mutable_raw_data());
    std::copy(from, from + tensor.bytes(), to);
    to[0] ^= byte;
    values.emplace_back(*std::move(copy));
  };
  change(1);
  if (tensor.dtype() != DType::kBool) change(2);
  const auto empty = Tensor::Make(tensor.dtype(), Shape::Vector(0));
  if (empty.ok()) values.emplace_back(*empty);
}

std::string InputText(const Function& function, const Node& node, int input) {
  return absl::StrCat(node.name, " input ", input, " (", function.EndpointName(node.inputs[input]),
                      ")");
}

}  // namespace

StructureMutator::StructureMutator(std::shared_ptr<const Program> program)
    : program_(std::move(program)) {
  std::vector<const Function*> functions = {&program_->main()};
  for (const auto& [name, function] : program_->functions()) functions.push_back(function.get());
  for (const Function* function : functions) {
    for (const Node& node : function->nodes) {
      for (int slot = 0; slot < node.num_outputs(); ++slot)
        outputs_[function][node.signature.outputs[slot].dtype].push_back({node.id, slot});
    }
    for (const Node& node : function->nodes) {
      if (node.op == nullptr) continue;
      ListAttrs(*function, node);
      ListEdges(*function, node);
    }
  }
  std::stable_sort(mutations_.begin(), mutations_.end(),
                   [](const Mutation& a, const Mutation& b) { return a.change < b.change; });
  for (size_t i = 0; i < mutations_.size(); ++i) {
    if (i == 0 || mutations_[i].change != mutations_[i - 1].change) starts_.push_back(i);
  }
}

size_t StructureMutator::Draw(std::mt19937_64& random) const {
  const size_t kind = random() % starts_.size();
  const size_t end = kind + 1 < starts_.size() ? starts_[kind + 1] : mutations_.size();
  return starts_[kind] + random() % (end - starts_[kind]);
}

void StructureMutator::ListAttrs(const Function& function, const Node& node) {
  int place = 0;
  for (const AttrMap::Entry& attr : node.attrs) {
    const int choices = static_cast<int>(OtherValues(function, attr).size());
    for (int choice = 0; choice < choices; ++choice)
      mutations_.push_back({&function, node.id, Change::kAttr, place, choice});
    ++place;
  }
}

void StructureMutator::ListEdges(const Function& function, const Node& node) {
  const auto list = [&](Change change, int place, int choice) {
    mutations_.push_back({&function, node.id, change, place, choice});
  };
  const int num_inputs = static_cast<int>(node.inputs.size());
  for (int place = 0; place < num_inputs; ++place) {
    const Endpoint from = node.inputs[place];
    const auto& outputs = function.node(from.node).signature.outputs;
    if (static_cast<size_t>(from.slot) >= outputs.size()) continue;
    const auto& others = outputs_.at(&function).at(outputs[from.slot].dtype);
    for (int choice = 0; choice < static_cast<int>(others.size()); ++choice) {
      if (others[choice] != from) list(Change::kRewire, place, choice);
    }
    for (int other = place + 1; other < num_inputs; ++other) {
      if (node.inputs[other] != from) list(Change::kSwap, place, other);
    }
    std::set<std::string> frames;
    for (const Node& enter : function.nodes) {
      if (enter.op_name != "Enter") continue;
      if (!frames.insert(enter.attrs.GetOr<std::string>("frame_name", "")).second) continue;
      list(Change::kEnterFrame, place, enter.id);
      list(Change::kEnterConstant, place, enter.id);
    }
    list(Change::kExitFrame, place, 0);
  }
  for (int place = 0; place < static_cast<int>(node.control_inputs.size()); ++place)
    list(Change::kDropControl, place, 0);
  for (const Node& other : function.nodes) {
    if (other.id != node.id) list(Change::kAddControl, 0, other.id);
  }
}

// What the attribute might be instead: of the same kind, taken from a list, from its neighbourhood,
// and from other nodes.
std::vector<AttrValue> StructureMutator::OtherValues(const Function& function,
                                                     const AttrMap::Entry& attr) const {
  const AttrValue& value = attr.second;
  std::vector<AttrValue> values;
  if (const auto* flag = std::get_if<bool>(&value)) values.emplace_back(!*flag);
  if (std::holds_alternative<int64_t>(value)) values.assign(kNumbers.begin(), kNumbers.end());
  if (std::holds_alternative<DType>(value)) values.assign(kTypes.begin(), kTypes.end());
  if (const auto* shape = std::get_if<PartialShape>(&value)) AddShapes(*shape, values);
  if (const auto* tensor = std::get_if<Tensor>(&value)) AddTensors(*tensor, values);
  if (const auto* list = std::get_if<std::vector<DType>>(&value)) AddLists(*list, values);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) AddLists(*list, values);
  if (const auto* list = std::get_if<std::vector<PartialShape>>(&value)) AddLists(*list, values);
  if (const auto* list = std::get_if<std::vector<FunctionRef>>(&value)) AddLists(*list, values);
  if (std::holds_alternative<FunctionRef>(value)) {
    for (const auto& [name, other] : program_->functions())
      values.emplace_back(FunctionRef{name, nullptr});
  }
  if (std::holds_alternative<std::string>(value)) {
    std::set<std::string> texts = {"", "another"};
    for (const Node& node : function.nodes) {
      if (const auto* text = node.attrs.Get<std::string>(attr.first)) texts.insert(*text);
    }
    values.assign(texts.begin(), texts.end());
  }
  std::erase_if(values, [&](const AttrValue& other) { return AttrEquals(other, value); });
  return values;
}

StructureMutant StructureMutator::Make(size_t i) const {
  const Mutation& mutation = mutations_[i];
  Function function = *mutation.function;
  StructureMutant mutant;
  mutant.change = absl::StrCat(function.name.empty() ? "" : absl::StrCat(function.name, ": "),
                               Apply(mutation, function));
  for (Node& node : function.nodes) {
    if (node.op == nullptr || IsGeneric(node)) continue;
    AttrMap attrs = node.attrs;
    absl::StatusOr<NodeSignature> signature = ResolveSignature(*node.op, attrs);
    if (!signature.ok() || signature->inputs.size() != node.inputs.size()) return mutant;
    for (size_t k = 0; k < signature->outputs.size() && k < node.signature.outputs.size(); ++k)
      signature->outputs[k].is_ref |= node.signature.outputs[k].is_ref;
    for (size_t k = 0; k < signature->inputs.size() && k < node.signature.inputs.size(); ++k)
      signature->inputs[k].is_ref |= node.signature.inputs[k].is_ref;
    node.signature = *std::move(signature);
  }
  ProgramBuilder builder(*program_);
  if (mutation.function == &program_->main()) {
    builder.SetMain(std::move(function));
  } else {
    builder.SetFunction(std::move(function));
  }
  mutant.program = builder.Build();
  return mutant;
}

std::string StructureMutator::Apply(const Mutation& mutation, Function& function) const {
  Node& node = function.nodes[mutation.node];
  const int place = mutation.place;
  const int choice = mutation.choice;
  switch (mutation.change) {
    case Change::kAttr: {
      const AttrMap::Entry attr = *std::next(node.attrs.begin(), place);
      const AttrValue value = OtherValues(*mutation.function, attr)[choice];
      node.attrs.Set(attr.first, value);
      return absl::StrCat(node.name, " ", attr.first, "=", AttrToString(attr.second), " becomes ",
                          AttrToString(value));
    }
    case Change::kRewire: {
      const Endpoint from = node.inputs[place];
      const DType dtype = function.node(from.node).signature.outputs[from.slot].dtype;
      const Endpoint to = outputs_.at(mutation.function).at(dtype)[choice];
      const std::string what = InputText(function, node, place);
      node.inputs[place] = to;
      return absl::StrCat(what, " comes from ", function.EndpointName(to));
    }
    case Change::kSwap:
      std::swap(node.inputs[place], node.inputs[choice]);
      return absl::StrCat(node.name, " inputs ", place, " and ", choice, " change places");
    case Change::kDropControl: {
      const std::string source = function.node(node.control_inputs[place]).name;
      node.control_inputs.erase(node.control_inputs.begin() + place);
      return absl::StrCat(node.name, " no longer waits for ", source);
    }
    case Change::kAddControl:
      node.control_inputs.push_back(choice);
      return absl::StrCat(node.name, " waits for ", function.node(choice).name);
    case Change::kEnterFrame:
    case Change::kEnterConstant: {
      const std::string what = InputText(function, node, place);
      Node enter = function.node(choice);
      const bool flip = mutation.change == Change::kEnterConstant;
      const bool constant = enter.attrs.GetOr<bool>("is_constant", false) != flip;
      enter.attrs.Set("is_constant", constant);
      enter.control_inputs.clear();
      InsertBefore(function, node.id, place, std::move(enter));
      return absl::StrCat(what, " enters the frame of ", function.node(choice).name,
                          constant ? " as a constant" : "");
    }
    case Change::kExitFrame: {
      const std::string what = InputText(function, node, place);
      Node exit;
      exit.op_name = "Exit";
      exit.op = program_->ops().Find("Exit");
      InsertBefore(function, node.id, place, std::move(exit));
      return absl::StrCat(what, " goes through an Exit");
    }
  }
  return "";
}

void StructureMutator::InsertBefore(Function& function, NodeId node, int input, Node inserted) {
  const Endpoint from = function.node(node).inputs[input];
  inserted.id = static_cast<NodeId>(function.nodes.size());
  inserted.name = "inserted";
  inserted.inputs = {from};
  inserted.attrs.Set("T", function.node(from.node).signature.outputs[from.slot].dtype);
  inserted.signature = {};
  function.nodes[node].inputs[input] = {inserted.id, 0};
  function.nodes.push_back(std::move(inserted));
}

}  // namespace gyre::test
