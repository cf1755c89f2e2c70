// GradientTransform: what one run of Gradients knows of its program, and the functions that it has
// made.
//
// Not thread-safe; lives as long as the call.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/value_kinds.h"
#include "grad/dependence.h"
#include "ir/program.h"
#include "ir/shape_inference.h"
#include "passes/edit/unique_names.h"

namespace gyre::grad {

// How the gradient of an argument comes out of a function; the number says in how many results.
enum class Form : uint8_t {
  kNone = 0,  // nothing depends on the argument
  kDense = 1,
  kSlices = 2,  // values, indices
};
inline int NumResults(Form form) { return static_cast<int>(form); }

// A function, ready for its gradient to be taken.
//
//   forward                    the function, with more endpoints to be read
//   backward(adjoints, seeds, saved) -> gradients
//
// `adjoints`: of the results that have some. `seeds`: sums so far of the arguments that ask for it.
// `saved`: these values of `forward`.
struct FunctionGradient {
  Function forward;
  std::vector<Endpoint> saved;
  KindRow saved_kinds;
  Function backward;
  std::vector<Form> forms;  // by wanted argument
};

// What is asked of a function. All by argument or by result.
struct FunctionRequest {
  std::vector<bool> results;  // have adjoints
  std::vector<bool> wanted;   // arguments whose gradient is of use
  std::vector<bool> seeded;   // … and comes as a sum so far that is to be changed
  std::vector<bool> dense;    // … and always comes as one tensor, if need be of zeros
  KindRow arg_kinds;
  std::vector<DType> arg_types;  // of adjoints
  std::vector<DType> result_types;

  friend bool operator<(const FunctionRequest& a, const FunctionRequest& b);
};

// A recursive function differentiated: forward_name(arguments) -> results, tape;
// backward_name(tape, adjoints, seeds) -> gradients, all of them dense.
struct RecursiveGradient {
  std::string forward_name;
  std::string backward_name;
};

class GradientTransform {
 public:
  // `shapes` may lack functions. `op_gradients`: as GradientRequest.
  GradientTransform(const Program& program, ShapeTable shapes,
                    std::map<std::string, std::string> op_gradients = {});

  const Program& program() const { return program_; }
  const OpLookup& ops() const { return program_.ops(); }
  const Dependence& dependence() const { return dependence_; }
  ValueKinds& kinds() { return kinds_; }
  const FunctionShapes& ShapesOf(const std::string& function) const;
  bool IsRecursive(const std::string& function) const { return recursive_.count(function) > 0; }

  // The function that was named for a gradient of this type; null: none.
  const std::string* OpGradient(const std::string& type) const {
    const auto found = op_gradients_.find(type);
    return found == op_gradients_.end() ? nullptr : &found->second;
  }
  // NOT_FOUND, UNIMPLEMENTED: generic.
  absl::StatusOr<const Function*> Find(const FunctionRef& function) const;
  std::string UniqueName(absl::string_view wanted) { return names_.Unique(wanted); }
  // The name under which it is known.
  std::string Add(Function function);
  // Those that `roots` need, directly or through others.
  std::vector<Function> TakeFunctions(const std::vector<const Function*>& roots);

  // What a function's gradient is for a request; written once.
  absl::StatusOr<std::shared_ptr<const FunctionGradient>> Differentiate(
      const Function& function, const FunctionRequest& request);
  // The functions of a recursive one, made on first use, also while they are being made.
  absl::StatusOr<RecursiveGradient> Recursive(const Function& function,
                                              const FunctionRequest& request);

 private:
  const Program& program_;
  ShapeTable shapes_;
  FunctionShapes no_shapes_;
  Dependence dependence_;
  ValueKinds kinds_;
  std::set<std::string> recursive_;
  const std::map<std::string, std::string> op_gradients_;
  passes::UniqueNames names_;
  std::vector<Function> functions_;
  std::map<std::pair<std::string, FunctionRequest>, RecursiveGradient> made_;
  std::map<std::pair<std::string, FunctionRequest>, std::shared_ptr<const FunctionGradient>>
      gradients_;
};

// gradients(arguments, adjoints, seeds) -> gradients: forward and backward in one function.
Function JoinSides(const OpLookup& ops, FunctionGradient gradient, std::string name);

// Writes backward(…) of `function`: what GradientTransform::Differentiate remembers.
absl::StatusOr<FunctionGradient> DifferentiateFunction(GradientTransform& transform,
                                                       const Function& function,
                                                       const FunctionRequest& request);

}  // namespace gyre::grad
