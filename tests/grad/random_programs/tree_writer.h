// TreeWriter: writes the statements of a RandomProgram, block by block, and knows which values the
// place that it has come to can see. Dice: what chance decides. Not thread-safe.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "grad/random_programs/random_program.h"

namespace gyre::testing {

class Dice {
 public:
  explicit Dice(uint64_t seed) : generator_(seed) {}

  // 0 … n - 1.
  int Below(int n) { return static_cast<int>(generator_() % static_cast<uint64_t>(n)); }
  int Between(int low, int high) { return low + Below(high - low + 1); }
  bool Chance(double probability) { return Real(0, 1) < probability; }
  double Real(double low, double high) {
    return low + (high - low) * static_cast<double>(generator_() >> 11) * 0x1p-53;
  }
  template <typename T>
  T OneOf(std::initializer_list<T> values) {
    return values.begin()[Below(static_cast<int>(values.size()))];
  }
  template <typename T>
  const T& OneOf(const std::vector<T>& values) {
    return values[Below(static_cast<int>(values.size()))];
  }
  Tensor Numbers(const Shape& shape, double low, double high);

 private:
  std::mt19937_64 generator_;
};

class TreeWriter {
 public:
  // Writes into `program`, from its main block's beginning.
  TreeWriter(RandomProgram& program, Dice& dice);

  Dice& dice() { return dice_; }
  RandomProgram& program() { return program_; }
  Type type(Id id) const { return program_.types[id]; }

  // The first output of a plain op, seen from then on unless it is kOther, as a Part is.
  Id Op(absl::string_view op, std::vector<Id> inputs, Type type, AttrMap attrs = {});
  Id Part(absl::string_view op, std::vector<Id> inputs, AttrMap attrs = {});
  std::vector<Id> Add(Statement statement, const std::vector<Type>& outputs);
  Id Constant(Type type, const Tensor& value);
  Id Real(double value) { return Constant(Type::kScalar, Tensor::Scalar(value)); }
  Id Int(int32_t value) { return Constant(Type::kInt, Tensor::Scalar(value)); }
  Id Ints(const std::vector<int32_t>& values);

  // The values of one type that can be seen here, the latest last.
  std::vector<Id> Visible(Type type) const;

  // A block of parameters of these types: `write` gets them and returns the results. A function
  // sees nothing else.
  using Write = std::function<std::vector<Id>(const std::vector<Id>& params)>;
  Block Inside(const std::vector<Type>& params, const Write& write);
  Block Function(const std::vector<Type>& params, const Write& write);
  std::vector<Id> AddParams(const std::vector<Type>& types);
  std::vector<Type> TypesOf(const std::vector<Id>& ids) const;

 private:
  Id NewValue(Type type, bool visible);

  RandomProgram& program_;
  Dice& dice_;
  Block* open_;
  std::vector<Id> visible_;
};

}  // namespace gyre::testing
