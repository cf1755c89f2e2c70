// Value: an output of a graph that is being built. Expressions on Values add nodes to their graph.
//
//   gyre::Graph graph;
//   gyre::GraphScope in(graph);
//   gyre::Value x = gyre::placeholder(gyre::DType::kFloat, {-1, 3});
//   gyre::Value y = gyre::tanh(x * 2 + 1)[0];
//
// A Value is a cheap handle; the graph owns what it stands for. Values of one graph, and the graph,
// are used from one thread at a time. What goes wrong while a graph is built is thrown as an Error,
// which names the line of the program that it went wrong at.
#pragma once

#include <complex>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "gyre/core/dtype.h"
#include "gyre/core/export.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"

namespace gyre {

class Operand;
class Value;
class Variable;

// "INVALID_ARGUMENT", …
inline std::string to_string(absl::StatusCode code) { return absl::StatusCodeToString(code); }

// The exception of the C++ API. Holds a status of the core: its code says what kind of mistake it
// is.
class GYRE_EXPORT Error : public std::runtime_error {
 public:
  // Requirement: `status` is an error.
  explicit Error(absl::Status status);
  const absl::Status& status() const { return status_; }
  absl::StatusCode code() const { return status_.code(); }

 private:
  absl::Status status_;
};

namespace internal {

class Scope;  // the main graph or the body of a function, as it is being built

// A constant in the graph that is current (GraphScope).
GYRE_EXPORT Value MakeConstant(const Tensor& value, std::source_location where);

// Where the operators are: found for expressions in which a Value, Variable or Operand occurs.
struct Expression {
  friend Value operator+(const Operand& a, const Operand& b);
  friend Value operator-(const Operand& a, const Operand& b);
  friend Value operator*(const Operand& a, const Operand& b);
  // Of integers: cuts off towards zero, as in C++.
  friend Value operator/(const Operand& a, const Operand& b);
  friend Value operator%(const Operand& a, const Operand& b);
  friend Value operator-(const Operand& a);
  friend Value operator<(const Operand& a, const Operand& b);
  friend Value operator<=(const Operand& a, const Operand& b);
  friend Value operator>(const Operand& a, const Operand& b);
  friend Value operator>=(const Operand& a, const Operand& b);
  // Logical, element by element; both sides are computed. (`==` is not an operator: see equal.)
  friend Value operator!(const Operand& a);
  friend Value operator&&(const Operand& a, const Operand& b);
  friend Value operator||(const Operand& a, const Operand& b);
};

}  // namespace internal

// A node: what is run for its effects, or waited for.
class GYRE_EXPORT Operation {
 public:
  Operation() = default;
  Operation(const Value& value);  // the one that computes it
  std::string name() const;

  // For Gyre's own use.
  Operation(std::shared_ptr<internal::Scope> scope, int32_t node);
  const std::shared_ptr<internal::Scope>& scope() const { return scope_; }
  int32_t node() const { return node_; }

 private:
  std::shared_ptr<internal::Scope> scope_;
  int32_t node_ = -1;
};

class GYRE_EXPORT Value : public internal::Expression {
 public:
  Value() = default;  // of no graph; good for nothing but being assigned to
  // Constants of the graph that is current (GraphScope), with the type of the C++ value.
  template <internal::Number T>
  Value(T number, std::source_location where = std::source_location::current())
      : Value(internal::MakeConstant(Tensor::Scalar(internal::ToElement(number)), where)) {}
  Value(const Tensor& tensor, std::source_location where = std::source_location::current())
      : Value(internal::MakeConstant(tensor, where)) {}

  bool has_value() const { return scope_ != nullptr; }
  DType dtype() const;
  // As far as it is known while the graph is built. In the body of a loop: true of all iterations.
  PartialShape shape() const;
  // "node:slot", or "node" where that says it; what Session::Run takes, for values of the main
  // graph.
  std::string name() const;
  Operation operation() const { return {scope_, node_}; }

  // Row i along axis 0; negative: from the end.
  Value operator[](const Operand& i) const;

  // For Gyre's own use.
  Value(std::shared_ptr<internal::Scope> scope, int32_t node, int32_t slot);
  const std::shared_ptr<internal::Scope>& scope() const { return scope_; }
  int32_t node() const { return node_; }
  int32_t slot() const { return slot_; }

 private:
  std::shared_ptr<internal::Scope> scope_;
  int32_t node_ = -1;
  int32_t slot_ = 0;
};

// What functions of this API take: a Value, or something that turns into one (a number, a tensor, a
// variable, which is read), with the line where it was written. A number or tensor becomes a
// constant of the dtype that the op needs it to have: that of the other operands, where they must
// agree. INVALID_ARGUMENT if its value changes thereby (0.5 as an integer).
class GYRE_EXPORT Operand : public internal::Expression {
 public:
  Operand(Value value, std::source_location where = std::source_location::current());
  Operand(const Variable& variable, std::source_location where = std::source_location::current());
  Operand(Tensor tensor, std::source_location where = std::source_location::current());
  Operand(const char* text, std::source_location where = std::source_location::current());
  Operand(std::string text, std::source_location where = std::source_location::current());
  template <internal::Number T>
  Operand(T number, std::source_location where = std::source_location::current())
      : Operand(Tensor::Scalar(internal::ToElement(number)), where) {}
  // Also the empty vector, {}.
  Operand(std::initializer_list<int32_t> numbers,
          std::source_location where = std::source_location::current())
      : Operand(internal::ToVector(numbers.begin(), numbers.size()), where) {}
  template <internal::Number T>
  Operand(std::initializer_list<T> numbers,
          std::source_location where = std::source_location::current())
      : Operand(internal::ToVector(numbers.begin(), numbers.size()), where) {}
  template <internal::Number T>
    requires(!std::is_same_v<T, bool>)
  Operand(const std::vector<T>& numbers,
          std::source_location where = std::source_location::current())
      : Operand(internal::ToVector(numbers.data(), numbers.size()), where) {}

  bool is_literal() const { return literal_.has_value(); }
  // Requirement: !is_literal().
  const Value& value() const { return value_; }
  // Requirement: is_literal().
  const Tensor& literal() const { return literal_; }
  const std::source_location& where() const { return where_; }

 private:
  Value value_;
  Tensor literal_;
  std::source_location where_;
};

// Several operands that an op takes as one list.
class GYRE_EXPORT OperandList {
 public:
  OperandList(std::initializer_list<Operand> list,
              std::source_location where = std::source_location::current())
      : list_(list), where_(where) {}
  OperandList(const std::vector<Value>& values,
              std::source_location where = std::source_location::current());

  const std::vector<Operand>& list() const { return list_; }
  const std::source_location& where() const { return where_; }

 private:
  std::vector<Operand> list_;
  std::source_location where_;
};

// The value of an operand by itself, as a constant of its own type if it is a literal.
GYRE_EXPORT Value to_value(const Operand& operand);

}  // namespace gyre
