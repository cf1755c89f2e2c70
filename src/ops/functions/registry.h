// FunctionRegistry: public functions that are more than an op with its inputs (those have their
// names in the registration of the op, OpRegistry::PublicNames): how an op is called, or a formula.
// C++ has `gyre::erfcinv` from here, Python `gyre.math.erfcinv`, with their types and
// documentation.
//
//   functions.Add({.signature = "(x: tensor)",
//                  .doc = "The inverse of erfc.",
//                  .api = {"math.erfcinv"},
//                  .formula = InverseErfc});
//
// A signature says what a function takes, in the words of Python:
//
//   (x: T, y: T, axis: axes = none, offset: T? = none, rate: float = 0.1, out/dtype: type) -> a, b
//
// Parameters are tensors (`tensor`; a capital letter: tensors of one dtype, which numbers take),
// `axes` (an axis, several, or none: all), `shape` (a vector of integers, or its elements), or
// `bool`, `int`, `ints` (one, or several), `float`, `type`, `string`. With `?` a tensor or a shape
// may be None, and so may all that have `none` as default. `out/dtype`: the attribute of the op
// that the parameter gives. Results have names where there are several.
//
// Filled once; read from any thread. A mistake in a block is kept in `status()`, which a test
// checks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "ir/op_def.h"
#include "ops/functions/formula.h"

namespace gyre {

struct Parameter {
  enum class Kind { kTensor, kAxes, kShape, kBool, kInt, kInts, kFloat, kType, kString };

  std::string name;
  std::string attr;  // of an op; the same as the name where nothing else is said
  Kind kind = Kind::kTensor;
  char group = 0;                                // tensors with the same letter have one dtype
  bool is_optional = false;                      // a tensor or shape that may be None
  std::optional<PlainValue> default_value = {};  // of a tensor: a number; monostate: none
};

struct PublicFunction {
  std::vector<std::string> names;  // its own first ("math.erfcinv"), then others that it has
  std::string doc;                 // one sentence, and perhaps more
  std::vector<Parameter> parameters;
  std::vector<std::string> results;  // empty: one
  std::string op;                    // that it calls and does no more; "": none
  FormulaFn formula;

  // What it is called in C++: the last part of its own name.
  std::string name() const { return names[0].substr(names[0].rfind('.') + 1); }
};

// One registration block: of a formula, or of an op, whose inputs are tensors and axes in the order
// of the signature, and whose attributes are all others.
struct FunctionRegistration {
  absl::string_view signature;
  absl::string_view doc = {};  // of an op: its own
  std::vector<absl::string_view> api;
  absl::string_view op = {};
  FormulaFn formula = nullptr;
};

class GYRE_INTERNAL_EXPORT FunctionRegistry {
 public:
  void Add(FunctionRegistration registration);

  // In order of name.
  std::vector<const PublicFunction*> All() const;
  // By what it is called in C++; null: there is none.
  const PublicFunction* Find(absl::string_view name) const;
  const absl::Status& status() const { return status_; }

 private:
  std::map<std::string, PublicFunction, std::less<>> functions_;
  absl::Status status_;
};

// Those of this process. Built on first use; lives for ever.
GYRE_INTERNAL_EXPORT const FunctionRegistry& Functions();

// Which of the inputs of `op` each of so many operands is for. (One of the inputs may be a list.)
GYRE_INTERNAL_EXPORT std::vector<int> InputOfOperands(const OpDef& op, size_t operands);

}  // namespace gyre
