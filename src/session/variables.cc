#include "session/variables.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre {
namespace {

// Adds a variable. One that is named twice may take the shapes that both places allow; where they
// contradict each other, those of the first.
void Add(ProgramVariable variable, std::map<std::string, ProgramVariable>& variables) {
  std::string name = variable.container.empty()
                         ? variable.name
                         : absl::StrCat(variable.container, "/", variable.name);
  const auto [it, is_new] = variables.emplace(std::move(name), variable);
  if (is_new) return;
  absl::StatusOr<PartialShape> both = it->second.shape.Intersect(variable.shape);
  if (both.ok()) it->second.shape = *std::move(both);
}

void AddOne(const Node& node, std::map<std::string, ProgramVariable>& variables) {
  const ResourceName where(node);
  if (where.anonymous) return;
  Add({where.container, where.name, node.attrs.GetOr<DType>("dtype", DType::kInvalid),
       node.attrs.GetOr<PartialShape>("shape", PartialShape::Unknown())},
      variables);
}

// Of a node that makes several handles; lists of unequal lengths are for its kernel to refuse.
void AddMany(const Node& node, std::map<std::string, ProgramVariable>& variables) {
  const auto containers = node.attrs.GetOr<std::vector<std::string>>("containers", {});
  const auto names = node.attrs.GetOr<std::vector<std::string>>("shared_names", {});
  const auto dtypes = node.attrs.GetOr<std::vector<DType>>("dtypes", {});
  const auto shapes = node.attrs.GetOr<std::vector<PartialShape>>("shapes", {});
  for (size_t i = 0; i < names.size(); ++i) {
    if (i >= containers.size() || i >= dtypes.size() || i >= shapes.size()) return;
    Add({containers[i], names[i].empty() ? absl::StrCat(node.name, "_", i) : names[i], dtypes[i],
         shapes[i]},
        variables);
  }
}

void AddAll(const Function& function, std::map<std::string, ProgramVariable>& variables) {
  for (const Node& node : function.nodes) {
    if (node.op == nullptr || !node.op->traits.makes_variable) continue;
    if (node.attrs.Has("shared_names")) {
      AddMany(node, variables);
    } else {
      AddOne(node, variables);
    }
  }
}

std::vector<VariableObject*> Pointers(absl::Span<const RefPtr<VariableObject>> variables) {
  std::vector<VariableObject*> pointers;
  for (const RefPtr<VariableObject>& variable : variables) pointers.push_back(variable.get());
  return pointers;
}

}  // namespace

std::map<std::string, ProgramVariable> ProgramVariables(const Program& program) {
  std::map<std::string, ProgramVariable> variables;
  AddAll(program.main(), variables);
  for (const auto& [name, function] : program.functions()) AddAll(*function, variables);
  return variables;
}

absl::StatusOr<ProgramVariable> FindProgramVariable(
    const std::map<std::string, ProgramVariable>& known, const std::string& name) {
  const auto it = known.find(name);
  if (it != known.end()) return it->second;
  return absl::NotFoundError(
      absl::StrCat("there is no variable called '", name, "' in the program"));
}

absl::Status CheckValue(const std::string& name, DType dtype, const PartialShape& shape,
                        const Tensor& value) {
  if (!value.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("the value for variable '", name, "' is empty"));
  }
  if (value.dtype() == dtype && shape.Allows(value.shape())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("variable '", name, "' takes ", DTypeName(dtype), shape.ToString(), ", not ",
                   DTypeName(value.dtype()), value.shape().ToString()));
}

absl::StatusOr<std::vector<RefPtr<VariableObject>>> FindVariables(
    const Program& program, ResourceStore& resources, absl::Span<const std::string> names) {
  const std::map<std::string, ProgramVariable> known = ProgramVariables(program);
  std::vector<RefPtr<VariableObject>> found;
  for (const std::string& name : names) {
    GYRE_ASSIGN_OR_RETURN(const ProgramVariable wanted, FindProgramVariable(known, name));
    found.push_back(resources.LookupOrCreate<VariableObject>(wanted.container, wanted.name, [&] {
      return MakeRef<VariableObject>(wanted.name, wanted.dtype, wanted.shape);
    }));
    if (found.back()->dtype() != wanted.dtype) {
      return absl::InvalidArgumentError(
          absl::StrCat("variable '", name, "' is of type ", DTypeName(found.back()->dtype()),
                       " in this session, not ", DTypeName(wanted.dtype)));
    }
  }
  return found;
}

std::vector<Tensor> ReadTogether(absl::Span<const RefPtr<VariableObject>> variables) {
  const std::vector<VariableObject*> pointers = Pointers(variables);
  const VariableLock lock(absl::MakeConstSpan(pointers));
  std::vector<Tensor> values;
  for (VariableObject* variable : pointers) values.push_back(lock.value(*variable));
  return values;
}

absl::Status AssignTogether(absl::Span<const RefPtr<VariableObject>> variables,
                            absl::Span<const std::pair<std::string, Tensor>> values) {
  for (size_t i = 0; i < variables.size(); ++i) {
    const auto& [name, value] = values[i];
    const VariableObject& variable = *variables[i];
    GYRE_RETURN_IF_ERROR(CheckValue(name, variable.dtype(), variable.shape(), value));
  }
  const std::vector<VariableObject*> pointers = Pointers(variables);
  std::vector<Tensor> old;       // dropped after the lock: dropping may destroy other variables
  old.reserve(pointers.size());  // from here on nothing fails: all of them change
  const VariableLock lock(absl::MakeConstSpan(pointers));
  for (size_t i = 0; i < pointers.size(); ++i) {
    Tensor& value = lock.value(*pointers[i]);
    old.push_back(std::move(value));
    value = values[i].second;
  }
  return absl::OkStatus();
}

}  // namespace gyre
