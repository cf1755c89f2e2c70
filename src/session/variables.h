// The variables that a program names, and what they hold in a session. Stateless; any thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/program.h"
#include "ops/resource_store.h"
#include "ops/state/variable.h"

namespace gyre {

// Where a session keeps a variable, and what it may hold.
struct ProgramVariable {
  std::string container;
  std::string name;
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

// By what people call them: "name", or "container/name". Those that every execution makes anew are
// left out: nobody can find them again.
std::map<std::string, ProgramVariable> ProgramVariables(const Program& program);

// NOT_FOUND for a name that the program does not have.
absl::StatusOr<ProgramVariable> FindProgramVariable(
    const std::map<std::string, ProgramVariable>& known, const std::string& name);

// INVALID_ARGUMENT, naming the variable, where it may not take the value.
absl::Status CheckValue(const std::string& name, DType dtype, const PartialShape& shape,
                        const Tensor& value);

// The session's variables of these names, made, but uninitialised, where no run has made them yet.
// NOT_FOUND for a name that the program does not have, INVALID_ARGUMENT where the session has a
// variable of another type under it.
absl::StatusOr<std::vector<RefPtr<VariableObject>>> FindVariables(
    const Program& program, ResourceStore& resources, absl::Span<const std::string> names);

// What the variables hold at one moment.
std::vector<Tensor> ReadTogether(absl::Span<const RefPtr<VariableObject>> variables);

// Changes all at one moment, or none. INVALID_ARGUMENT: see Session::AssignVariables. Requirement,
// not checked: as many values as variables.
absl::Status AssignTogether(absl::Span<const RefPtr<VariableObject>> variables,
                            absl::Span<const std::pair<std::string, Tensor>> values);

}  // namespace gyre
