#include "grad/random_programs/tree_writer.h"

#include <utility>

namespace gyre::testing {

Tensor Dice::Numbers(const Shape& shape, double low, double high) {
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (double& value : values) value = Real(low, high);
  return Tensor::FromValues<double>(values, shape);
}

TreeWriter::TreeWriter(RandomProgram& program, Dice& dice)
    : program_(program), dice_(dice), open_(&program.main) {}

Id TreeWriter::NewValue(Type type, bool visible) {
  const Id id = static_cast<Id>(program_.types.size());
  program_.types.push_back(type);
  if (visible) visible_.push_back(id);
  return id;
}

Id TreeWriter::Op(absl::string_view op, std::vector<Id> inputs, Type type, AttrMap attrs) {
  return Add({.op = std::string(op), .attrs = std::move(attrs), .inputs = std::move(inputs)},
             {type})[0];
}

Id TreeWriter::Part(absl::string_view op, std::vector<Id> inputs, AttrMap attrs) {
  const Id id = NewValue(Type::kOther, /*visible=*/false);
  open_->statements.push_back({.op = std::string(op),
                               .attrs = std::move(attrs),
                               .inputs = std::move(inputs),
                               .outputs = {id}});
  return id;
}

std::vector<Id> TreeWriter::Add(Statement statement, const std::vector<Type>& outputs) {
  for (const Type type : outputs) statement.outputs.push_back(NewValue(type, type != Type::kOther));
  open_->statements.push_back(std::move(statement));
  return open_->statements.back().outputs;
}

Id TreeWriter::Constant(Type type, const Tensor& value) {
  const Id id = Part("Const", {}, {{"dtype", value.dtype()}, {"value", value}});
  program_.types[id] = type;
  return id;
}

Id TreeWriter::Ints(const std::vector<int32_t>& values) {
  const Shape shape = Shape::Vector(static_cast<int64_t>(values.size()));
  return Constant(Type::kOther, Tensor::FromValues<int32_t>(values, shape));
}

std::vector<Id> TreeWriter::Visible(Type type) const {
  std::vector<Id> visible;
  for (const Id id : visible_) {
    if (program_.types[id] == type) visible.push_back(id);
  }
  return visible;
}

std::vector<Id> TreeWriter::AddParams(const std::vector<Type>& types) {
  for (const Type type : types) open_->params.push_back(NewValue(type, /*visible=*/true));
  return open_->params;
}

std::vector<Type> TreeWriter::TypesOf(const std::vector<Id>& ids) const {
  std::vector<Type> types;
  for (const Id id : ids) types.push_back(type(id));
  return types;
}

Block TreeWriter::Inside(const std::vector<Type>& params, const Write& write) {
  const size_t num_visible = visible_.size();
  Block block;
  Block* const outer = std::exchange(open_, &block);
  block.results = write(AddParams(params));
  open_ = outer;
  visible_.resize(num_visible);
  return block;
}

Block TreeWriter::Function(const std::vector<Type>& params, const Write& write) {
  std::vector<Id> outer = std::exchange(visible_, {});
  Block block = Inside(params, write);
  visible_ = std::move(outer);
  return block;
}

}  // namespace gyre::testing
