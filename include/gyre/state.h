// What has effects or holds many values: Variable, print, assert_that, and List.
//
//   gyre::Variable total("total", 0.0f);
//   total.assign_add(x);              // in program order with what else touches `total`
//   gyre::print("total is {}", total);
//   gyre::List list = gyre::List::empty(gyre::DType::kFloat, gyre::PartialShape::Scalar());
//   list = list.push_back(x);
//
// Thread rules are those of the graph.
#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/export.h"
#include "gyre/value.h"

namespace gyre {

// A named tensor of the session, which runs can change. Made in the main graph; used anywhere.
// Wherever an operand is wanted, a variable means a read at that place of the program.
class GYRE_EXPORT Variable : public internal::Expression {
 public:
  // A name that is taken gets a suffix. `shape`: which shapes it may take, by default that of the
  // initial value. FAILED_PRECONDITION in a body.
  Variable(const std::string& name, const Operand& initial,
           std::optional<PartialShape> shape = std::nullopt);

  Value read(std::source_location where = std::source_location::current()) const;
  Operation assign(const Operand& value) const;
  Operation assign_add(const Operand& value) const;
  Operation assign_sub(const Operand& value) const;

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const PartialShape& shape() const { return shape_; }
  // The resource, for ops that take one.
  const Value& handle() const { return handle_; }
  // Assigns the initial value; also part of Graph::initializer.
  const Operation& initializer() const { return initializer_; }

 private:
  Operation Update(const char* op, const Operand& value) const;

  std::string name_;
  DType dtype_ = DType::kInvalid;
  PartialShape shape_;
  Value handle_;
  Operation initializer_;
};

// A list of tensors of one dtype: a value like any other, so that "changing" it gives another list.
// May be the state of a loop. An array of fixed length is a list that was reserved.
class GYRE_EXPORT List {
 public:
  // Shapes of elements may be partly unknown.
  static List empty(DType dtype, PartialShape element_shape = PartialShape::Unknown(),
                    std::source_location where = std::source_location::current());
  // `size` elements that are yet to be set; read before, they are zeros.
  static List reserve(const Operand& size, DType dtype,
                      PartialShape element_shape = PartialShape::Unknown());
  // The rows of a tensor.
  static List from_rows(const Operand& tensor);

  Value get(const Operand& i) const;
  Value operator[](const Operand& i) const { return get(i); }
  [[nodiscard]] List set(const Operand& i, const Operand& element) const;
  [[nodiscard]] List push_back(const Operand& element) const;
  // The list without its last element, and that element.
  std::pair<List, Value> pop_back(
      std::source_location where = std::source_location::current()) const;
  Value size(std::source_location where = std::source_location::current()) const;
  // All elements, which must be of one shape, as the rows of a tensor.
  Value stack(std::source_location where = std::source_location::current()) const;
  // All elements, joined along axis 0.
  Value concat(std::source_location where = std::source_location::current()) const;
  // Elements by index, as rows.
  Value gather(const Operand& indices) const;

  DType dtype() const { return dtype_; }
  const PartialShape& element_shape() const { return element_shape_; }
  // The variant, for ops that take one.
  const Value& handle() const { return handle_; }
  List() = default;  // of no graph; good for nothing but being assigned to
  List(Value handle, DType dtype, PartialShape element_shape);

  template <typename F>
  void visit_values(F&& f) {
    f(handle_);
  }

 private:
  List With(Value handle) const { return List(std::move(handle), dtype_, element_shape_); }

  Value handle_;
  DType dtype_ = DType::kInvalid;
  PartialShape element_shape_;
};

using TensorArray = List;

// A text, with the line where it was written.
struct Text {
  std::string text;
  std::source_location where;
  Text(const char* text, std::source_location where = std::source_location::current())
      : text(text), where(where) {}
  Text(std::string text, std::source_location where = std::source_location::current())
      : text(std::move(text)), where(where) {}
};

namespace internal {
GYRE_EXPORT Operation Print(const Text& text, const std::vector<Operand>& values);
GYRE_EXPORT Operation Assert(const Operand& condition, const std::string& message,
                             const std::vector<Operand>& values);
}  // namespace internal

// Prints a line (SessionOptions::print) with the values in the place of "{}", or behind the text if
// it has none.
template <typename... Values>
Operation print(const Text& text, const Values&... values) {
  return internal::Print(text, {Operand(values, text.where)...});
}

// Fails the run, with the message and the values, unless the condition (a bool scalar) is true.
template <typename... Values>
Operation assert_that(const Operand& condition, const std::string& message,
                      const Values&... values) {
  return internal::Assert(condition, message, {Operand(values, condition.where())...});
}

}  // namespace gyre
