// The gradient of a call: a call of the function's gradient, to which the forward call hands,
// behind its results, what the gradient needs of the function's insides. A function that calls
// itself hands over one optional (its tape) that holds all of that, tapes of inner calls among it.
#include "ir/calls.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/effects.h"
#include "base/status.h"
#include "grad/memory_policy.h"
#include "grad/splice.h"
#include "grad/structured.h"

namespace gyre::grad {
namespace {

class Call {
 public:
  Call(GradientBody& body, const Node& structured)
      : body_(body),
        transform_(body.transform()),
        structured_(structured),
        args_(structured.inputs.begin() + NumSelectorInputs(structured), structured.inputs.end()) {}

  absl::Status Run() {
    std::vector<bool> wanted = WantedArgs(body_, structured_);
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return absl::OkStatus();
    request_ = RequestOf(body_, args_, std::move(wanted));
    for (int slot = 0; slot < structured_.num_outputs(); ++slot) {
      request_.results.push_back(body_.Has({structured_.id, slot}));
      request_.result_types.push_back(body_.AdjointType({structured_.id, slot}));
    }
    const std::vector<Callee> callees = CalleesOf(transform_.program(), structured_);
    if (callees.size() != 1) return BugError("a call calls one function");
    const auto& own = transform_.program().gradient_functions();
    if (const auto found = own.find(callees[0].function.name); found != own.end())
      return ApplyOwnGradient(body_, structured_, found->second);
    GYRE_ASSIGN_OR_RETURN(const Function* function, transform_.Find(callees[0].function));
    if (transform_.IsRecursive(function->name)) return Recursive(*function);
    return RunsAgain(*function) ? Again(*function) : Plain(*function);
  }

 private:
  // What has effects happens once.
  bool RunsAgain(const Function& function) const {
    if (!structured_.attrs.GetOr<bool>(kRecomputeAttr, false)) return false;
    return !function.stateful || Effects(transform_.program()).OfFunction(function.name).IsPure();
  }

  std::vector<Expr> Adjoints() {
    std::vector<Expr> inputs;
    for (int slot = 0; slot < structured_.num_outputs(); ++slot) {
      if (request_.results[slot]) inputs.push_back(body_.Sum({structured_.id, slot}));
    }
    for (size_t i = 0; i < args_.size(); ++i) {
      if (request_.seeded[i]) inputs.push_back(body_.Take(args_[i]));
    }
    return inputs;
  }

  absl::Status Plain(const Function& function) {
    if (structured_.attrs.GetOr<bool>(kSegmentsAttr, false))
      GYRE_RETURN_IF_ERROR(SeedSums(transform_, function, request_));
    GYRE_ASSIGN_OR_RETURN(const auto shared, transform_.Differentiate(function, request_));
    const FunctionGradient& gradient = *shared;
    std::vector<Endpoint> saved;  // where the structured node has them
    std::vector<MoreOutput> more;
    FunctionBuilder builder(transform_.ops(), gradient.forward);
    for (size_t i = 0; i < gradient.saved.size(); ++i) {
      const Endpoint e = gradient.saved[i];
      const Origin origin = OriginOf(gradient.forward, e);
      if (origin.place == Origin::Place::kArgument) {
        saved.push_back(args_[origin.index]);
      } else if (origin.place == Origin::Place::kResult) {
        saved.push_back({structured_.id, origin.index});
      } else {
        saved.push_back(
            {structured_.id, structured_.num_outputs() + static_cast<int>(more.size())});
        builder.Return(gradient.forward.node(e.node).name, e);
        more.push_back({builder.dtype(e), gradient.saved_kinds[i]});
      }
    }
    if (!more.empty()) {
      Function forward = builder.Build();
      forward.name = absl::StrCat(function.name, "_saving");
      MarkAsCopy(function, forward);
      Node structured = structured_;
      SetFunctions({transform_.Add(std::move(forward))}, structured);
      GYRE_RETURN_IF_ERROR(ExtendStructured(body_, std::move(structured), {}, more));
    }
    std::vector<Expr> inputs = Adjoints();
    for (const Endpoint& e : saved) inputs.push_back(body_.Forward(e));
    Function backward = gradient.backward;
    backward.name = absl::StrCat(function.name, "_gradient");
    return HandBack(std::move(backward), gradient.forms, std::move(inputs));
  }

  // `value`, not before there are `others`: what runs once more would otherwise run ahead, many
  // iterations of a loop at a time, and fill the memory that it is to save.
  Expr Behind(Expr value, const std::vector<Expr>& others) {
    const Expr behind = body_.back().Op("Identity", {value});
    if (!behind.ok()) return behind;
    for (const Expr& other : others) {
      if (other.ok())
        body_.back().function().AddControlInput(behind.endpoint().node, other.endpoint().node);
    }
    return behind;
  }

  // The gradient runs the function once more.
  absl::Status Again(const Function& function) {
    GYRE_ASSIGN_OR_RETURN(const auto gradient, transform_.Differentiate(function, request_));
    const std::vector<Expr> adjoints = Adjoints();
    std::vector<Expr> inputs;
    for (const Endpoint& arg : args_) inputs.push_back(Behind(body_.Forward(arg), adjoints));
    inputs.insert(inputs.end(), adjoints.begin(), adjoints.end());
    Function both =
        JoinSides(transform_.ops(), *gradient, absl::StrCat(function.name, "_again_gradient"));
    return HandBack(std::move(both), gradient->forms, std::move(inputs));
  }

  absl::Status Recursive(const Function& function) {
    request_.dense = request_.wanted;
    GYRE_ASSIGN_OR_RETURN(const RecursiveGradient names, transform_.Recursive(function, request_));
    Node structured = structured_;
    SetFunctions({names.forward_name}, structured);
    GYRE_RETURN_IF_ERROR(ExtendStructured(body_, std::move(structured), {}, {TapeOutput()}));
    std::vector<Expr> inputs{body_.Forward({structured_.id, structured_.num_outputs()})};
    for (const Expr& adjoint : Adjoints()) inputs.push_back(adjoint);
    BackwardNode call{.op = "PartitionedCall",
                      .inputs = std::move(inputs),
                      .attrs = {{"f", FunctionRef{names.backward_name, nullptr}}},
                      .has_effects = function.stateful};
    std::vector<Form> forms;
    for (size_t i = 0; i < args_.size(); ++i) {
      if (!request_.wanted[i]) continue;
      forms.push_back(Form::kDense);
      call.types.push_back(request_.arg_types[i]);
    }
    return Deliver(forms, AddStructured(body_, call));
  }

  absl::Status HandBack(Function backward, const std::vector<Form>& forms,
                        std::vector<Expr> inputs) {
    BackwardNode call{.op = "PartitionedCall", .inputs = std::move(inputs)};
    for (const FunctionResult& result : backward.results) call.types.push_back(result.dtype);
    if (call.types.empty()) return absl::OkStatus();
    call.has_effects = backward.stateful;
    call.attrs = {{"f", FunctionRef{transform_.Add(std::move(backward)), nullptr}}};
    if (structured_.attrs.GetOr<bool>(kNoInlineAttr, false))
      call.attrs.Set(std::string(kNoInlineAttr), true);
    return Deliver(forms, AddStructured(body_, call));
  }

  absl::Status Deliver(const std::vector<Form>& forms, const std::vector<Expr>& outputs) {
    size_t next = 0, w = 0;
    for (size_t i = 0; i < args_.size(); ++i) {
      if (!request_.wanted[i]) continue;
      const Form form = forms[w++];
      if (form == Form::kDense) body_.Add(args_[i], outputs[next]);
      if (form == Form::kSlices) body_.AddSlices(args_[i], {outputs[next], outputs[next + 1]});
      next += NumResults(form);
    }
    return absl::OkStatus();
  }

  GradientBody& body_;
  GradientTransform& transform_;
  const Node& structured_;
  const std::vector<Endpoint> args_;
  FunctionRequest request_;
};

TapeOf TapeOfAll(const FunctionGradient& gradient) {
  TapeOf tape;
  for (size_t i = 0; i < gradient.saved.size(); ++i)
    AddToTape(gradient.forward, gradient.saved[i], gradient.saved_kinds[i], tape);
  return tape;
}

// forward(arguments) -> results, tape
absl::StatusOr<Function> WithTape(const OpLookup& ops, const FunctionGradient& gradient,
                                  std::string name) {
  FunctionBuilder builder(ops, gradient.forward);
  ExprBuilder exprs(builder);
  const Expr tape = WriteTape(TapeOfAll(gradient), exprs);
  GYRE_RETURN_IF_ERROR(exprs.status());
  builder.Return("tape", tape.endpoint());
  Function function = builder.Build();
  function.name = std::move(name);
  return function;
}

// backward(tape, adjoints, seeds) -> gradients
absl::StatusOr<Function> FromTape(const OpLookup& ops, const FunctionGradient& gradient,
                                  std::string name) {
  FunctionBuilder builder(ops, std::move(name));
  ExprBuilder exprs(builder);
  const Expr tape = exprs.At(builder.Arg("tape", DType::kVariant));
  const Function& backward = gradient.backward;
  const size_t num_given = backward.args.size() - gradient.saved.size();
  std::vector<Endpoint> values;
  for (size_t i = 0; i < num_given; ++i)
    values.push_back(builder.Arg(backward.args[i].name, backward.args[i].dtype));
  const std::vector<Expr> saved = ReadTape(TapeOfAll(gradient), tape);
  GYRE_RETURN_IF_ERROR(exprs.status());
  for (const Expr& e : saved) values.push_back(e.endpoint());
  const std::vector<Endpoint> results = Splice(backward, values, builder);
  for (size_t r = 0; r < results.size(); ++r) builder.Return(backward.results[r].name, results[r]);
  return builder.Build();
}

}  // namespace

absl::StatusOr<RecursiveGradient> GradientTransform::Recursive(const Function& function,
                                                               const FunctionRequest& request) {
  const auto [made, is_new] = made_.try_emplace({function.name, request});
  if (!is_new) return made->second;
  const RecursiveGradient names = {UniqueName(absl::StrCat(function.name, "_saving")),
                                   UniqueName(absl::StrCat(function.name, "_gradient"))};
  made->second = names;
  GYRE_ASSIGN_OR_RETURN(const auto gradient, Differentiate(function, request));
  GYRE_ASSIGN_OR_RETURN(Function forward, WithTape(ops(), *gradient, names.forward_name));
  MarkAsCopy(function, forward);
  functions_.push_back(std::move(forward));
  GYRE_ASSIGN_OR_RETURN(Function backward, FromTape(ops(), *gradient, names.backward_name));
  functions_.push_back(std::move(backward));
  return names;
}

absl::Status DifferentiateCall(GradientBody& body, const Node& structured) {
  return Call(body, structured).Run();
}

}  // namespace gyre::grad
