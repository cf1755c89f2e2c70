// FunctionCall: one call of a function of ops/functions/registry.h. What the generated functions of
// gyre/functions.h are made of.
//
//   return FunctionCall("xlogy", x.where()).In(x).In(y).One();
//
// Arguments come in the order of the signature. Numbers among tensors of one letter take the dtype
// of the Values there. Mistakes are thrown as Errors. Used once, by one thread.
#pragma once

#include <concepts>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gyre/math.h"
#include "gyre/value.h"
#include "ops/functions/registry.h"

namespace gyre::internal {

class FunctionCall {
 public:
  FunctionCall(absl::string_view function, const std::source_location& where);

  FunctionCall& In(const Operand& operand);
  FunctionCall& In(const std::optional<Operand>& operand);
  FunctionCall& In(const Axes& axes);
  template <typename T>
    requires std::same_as<T, bool> || std::same_as<T, int64_t> || std::same_as<T, double> ||
             std::same_as<T, DType> || std::same_as<T, std::string> ||
             std::same_as<T, std::vector<int64_t>>
  FunctionCall& In(const T& plain) {
    arguments_.push_back({.plain = PlainValue(plain)});
    return *this;
  }

  // Nothing: none.
  FunctionCall& In(const std::optional<int64_t>& plain) {
    arguments_.push_back({.plain = plain ? PlainValue(*plain) : PlainValue()});
    return *this;
  }
  FunctionCall& In(const std::optional<DType>& plain) {
    arguments_.push_back({.plain = plain ? PlainValue(*plain) : PlainValue()});
    return *this;
  }

  Value One() { return All()[0]; }
  std::vector<Value> All();

 private:
  struct Given {
    std::optional<Operand> operand;
    PlainValue plain;
    bool is_axes = false;
  };

  DType TypeOfGroup(char group) const;

  const PublicFunction& function_;
  const std::source_location where_;
  std::vector<Given> arguments_;
};

}  // namespace gyre::internal
