#include "grad/random_programs/random_program.h"

#include "absl/strings/str_cat.h"

namespace gyre::testing {
namespace {

void Collect(const Block& block, std::set<Id>& made, std::set<Id>& used) {
  made.insert(block.params.begin(), block.params.end());
  for (const Statement& statement : block.statements) {
    used.insert(statement.inputs.begin(), statement.inputs.end());
    for (const Block& inner : statement.blocks) Collect(inner, made, used);
    made.insert(statement.outputs.begin(), statement.outputs.end());
  }
  used.insert(block.results.begin(), block.results.end());
}

}  // namespace

DType DTypeFor(Type type) {
  switch (type) {
    case Type::kInt:
      return DType::kInt32;
    case Type::kBool:
      return DType::kBool;
    case Type::kScalars:
    case Type::kVectors:
    case Type::kLists:
      return DType::kVariant;
    case Type::kOther:
      return DType::kInvalid;
    default:
      return DType::kDouble;
  }
}

PartialShape ShapeFor(Type type) {
  switch (type) {
    case Type::kVector:
    case Type::kVectors:
      return Shape::Vector(kSize);
    case Type::kMatrix:
      return PartialShape({kSize, kSize});
    case Type::kRows:
      return PartialShape({-1, kSize});
    default:
      return PartialShape::Scalar();
  }
}

Type ElementOf(Type list) {
  if (list == Type::kLists) return Type::kVectors;
  return list == Type::kVectors ? Type::kVector : Type::kScalar;
}

std::vector<Id> CapturesOf(const std::vector<Block>& blocks) {
  std::set<Id> made, used;
  for (const Block& block : blocks) Collect(block, made, used);
  std::vector<Id> captures;
  for (const Id id : used) {
    if (!made.contains(id)) captures.push_back(id);
  }
  return captures;
}

std::string ParamName(const RandomProgram& program, size_t param) {
  const bool is_x = static_cast<int>(param) < program.num_xs;
  return absl::StrCat(is_x ? "x" : "data", param);
}

std::string FunctionName(int function) { return absl::StrCat("f", function); }

}  // namespace gyre::testing
