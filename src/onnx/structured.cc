// If and While out of functions that are written in scopes of their own.
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/work.h"
#include "onnx/names.h"
#include "onnx/scope.h"

namespace gyre::onnx {
namespace {

// How often the body of a loop is written with less known of its variables, before nothing is
// believed; loops that stand deeper in loops begin with nothing.
constexpr int kMaxAttempts = 3;
constexpr int kMaxDepthOfAttempts = 3;

std::string FunctionName(Writing& writing, const std::string& name, absl::string_view part) {
  std::string plain;
  for (const char c : ShortName(name)) plain.push_back(absl::ascii_isalnum(c) ? c : '_');
  return absl::StrCat(plain, "_", part, "_", ++writing.num_functions);
}

// Outer values that any of the scopes captures, each once; all scopes get all of them as arguments
// behind the first `fixed`, in the same order.
std::vector<Expr> AgreeOnCaptures(absl::Span<Scope* const> scopes, size_t fixed) {
  std::vector<Expr> outer;
  std::set<std::pair<NodeId, int>> is_there;
  for (Scope* scope : scopes) {
    for (const auto& [outside, inside] : scope->captures()) {
      if (is_there.emplace(outside.endpoint().node, outside.endpoint().slot).second)
        outer.push_back(outside);
    }
  }
  for (Scope* scope : scopes) {
    std::vector<Endpoint> order;
    for (const Expr& value : outer) order.push_back(scope->Reach(value).endpoint());
    scope->function().OrderArgs(fixed, order);
  }
  return outer;
}

bool HasEffects(Scope& scope) { return scope.function().function().stateful; }

ValueInfo ShapeOnly(const ValueInfo& info) {
  ValueInfo result;
  result.shape = info.shape;
  result.handle = info.handle;
  return result;
}

// What is known of a value that is one or the other.
ValueInfo Either(const ValueInfo& a, const ValueInfo& b) {
  ValueInfo result;
  result.shape = a.shape.Widen(b.shape);
  if (a.handle == b.handle) result.handle = a.handle;
  return result;
}

std::vector<Expr> AddStructured(Scope& scope, const std::string& op,
                                const std::vector<Expr>& inputs, AttrMap attrs,
                                std::vector<ValueInfo> infos) {
  std::vector<Expr> outputs = scope.b().Ops(op, inputs, std::move(attrs));
  if (!scope.failed() && !outputs.empty())
    scope.SetInfos(outputs[0].endpoint().node, std::move(infos));
  return outputs;
}

FunctionRef Finish(Scope& scope, Writing& writing, const std::vector<Expr>& results) {
  for (size_t i = 0; i < results.size(); ++i)
    scope.function().Return(absl::StrCat("result_", i), results[i].endpoint());
  FunctionRef ref{scope.function().name(), nullptr};
  writing.functions.push_back(scope.function().Build());
  return ref;
}

// Results of an inner scope that are values of it; false, and a failure of `outer`, if one is none.
bool AreSound(Scope& outer, Scope& inner, std::vector<Expr>& results) {
  for (Expr& result : results) {
    result = inner.Reach(result);
    if (!inner.failed() && !result.ok())
      inner.Fail(absl::InvalidArgumentError("a result that was not computed"));
  }
  if (inner.failed()) outer.Fail(inner.b().status());
  return !inner.failed();
}

class LoopWriter {
 public:
  LoopWriter(Scope& scope, const std::string& name, const std::vector<Expr>& initial,
             const BodyFn& condition, const BodyFn& body)
      : scope_(scope), name_(name), initial_(initial), condition_(condition), body_(body) {
    for (const Expr& value : initial_) {
      infos_.push_back(scope_.depth() < kMaxDepthOfAttempts ? ShapeOnly(scope_.Info(value))
                                                            : ValueInfo());
    }
  }

  std::vector<Expr> Write() {
    const size_t functions = scope_.writing().functions.size();
    for (int attempt = 1; !scope_.failed(); ++attempt) {
      SpendWork();
      scope_.writing().functions.resize(functions);
      if (!WriteBody()) break;
      if (Widen(attempt >= kMaxAttempts)) continue;
      if (!WriteCondition()) break;
      return AddNode();
    }
    return std::vector<Expr>(initial_.size(), scope_.Invalid());
  }

 private:
  std::vector<Expr> Variables(Scope& inner) {
    std::vector<Expr> variables;
    for (size_t i = 0; i < initial_.size(); ++i)
      variables.push_back(inner.Arg(absl::StrCat("v", i), initial_[i].dtype(), infos_[i]));
    return variables;
  }

  bool WriteBody() {
    inner_ = std::make_unique<Scope>(scope_.writing(),
                                     FunctionName(scope_.writing(), name_, "body"), &scope_);
    results_ = body_(*inner_, Variables(*inner_));
    return AreSound(scope_, *inner_, results_) && TypesAgree();
  }

  bool TypesAgree() {
    for (size_t i = 0; i < initial_.size(); ++i) {
      if (i < results_.size() && results_[i].dtype() == initial_[i].dtype()) continue;
      scope_.Fail(absl::InvalidArgumentError(absl::StrCat(
          "variable ", i, " of the loop changes its type from ", DTypeName(initial_[i].dtype()),
          " to ", i < results_.size() ? DTypeName(results_[i].dtype()) : "nothing")));
      return false;
    }
    return true;
  }

  // True if the body made something that was not expected.
  bool Widen(bool entirely) {
    bool is_news = false;
    for (size_t i = 0; i < initial_.size(); ++i) {
      ValueInfo either = Either(infos_[i], inner_->Info(results_[i]));
      if (either.shape == infos_[i].shape && either.handle == infos_[i].handle) continue;
      is_news = true;
      infos_[i] = entirely ? ValueInfo() : std::move(either);
    }
    return is_news;
  }

  bool WriteCondition() {
    test_ = std::make_unique<Scope>(scope_.writing(), FunctionName(scope_.writing(), name_, "cond"),
                                    &scope_);
    go_on_ = condition_(*test_, Variables(*test_));
    return AreSound(scope_, *test_, go_on_);
  }

  std::vector<Expr> AddNode() {
    Scope* const scopes[] = {inner_.get(), test_.get()};
    const std::vector<Expr> captured = AgreeOnCaptures(scopes, initial_.size());
    std::vector<Expr> inputs = initial_;
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    for (const Expr& value : captured) {
      results_.push_back(inner_->Reach(value));
      infos_.push_back(ShapeOnly(scope_.Info(value)));
    }
    const bool has_effects = HasEffects(*inner_) || HasEffects(*test_);
    const FunctionRef body = Finish(*inner_, scope_.writing(), results_);
    const FunctionRef cond = Finish(*test_, scope_.writing(), go_on_);
    std::vector<Expr> outputs = AddStructured(scope_, has_effects ? "While" : "StatelessWhile",
                                              inputs, {{"cond", cond}, {"body", body}}, infos_);
    outputs.resize(initial_.size());
    return outputs;
  }

  Scope& scope_;
  const std::string& name_;
  const std::vector<Expr>& initial_;
  const BodyFn& condition_;
  const BodyFn& body_;
  std::vector<ValueInfo> infos_;
  std::unique_ptr<Scope> inner_, test_;
  std::vector<Expr> results_, go_on_;
};

}  // namespace

std::vector<Expr> WriteIf(Scope& scope, const std::string& name, const Expr& condition,
                          const std::function<std::vector<Expr>(Scope&)>& then,
                          const std::function<std::vector<Expr>(Scope&)>& otherwise) {
  CheckStack();
  Writing& writing = scope.writing();
  Scope yes(writing, FunctionName(writing, name, "then"), &scope);
  std::vector<Expr> yes_results = then(yes);
  if (!AreSound(scope, yes, yes_results)) return {};
  Scope no(writing, FunctionName(writing, name, "else"), &scope);
  std::vector<Expr> no_results = otherwise(no);
  if (!AreSound(scope, no, no_results)) return {};
  std::vector<DType> types;
  std::vector<ValueInfo> infos;
  for (size_t i = 0; i < yes_results.size(); ++i) {
    if (no_results.size() != yes_results.size() ||
        no_results[i].dtype() != yes_results[i].dtype()) {
      scope.Fail(absl::InvalidArgumentError("the branches have results of different types"));
      return {};
    }
    types.push_back(yes_results[i].dtype());
    infos.push_back(Either(yes.Info(yes_results[i]), no.Info(no_results[i])));
  }
  Scope* const scopes[] = {&yes, &no};
  std::vector<Expr> inputs = {condition};
  const std::vector<Expr> captured = AgreeOnCaptures(scopes, 0);
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  const bool has_effects = HasEffects(yes) || HasEffects(no);
  const FunctionRef then_branch = Finish(yes, writing, yes_results);
  const FunctionRef else_branch = Finish(no, writing, no_results);
  return AddStructured(
      scope, has_effects ? "If" : "StatelessIf", inputs,
      {{"then_branch", then_branch}, {"else_branch", else_branch}, {"Tout", types}},
      std::move(infos));
}

std::vector<Expr> WriteWhile(Scope& scope, const std::string& name,
                             const std::vector<Expr>& initial, const BodyFn& condition,
                             const BodyFn& body) {
  CheckStack();
  return LoopWriter(scope, name, initial, condition, body).Write();
}

std::vector<Expr> WriteFor(
    Scope& scope, const std::string& name, const Expr& count, const std::vector<Expr>& initial,
    const std::function<std::vector<Expr>(Scope&, const Expr& i, const std::vector<Expr>&)>& body) {
  std::vector<Expr> variables = {scope.Int64(0)};
  variables.insert(variables.end(), initial.begin(), initial.end());
  std::vector<Expr> results = WriteWhile(
      scope, name, variables,
      [&](Scope& s, const std::vector<Expr>& v) {
        return std::vector<Expr>{s.Op("Less", {v[0], s.Reach(count)})};
      },
      [&](Scope& s, const std::vector<Expr>& v) {
        std::vector<Expr> next = body(s, v[0], std::vector<Expr>(v.begin() + 1, v.end()));
        next.insert(next.begin(), v[0] + 1.0);
        return next;
      });
  results.erase(results.begin());
  return results;
}

}  // namespace gyre::onnx
