// The gradient of If and Case: an If or Case on the same choice. Each branch is differentiated by
// itself. What it needs of its own insides travels in an optional, its tape, which the forward node
// returns behind its outputs; arguments and results are there anyway.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "grad/splice.h"
#include "grad/structured.h"
#include "ir/calls.h"

namespace gyre::grad {
namespace {

class Branches {
 public:
  Branches(GradientBody& body, const Node& structured)
      : body_(body),
        transform_(body.transform()),
        structured_(structured),
        args_(ArgsOf(structured)) {}

  absl::Status Run() {
    std::vector<bool> wanted = WantedArgs(body_, structured_);
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return absl::OkStatus();
    request_ = RequestOf(body_, args_, std::move(wanted));
    for (int slot = 0; slot < structured_.num_outputs(); ++slot) {
      request_.results.push_back(body_.Has({structured_.id, slot}));
      request_.result_types.push_back(body_.AdjointType({structured_.id, slot}));
    }
    std::map<const Function*, size_t> known;
    for (const Callee& callee : CalleesOf(transform_.program(), structured_)) {
      GYRE_ASSIGN_OR_RETURN(const Function* function, transform_.Find(callee.function));
      const auto [branch, is_new] = known.try_emplace(function, branches_.size());
      branch_of_.push_back(branch->second);
      if (!is_new) continue;
      GYRE_ASSIGN_OR_RETURN(branches_.emplace_back(),
                            transform_.Differentiate(*function, request_));
    }
    ChooseForms();
    GYRE_RETURN_IF_ERROR(ExtendForward());
    CollectInputs();
    return AddBackward();
  }

 private:
  static std::vector<Endpoint> ArgsOf(const Node& structured) {
    return {structured.inputs.begin() + NumSelectorInputs(structured), structured.inputs.end()};
  }

  // In which form the gradient of each argument leaves all branches.
  void ChooseForms() {
    size_t w = 0;
    for (size_t i = 0; i < args_.size(); ++i) {
      if (!request_.wanted[i]) continue;
      Form form = Form::kNone;
      for (const auto& branch : branches_) {
        if (branch->forms[w] == Form::kDense) form = Form::kDense;
        if (branch->forms[w] == Form::kSlices && form == Form::kNone) form = Form::kSlices;
      }
      outs_.push_back({static_cast<int>(i), form, DType::kInvalid, -1});
      ++w;
    }
    for (size_t o = 0; o < outs_.size(); ++o) {
      if (outs_[o].form == Form::kSlices) outs_[o].index_type = IndexType(o);
    }
  }

  // That of all branches, or the wider one.
  DType IndexType(size_t out) const {
    DType type = DType::kInt32;
    for (const auto& branch : branches_) {
      if (branch->forms[out] != Form::kSlices) continue;
      const FunctionResult& indices = branch->backward.results[FirstResult(*branch, out) + 1];
      if (indices.dtype == DType::kInt64) type = DType::kInt64;
    }
    return type;
  }

  static size_t FirstResult(const FunctionGradient& branch, size_t out) {
    size_t at = 0;
    for (size_t o = 0; o < out; ++o) at += NumResults(branch.forms[o]);
    return at;
  }

  // Of each choice of the node, which of its branches' `names` it has.
  std::vector<std::string> OfChoices(const std::vector<std::string>& names) const {
    std::vector<std::string> chosen;
    for (const size_t branch : branch_of_) chosen.push_back(names[branch]);
    return chosen;
  }

  absl::Status ExtendForward() {
    for (const auto& branch : branches_) {
      tapes_.emplace_back();
      for (size_t i = 0; i < branch->saved.size(); ++i) {
        if (OriginOf(branch->forward, branch->saved[i]).place != Origin::Place::kInside) continue;
        AddToTape(branch->forward, branch->saved[i], branch->saved_kinds[i], tapes_.back());
        has_tape_ = true;
      }
    }
    if (!has_tape_) return absl::OkStatus();
    std::vector<std::string> names;
    for (size_t b = 0; b < branches_.size(); ++b) {
      FunctionBuilder builder(transform_.ops(), branches_[b]->forward);
      ExprBuilder exprs(builder);
      const Expr tape = WriteTape(tapes_[b], exprs);
      GYRE_RETURN_IF_ERROR(exprs.status());
      builder.Return("saved", tape.endpoint());
      Function function = builder.Build();
      MarkAsCopy(branches_[b]->forward, function);
      function.name = absl::StrCat(function.name, "_saving");
      names.push_back(transform_.Add(std::move(function)));
    }
    Node structured = structured_;
    SetFunctions(OfChoices(names), structured);
    return ExtendStructured(body_, std::move(structured), {}, {TapeOutput()});
  }

  // What the backward node takes behind the choice.
  int Input(Expr value) {
    inputs_.push_back(value);
    return static_cast<int>(inputs_.size()) - 1;
  }
  int OuterInput(Endpoint e) {
    const auto [known, is_new] = outer_.try_emplace(e, static_cast<int>(inputs_.size()));
    if (is_new) Input(body_.Forward(e));
    return known->second;
  }

  void CollectInputs() {
    for (int slot = 0; slot < structured_.num_outputs(); ++slot) {
      if (request_.results[slot]) Input(body_.Sum({structured_.id, slot}));
    }
    for (size_t i = 0; i < args_.size(); ++i) {
      if (request_.seeded[i]) Input(body_.Take(args_[i]));
    }
    num_adjoints_ = inputs_.size();
    if (has_tape_) tape_ = OuterInput({structured_.id, structured_.num_outputs()});
    for (Out& out : outs_) {
      if (out.form == Form::kNone || request_.seeded[out.arg]) continue;
      const size_t o = &out - outs_.data();
      const bool all_alike =
          std::all_of(branches_.begin(), branches_.end(),
                      [&](const auto& branch) { return branch->forms[o] == out.form; });
      if (!all_alike && request_.arg_types[out.arg] != DType::kVariant)
        out.dims = Input(body_.Dims(args_[out.arg]));
    }
    for (const auto& branch : branches_) {
      for (const Endpoint& e : branch->saved) (void)SavedInput(*branch, e);
    }
  }

  // Which input holds a saved value; -1: the tape does.
  int SavedInput(const FunctionGradient& branch, Endpoint e) {
    const Origin origin = OriginOf(branch.forward, e);
    if (origin.place == Origin::Place::kInside) return -1;
    return OuterInput(origin.place == Origin::Place::kArgument
                          ? args_[origin.index]
                          : Endpoint{structured_.id, origin.index});
  }

  absl::Status AddBackward() {
    std::vector<std::string> names;
    BackwardNode structured;
    for (size_t b = 0; b < branches_.size(); ++b) {
      GYRE_ASSIGN_OR_RETURN(Function function, BackwardBranch(*branches_[b], tapes_[b]));
      structured.has_effects |= function.stateful;
      if (structured.types.empty()) {
        for (const FunctionResult& result : function.results)
          structured.types.push_back(result.dtype);
      }
      names.push_back(transform_.Add(std::move(function)));
    }
    if (structured.types.empty()) return absl::OkStatus();
    names = OfChoices(names);
    structured.inputs = {body_.Forward(structured_.inputs[0])};
    structured.inputs.insert(structured.inputs.end(), inputs_.begin(), inputs_.end());
    if (SelectorOf(structured_) == Selector::kPredicate) {
      structured.op = "If";
      structured.attrs = {{"then_branch", FunctionRef{names[0], nullptr}},
                          {"else_branch", FunctionRef{names[1], nullptr}}};
    } else {
      structured.op = "Case";
      std::vector<FunctionRef> refs;
      for (const std::string& name : names) refs.push_back({name, nullptr});
      structured.attrs = {{"branches", std::move(refs)}};
    }
    return HandBack(AddStructured(body_, structured));
  }

  absl::StatusOr<Function> BackwardBranch(const FunctionGradient& branch, const TapeOf& tape) {
    FunctionBuilder builder(transform_.ops(), absl::StrCat(branch.backward.name, "_gradient"));
    ExprBuilder exprs(builder);
    std::vector<Expr> args;
    for (size_t i = 0; i < inputs_.size(); ++i)
      args.push_back(exprs.At(builder.Arg(absl::StrCat("in_", i), inputs_[i].dtype())));
    std::vector<Endpoint> values;
    for (size_t i = 0; i < num_adjoints_; ++i) values.push_back(args[i].endpoint());
    std::vector<Expr> inside;
    if (has_tape_) inside = ReadTape(tape, args[tape_]);
    GYRE_RETURN_IF_ERROR(exprs.status());
    AppendSaved(branch, args, inside, values);
    const std::vector<Endpoint> results = Splice(branch.backward, values, builder);
    for (size_t o = 0; o < outs_.size(); ++o) ReturnOut(branch, o, results, args, exprs);
    GYRE_RETURN_IF_ERROR(exprs.status());
    return builder.Build();
  }

  // The values that the branch's gradient takes; `inside`: those from its tape.
  void AppendSaved(const FunctionGradient& branch, const std::vector<Expr>& args,
                   const std::vector<Expr>& inside, std::vector<Endpoint>& values) {
    size_t next = 0;
    for (const Endpoint& e : branch.saved) {
      const int input = SavedInput(branch, e);
      values.push_back(input < 0 ? inside[next++].endpoint() : args[input].endpoint());
    }
  }

  // The gradient of one argument, in the form in which all branches give it.
  void ReturnOut(const FunctionGradient& branch, size_t o, const std::vector<Endpoint>& results,
                 const std::vector<Expr>& args, ExprBuilder& exprs) {
    const Out& out = outs_[o];
    if (out.form == Form::kNone) return;
    const DType dtype = request_.arg_types[out.arg];
    const size_t at = FirstResult(branch, o);
    const std::string name = absl::StrCat("d_", out.arg);
    const Expr dims = out.dims < 0 ? Expr() : args[out.dims];
    if (out.form == Form::kDense) {
      Expr dense;
      if (branch.forms[o] == Form::kDense) dense = exprs.At(results[at]);
      if (branch.forms[o] == Form::kSlices)
        dense = MakeDense({exprs.At(results[at]), exprs.At(results[at + 1])}, dims);
      if (branch.forms[o] == Form::kNone) {
        dense = dtype == DType::kVariant ? exprs.Op("_OptionalZero", {})
                                         : Fill(dims, exprs.Scalar(dtype, 0));
      }
      if (dense.ok()) exprs.function().Return(name, dense.endpoint());
      return;
    }
    Slices slices;
    if (branch.forms[o] == Form::kSlices) {
      slices = {exprs.At(results[at]), Cast(exprs.At(results[at + 1]), out.index_type)};
    } else {
      slices = NoSlices(dims, dtype, out.index_type);
    }
    if (!exprs.status().ok()) return;
    exprs.function().Return(absl::StrCat(name, "_values"), slices.values.endpoint());
    exprs.function().Return(absl::StrCat(name, "_indices"), slices.indices.endpoint());
  }

  absl::Status HandBack(const std::vector<Expr>& outputs) {
    size_t next = 0;
    for (const Out& out : outs_) {
      const Endpoint arg = args_[out.arg];
      if (out.form == Form::kDense) body_.Add(arg, outputs[next]);
      if (out.form == Form::kSlices) body_.AddSlices(arg, {outputs[next], outputs[next + 1]});
      next += NumResults(out.form);
    }
    return absl::OkStatus();
  }

  // One wanted argument.
  struct Out {
    int arg;
    Form form;
    DType index_type;
    int dims;  // the input that holds its dimensions; -1: not needed
  };

  GradientBody& body_;
  GradientTransform& transform_;
  const Node& structured_;
  const std::vector<Endpoint> args_;
  FunctionRequest request_;
  std::vector<std::shared_ptr<const FunctionGradient>> branches_;  // of each function once
  std::vector<size_t> branch_of_;                                  // by choice
  std::vector<Out> outs_;
  std::vector<TapeOf> tapes_;  // by branch
  bool has_tape_ = false;
  int tape_ = -1;  // which input
  std::vector<Expr> inputs_;
  size_t num_adjoints_ = 0;  // the first inputs: adjoints and seeds
  HashMap<Endpoint, int> outer_;
};

}  // namespace

absl::Status DifferentiateBranches(GradientBody& body, const Node& structured) {
  return Branches(body, structured).Run();
}

}  // namespace gyre::grad
