// cond, switch_case, case_: If and Case.
#include "absl/strings/str_cat.h"
#include "front/body.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "front/op_call.h"
#include "gyre/control_flow.h"
#include "ir/value_info.h"

namespace gyre::internal {
namespace {

struct Branch {
  std::string function_suffix;
  std::string what;  // "branch 'then'"
  const BodyFn* fn;
};

void RequireScalar(const Value& selector, DType dtype, absl::string_view what,
                   const std::source_location& where) {
  if (selector.dtype() != dtype) {
    ThrowInvalid(
        absl::StrCat(what, " must be ", DTypeName(dtype), ", not ", DTypeName(selector.dtype())),
        where);
  }
  const PartialShape shape = selector.shape();
  if (shape.has_rank() && shape.rank() != 0)
    ThrowInvalid(absl::StrCat(what, " must be a scalar, not of shape ", shape.ToString()), where);
}

// All branches return values of the same number and types.
void CheckBranches(const std::vector<TracedBody>& bodies, const std::source_location& where) {
  const TracedBody& first = bodies[0];
  for (const TracedBody& body : bodies) {
    const std::string both =
        absl::StrCat(first.scope->description().what, " and ", body.scope->description().what);
    if (body.results.size() != first.results.size()) {
      ThrowInvalid(absl::StrCat(both, " must return equally many values, not ",
                                first.results.size(), " and ", body.results.size()),
                   where);
    }
    for (size_t i = 0; i < body.results.size(); ++i) {
      if (body.dtype(i) == first.dtype(i)) continue;
      ThrowInvalid(
          absl::StrCat(both, " must return values of one type, but ", Component(first.paths[i]),
                       " is ", DTypeName(first.dtype(i)), " in one", first.MadeAt(i), ", and ",
                       DTypeName(body.dtype(i)), " in the other", body.MadeAt(i)),
          where);
    }
  }
}

// The branches as finished functions, and the call of them but for its attributes.
struct Conditional {
  std::vector<TracedBody> bodies;
  Call call;
};

Conditional TraceBranches(const ScopePtr& scope, const Value& selector, const std::string& name,
                          const std::vector<Branch>& branches, const std::source_location& where) {
  Conditional result;
  const std::string base = FunctionBase(*scope, name);
  for (const Branch& branch : branches) {
    const Scope::Description description = {branch.what, LineOf(where)};
    result.bodies.push_back(TraceBody(
        scope, scope->graph()->UniqueFunctionName(absl::StrCat(base, branch.function_suffix)),
        description, {}, *branch.fn, where));
  }
  CheckBranches(result.bodies, where);
  const std::vector<Value> captures = JoinCaptures(result.bodies);
  FinishBodies(result.bodies, captures);
  Call& call = result.call;
  call.name = name;
  call.inputs = UseAll(*scope, captures, where);
  call.inputs.insert(call.inputs.begin(), scope->Use(selector, where));
  const TracedBody& first = result.bodies[0];
  for (size_t i = 0; i < first.results.size(); ++i) {
    call.output_types.push_back(first.dtype(i));
    ValueInfo joined = first.info(i);
    for (const TracedBody& body : result.bodies) joined = Join(joined, body.info(i));
    call.infos.push_back(std::move(joined));
  }
  call.attrs.Set("Tout", call.output_types);
  return result;
}

}  // namespace

std::vector<Value> If(const Operand& predicate, const BodyFn& then_fn, const BodyFn& else_fn,
                      const std::string& name) {
  const std::source_location& where = predicate.where();
  const Value value = to_value(predicate);
  const ScopePtr scope = CurrentScope({value}, where);
  const std::string structured = name.empty() ? "cond" : name;
  RequireScalar(value, DType::kBool, absl::StrCat("the predicate of cond '", structured, "'"),
                where);
  const bool in_session = scope->graph()->follows_session_rules();
  Conditional conditional =
      TraceBranches(scope, value, structured,
                    {{in_session ? "_true_0" : "_then",
                      absl::StrCat("branch 'then' of cond '", structured, "'"), &then_fn},
                     {in_session ? "_false_0" : "_else",
                      absl::StrCat("branch 'else' of cond '", structured, "'"), &else_fn}},
                    where);
  Call& call = conditional.call;
  call.op = "StatelessIf";
  call.stateful_op = "If";
  call.attrs.Set("then_branch", FunctionRef{conditional.bodies[0].name(), nullptr});
  call.attrs.Set("else_branch", FunctionRef{conditional.bodies[1].name(), nullptr});
  return AddCall(scope, std::move(call), conditional.bodies, where);
}

std::vector<Value> Case(const Operand& index, const std::vector<BodyFn>& branches,
                        const std::string& name, const std::source_location& where) {
  if (branches.empty()) ThrowInvalid("a switch_case needs at least one branch", where);
  const Value value = index.is_literal() || index.value().dtype() == DType::kInt32
                          ? to_value(index)
                          : OpCall("Cast", where).In(index).Attr("DstT", DType::kInt32).One();
  const ScopePtr scope = CurrentScope({value}, where);
  const std::string structured = name.empty() ? "switch_case" : name;
  RequireScalar(value, DType::kInt32, absl::StrCat("the index of '", structured, "'"), where);
  std::vector<Branch> described;
  for (size_t i = 0; i < branches.size(); ++i) {
    described.push_back({absl::StrCat("_branch_", i),
                         absl::StrCat("branch ", i, " of '", structured, "'"), &branches[i]});
  }
  Conditional conditional = TraceBranches(scope, value, structured, described, where);
  std::vector<FunctionRef> functions;
  for (const TracedBody& body : conditional.bodies) functions.push_back({body.name(), nullptr});
  Call& call = conditional.call;
  call.op = "StatelessCase";
  call.stateful_op = "Case";
  call.attrs.Set("branches", std::move(functions));
  return AddCall(scope, std::move(call), conditional.bodies, where);
}

Value FirstTrue(const std::vector<Operand>& predicates, const std::source_location& where) {
  Operand first(static_cast<int32_t>(predicates.size()), where);
  for (size_t i = predicates.size(); i-- > 0;) {
    const Value predicate = to_value(predicates[i]);
    RequireScalar(predicate, DType::kBool, absl::StrCat("the predicate of case ", i),
                  predicates[i].where());
    const Value chosen = OpCall("SelectV2", where)
                             .In(Operand(predicate, where))
                             .In(Operand(static_cast<int32_t>(i), where))
                             .In(first)
                             .One();
    first = Operand(chosen, where);
  }
  return to_value(first);
}

}  // namespace gyre::internal
