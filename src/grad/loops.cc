// The gradient of While and For: a While that runs the iterations the other way round.
//
//   forward                               backward
//   x, lists = While(x0, empty lists)     dx0, dw = While(lists, dx, 0)
//     while cond(x)                         while there is something in the lists
//     x' = body(x; w)                       lists, saved = pop(lists)
//     lists' = push(lists, saved)           dx, dw += gradient of body(dx; saved)
//
// Values of one type and shape share a list: a variable costs an iteration more than a push.
//
// How often the loop runs is known when it has run: the lists tell, or a count where none is
// needed. Gradients of variables travel backward; those of invariants are sums over all iterations,
// rows of sparse ones are collected in lists.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/pass_through.h"
#include "base/status.h"
#include "grad/memory_policy.h"
#include "grad/product_sums.h"
#include "grad/saved_values.h"
#include "grad/splice.h"
#include "grad/structured.h"
#include "ir/calls.h"
#include "ir/saved_attrs.h"

namespace gyre::grad {
namespace {

// An element shape, as ops on lists take it.
Expr ElementShape(ExprBuilder& builder, const PartialShape& shape) {
  if (!shape.has_rank()) return builder.Int(-1);
  const std::vector<int32_t> known(shape.dims().begin(), shape.dims().end());
  return builder.Ints(known);
}

// An empty list of elements of which `shape` is known.
Expr EmptyList(ExprBuilder& builder, DType dtype, const PartialShape& shape) {
  const Expr dims = ElementShape(builder, shape);
  return builder.Op("EmptyTensorList", {dims, builder.Int(-1)}, {{"element_dtype", dtype}});
}

// All elements of a list of slices' parts, one after the other; `dims`: of the tensor that they are
// rows of, none for indices.
Expr ConcatList(Expr list, DType dtype, Expr dims) {
  ExprBuilder& b = list.builder();
  Expr shape = b.Ints({-1});
  if (dims.ok()) {
    const Expr row = b.Op("Slice", {dims, b.Ints({1}), b.Ints({-1})});
    shape = b.Op("ConcatV2", {shape, row, b.Int(0)});
  }
  const Expr no_dims =
      b.Constant(Tensor::FromValues(absl::Span<const int64_t>(), Shape::Vector(0)));
  return b.Ops("TensorListConcatV2", {list, shape, no_dims}, {{"element_dtype", dtype}}, 2)[0];
}

class LoopGradient {
 public:
  LoopGradient(GradientBody& body, const Node& structured)
      : body_(body),
        transform_(body.transform()),
        structured_(structured),
        first_arg_(NumCounterArgs(structured)),
        inits_(structured.inputs.begin() + NumSelectorInputs(structured), structured.inputs.end()) {
  }

  absl::Status Run() {
    if (!FindActive()) return absl::OkStatus();
    const std::vector<Callee> callees = CalleesOf(transform_.program(), structured_);
    GYRE_ASSIGN_OR_RETURN(function_, transform_.Find(callees.back().function));
    if (callees.size() == 2) {
      GYRE_ASSIGN_OR_RETURN(condition_, transform_.Find(callees[0].function));
    }
    invariant_ = InvariantVariables(*function_, first_arg_);
    GYRE_RETURN_IF_ERROR(ChooseSeeds());
    GYRE_ASSIGN_OR_RETURN(gradient_, transform_.Differentiate(*function_, Request()));
    saved_.emplace(gradient_->forward, first_arg_, transform_.ShapesOf(function_->name),
                   gradient_->saved);
    GYRE_RETURN_IF_ERROR(ExtendForward());
    return AddBackward();
  }

 private:
  size_t num_vars() const { return inits_.size(); }
  Endpoint Output(size_t var) const { return {structured_.id, static_cast<int>(var)}; }

  // Variables through which a derivative flows from what is wanted to an output that has an
  // adjoint.
  bool FindActive() {
    const Dependence::Matrix depends = transform_.dependence().OfStructured(structured_);
    const size_t first = NumSelectorInputs(structured_);
    std::vector<bool> varied(num_vars()), useful(num_vars());
    for (size_t o = 0; o < num_vars(); ++o) {
      for (size_t i = 0; i < num_vars(); ++i) {
        if (!depends[o][first + i]) continue;
        if (body_.Wants(inits_[i])) varied[o] = true;
        if (body_.Has(Output(o))) useful[i] = true;
      }
    }
    active_.resize(num_vars());
    for (size_t i = 0; i < num_vars(); ++i) active_[i] = varied[i] && useful[i];
    return std::find(active_.begin(), active_.end(), true) != active_.end();
  }

  // Which invariants' sums go through the body's gradient, which adds to them: lists, and, where a
  // iteration is a segment of a loop, what is not a collection of rows.
  absl::Status ChooseSeeds() {
    seeded_.resize(num_vars());
    for (size_t i = 0; i < num_vars(); ++i)
      seeded_[i] = active_[i] && invariant_[i] && body_.IsList(inits_[i]);
    if (!structured_.attrs.GetOr<bool>(kSegmentsAttr, false)) return absl::OkStatus();
    FunctionRequest request = Request();
    GYRE_RETURN_IF_ERROR(SeedSums(transform_, *function_, request));
    for (size_t i = 0; i < num_vars(); ++i) seeded_[i] = request.seeded[first_arg_ + i];
    return absl::OkStatus();
  }

  // Which value of the outer function tells most of a variable.
  Endpoint Model(size_t var) const { return invariant_[var] ? inits_[var] : Output(var); }

  FunctionRequest Request() const {
    FunctionRequest request;
    for (int i = 0; i < first_arg_; ++i) {
      request.wanted.push_back(false);
      request.seeded.push_back(false);
      request.dense.push_back(false);
      request.arg_kinds.emplace_back();
      request.arg_types.push_back(DType::kInt32);
    }
    for (size_t i = 0; i < num_vars(); ++i) {
      const bool travels = active_[i] && !invariant_[i];
      request.results.push_back(travels);
      request.wanted.push_back(active_[i]);
      request.seeded.push_back(seeded_[i]);
      request.dense.push_back(travels);
      request.arg_kinds.push_back(body_.KindOf(Output(i)));
      request.arg_types.push_back(body_.AdjointType(Model(i)));
      request.result_types.push_back(request.arg_types.back());
    }
    return request;
  }

  // ---- Forward ----

  // More variables: lists, or a count.
  absl::Status ExtendForward() {
    ChooseLists();
    counts_ = lists_.empty();
    FunctionBuilder builder(transform_.ops(), gradient_->forward);
    ExprBuilder exprs(builder);
    ExprBuilder outer(body_.forward());
    outer.set_style({absl::StrCat("gradients/", structured_.name, "/"), structured_.device,
                     structured_.source});
    const std::string& in = body_.original().name;
    const std::string loop =
        in.empty() ? structured_.name : absl::StrCat(in, "/", structured_.name);
    std::vector<Endpoint> inits;
    std::vector<MoreOutput> outputs;
    for (const std::vector<size_t>& members : lists_) {
      Expr list = exprs.At(builder.Arg("saved", DType::kVariant));
      for (const size_t i : members) {
        const Endpoint e = saved_->listed()[i];
        list = exprs.Op("TensorListPushBack", {list, exprs.At(e)},
                        {{std::string(kSavingLoopAttr), loop},
                         {std::string(kSavedValueAttr), builder.function().EndpointName(e)}});
      }
      if (list.ok()) builder.Return("saved", list.endpoint());
      const Endpoint first = saved_->listed()[members[0]];
      const DType dtype = builder.dtype(first);
      inits.push_back(EmptyList(outer, dtype, ShapeOfSaved(first)).endpoint());
      outputs.push_back({DType::kVariant, {ValueKind::Type::kList, dtype, {KindOfSaved(first)}}});
    }
    if (counts_) {
      const Expr count = exprs.At(builder.Arg("count", DType::kInt64));
      builder.Return("count", (count + 1.0).endpoint());
      inits.push_back(outer.Scalar(DType::kInt64, 0).endpoint());
      outputs.push_back({DType::kInt64, ValueKind()});
    }
    GYRE_RETURN_IF_ERROR(exprs.status());
    GYRE_RETURN_IF_ERROR(outer.status());
    std::vector<std::string> names;
    if (condition_ != nullptr) names.push_back(ExtendCondition(outputs));
    Function forward = builder.Build();
    forward.name = absl::StrCat(function_->name, "_saving");
    MarkAsCopy(*function_, forward);
    names.push_back(transform_.Add(std::move(forward)));
    Node structured = structured_;
    SetFunctions(names, structured);
    return ExtendStructured(body_, std::move(structured), inits, outputs);
  }

  void ChooseLists() {
    const std::vector<Endpoint>& listed = saved_->listed();
    for (size_t i = 0; i < listed.size(); ++i) {
      const auto fits = [&](const std::vector<size_t>& members) {
        const Endpoint first = listed[members[0]];
        const PartialShape shape = ShapeOfSaved(first);
        return TypeOfSaved(first) == TypeOfSaved(listed[i]) && IsTrivial(TypeOfSaved(first)) &&
               shape.IsFullyKnown() && shape == ShapeOfSaved(listed[i]);
      };
      const auto list = std::find_if(lists_.begin(), lists_.end(), fits);
      if (list == lists_.end()) {
        lists_.push_back({i});
      } else {
        list->push_back(i);
      }
    }
  }

  DType TypeOfSaved(Endpoint e) const {
    return gradient_->forward.node(e.node).signature.outputs[e.slot].dtype;
  }

  PartialShape ShapeOfSaved(Endpoint e) const {
    return transform_.ShapesOf(function_->name).at(e).shape;
  }

  ValueKind KindOfSaved(Endpoint e) const {
    const std::vector<Endpoint>& saved = gradient_->saved;
    return gradient_->saved_kinds[std::find(saved.begin(), saved.end(), e) - saved.begin()];
  }

  std::string ExtendCondition(const std::vector<MoreOutput>& outputs) {
    FunctionBuilder builder(transform_.ops(), *condition_);
    for (const MoreOutput& output : outputs) builder.Arg("saved", output.dtype);
    Function condition = builder.Build();
    condition.name = absl::StrCat(condition_->name, "_saving");
    MarkAsCopy(*condition_, condition);
    return transform_.Add(std::move(condition));
  }

  // ---- Backward ----

  // A variable of the backward loop.
  struct Var {
    std::string name;
    Expr init;
    Expr arg;   // in its body
    Expr next;  // behind the iteration
  };
  size_t AddVar(std::string name, Expr init) {
    vars_.push_back({std::move(name), init, Expr(), Expr()});
    return vars_.size() - 1;
  }

  // The gradient of one active variable, and which of vars_ hold it.
  struct Adjoint {
    size_t var;
    Form form;
    size_t first = 0;
  };

  absl::Status AddBackward() {
    AddSavedVars();
    AddAdjointVars();
    GYRE_RETURN_IF_ERROR(body_.back().status());
    GYRE_ASSIGN_OR_RETURN(Function backward, BackwardBody());
    GYRE_ASSIGN_OR_RETURN(Function condition, BackwardCondition());
    BackwardNode structured{.op = "While", .has_effects = backward.stateful};
    for (const Var& var : vars_) {
      structured.inputs.push_back(var.init);
      structured.types.push_back(var.init.dtype());
    }
    structured.attrs = {{"body", FunctionRef{transform_.Add(std::move(backward)), nullptr}},
                        {"cond", FunctionRef{transform_.Add(std::move(condition)), nullptr}}};
    if (const auto* window = structured_.attrs.Get<int64_t>("parallel_iterations"))
      structured.attrs.Set("parallel_iterations", *window);
    // Of second derivatives: a loop that has been cut is short on the way back, too.
    if (structured_.attrs.GetOr<bool>(kSegmentsAttr, false)) {
      structured.attrs.Set(std::string(kMemoryAttr), std::string("save"));
    } else if (const auto* memory = structured_.attrs.Get<std::string>(kMemoryAttr)) {
      structured.attrs.Set(std::string(kMemoryAttr), *memory);
    }
    HandBack(AddStructured(body_, structured));
    return absl::OkStatus();
  }

  void AddSavedVars() {
    for (const Expr& list : SavedLists()) AddVar("saved", list);
    if (counts_) AddVar("count", body_.Forward({structured_.id, structured_.num_outputs()}));
    first_counter_ = vars_.size();
    for (const Counter& counter : saved_->counters())
      AddVar("counter", body_.Forward(Output(counter.var)));
    first_carried_ = vars_.size();
    for (const int var : saved_->carried()) AddVar("carried", body_.Forward(Output(var)));
    first_invariant_ = vars_.size();
    for (const int var : saved_->invariants()) AddVar("invariant", body_.Forward(inits_[var]));
  }

  // What the forward loop has saved. In a function it travels as one value, a tape: in loops within
  // loops, each would otherwise have to save the lists of all that are in it, one by one.
  std::vector<Expr> SavedLists() {
    const size_t n = lists_.size();
    TapeOf tape;
    std::vector<Expr> lists;
    for (size_t i = 0; i < n; ++i) {
      const Endpoint list{structured_.id, structured_.num_outputs() + static_cast<int>(i)};
      if (n == 1 || body_.IsMain()) {
        lists.push_back(body_.Forward(list));
        continue;
      }
      tape.values.push_back(list);
      tape.types.push_back(DType::kVariant);
      tape.kinds.push_back(body_.KindOf(list));
    }
    if (tape.values.empty()) return lists;
    ExprBuilder outer(body_.forward());
    outer.set_style({absl::StrCat("gradients/", structured_.name, "/"), structured_.device,
                     structured_.source});
    const Expr written = WriteTape(tape, outer);
    if (!written.ok()) {
      body_.back().Fail(outer.status());
      return {};
    }
    body_.AddKind(written.endpoint().node, TapeOutput().kind);
    return ReadTape(tape, body_.Forward(written.endpoint()));
  }

  void AddAdjointVars() {
    size_t w = 0;
    for (size_t i = 0; i < num_vars(); ++i) {
      if (!active_[i]) continue;
      Adjoint adjoint{i, gradient_->forms[w++], vars_.size()};
      const std::string name = absl::StrCat("d_", function_->args[first_arg_ + i].name);
      if (!invariant_[i]) {
        AddVar(name, body_.Sum(Output(i)));
      } else if (body_.Threads(inits_[i])) {
        if (body_.Has(Output(i))) body_.Add(inits_[i], body_.Sum(Output(i)));
        AddVar(name, body_.Take(inits_[i]));
      } else if (adjoint.form == Form::kDense) {
        AddVar(name, body_.Has(Output(i)) ? body_.Sum(Output(i)) : body_.Zero(inits_[i]));
      } else {
        if (body_.Has(Output(i))) body_.Add(inits_[i], body_.Sum(Output(i)));
        if (adjoint.form == Form::kSlices) AddSliceLists(name, i, w - 1);
      }
      adjoints_.push_back(adjoint);
    }
  }

  size_t FirstResult(size_t wanted) const {
    size_t at = 0;
    for (size_t w = 0; w < wanted; ++w) at += NumResults(gradient_->forms[w]);
    return at;
  }

  void AddSliceLists(const std::string& name, size_t var, size_t wanted) {
    const size_t result = FirstResult(wanted);
    const DType index_type = gradient_->backward.results[result + 1].dtype;
    AddVar(name, EmptyList(body_.back(), body_.AdjointType(inits_[var]), PartialShape()));
    AddVar(absl::StrCat(name, "_indices"),
           EmptyList(body_.back(), index_type, PartialShape::UnknownOfRank(1)));
  }

  absl::StatusOr<Function> BackwardBody() {
    FunctionBuilder builder(transform_.ops(), absl::StrCat(function_->name, "_gradient"));
    ExprBuilder exprs(builder);
    for (Var& var : vars_) {
      var.arg = exprs.At(builder.Arg(var.name, var.init.dtype()));
      var.next = var.arg;
    }
    const std::vector<Expr> saved = FetchSaved(exprs);
    std::vector<Endpoint> values;
    for (const Adjoint& adjoint : adjoints_) {
      if (!invariant_[adjoint.var]) values.push_back(vars_[adjoint.first].arg.endpoint());
    }
    for (const Adjoint& adjoint : adjoints_) {
      if (seeded_[adjoint.var]) values.push_back(vars_[adjoint.first].arg.endpoint());
    }
    GYRE_RETURN_IF_ERROR(exprs.status());
    for (const Expr& e : saved) values.push_back(e.endpoint());
    const std::vector<Endpoint> results = Splice(gradient_->backward, values, builder);
    for (size_t a = 0; a < adjoints_.size(); ++a)
      GYRE_RETURN_IF_ERROR(Accumulate(adjoints_[a], results, FirstResult(a), exprs, builder));
    GYRE_RETURN_IF_ERROR(exprs.status());
    for (const Var& var : vars_) builder.Return(var.name, var.next.endpoint());
    return builder.Build();
  }

  // Pops what was saved and computes the rest again.
  std::vector<Expr> FetchSaved(ExprBuilder& exprs) {
    SavedValues::Given given;
    given.listed.resize(saved_->listed().size());
    for (size_t i = 0; i < lists_.size(); ++i) {
      // Who knows nothing of the list's origin (a tape runs this by itself) learns it from here.
      const Expr shape = ElementShape(exprs, ShapeOfSaved(saved_->listed()[lists_[i][0]]));
      for (auto member = lists_[i].rbegin(); member != lists_[i].rend(); ++member) {
        const std::vector<Expr> popped =
            exprs.Ops("TensorListPopBack", {vars_[i].next, shape},
                      {{"element_dtype", TypeOfSaved(saved_->listed()[*member])}}, 2);
        vars_[i].next = popped[0];
        given.listed[*member] = popped[1];
      }
    }
    if (counts_) vars_[0].next = vars_[0].arg - 1.0;
    for (size_t i = 0; i < saved_->counters().size(); ++i)
      given.counters.push_back(vars_[first_counter_ + i].arg);
    for (size_t i = 0; i < saved_->carried().size(); ++i)
      given.carried.push_back(vars_[first_carried_ + i].arg);
    for (size_t i = 0; i < saved_->invariants().size(); ++i)
      given.invariants.push_back(vars_[first_invariant_ + i].arg);
    if (!exprs.status().ok()) return {};
    std::vector<Expr> before;
    std::vector<Expr> values = saved_->Write(gradient_->saved, given, exprs, before);
    for (size_t i = 0; i < before.size(); ++i) vars_[first_counter_ + i].next = before[i];
    for (size_t i = 0; i < saved_->carried().size(); ++i)
      vars_[first_carried_ + i].next = ListedArg(saved_->carried()[i], given);
    return values;
  }

  // The popped value of a variable's argument.
  Expr ListedArg(int var, const SavedValues::Given& given) const {
    const std::vector<Endpoint>& listed = saved_->listed();
    const auto at = std::find(listed.begin(), listed.end(), saved_->Arg(var));
    return given.listed[at - listed.begin()];
  }

  absl::Status Accumulate(const Adjoint& adjoint, const std::vector<Endpoint>& results, size_t at,
                          ExprBuilder& exprs, FunctionBuilder& builder) {
    Var& var = vars_[adjoint.first];
    const bool is_sum = invariant_[adjoint.var] && !seeded_[adjoint.var];
    if (adjoint.form == Form::kDense) {
      const Expr result = exprs.At(results[at]);
      if (!is_sum || IsProductForOne(results[at], results, builder.function())) {
        if (is_sum)
          GYRE_RETURN_IF_ERROR(AddProductTo(var.arg.endpoint(), results[at].node, builder));
        var.next = result;
      } else {
        var.next = result.dtype() == DType::kVariant ? exprs.Op("AddN", {var.arg, result})
                                                     : var.arg + result;
      }
    } else if (adjoint.form == Form::kSlices) {
      Var& indices = vars_[adjoint.first + 1];
      var.next = exprs.Op("TensorListPushBack", {var.arg, exprs.At(results[at])});
      indices.next = exprs.Op("TensorListPushBack", {indices.arg, exprs.At(results[at + 1])});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Function> BackwardCondition() {
    FunctionBuilder builder(transform_.ops(), absl::StrCat(function_->name, "_goes_on_back"));
    ExprBuilder exprs(builder);
    std::vector<Expr> args;
    for (const Var& var : vars_) args.push_back(exprs.At(builder.Arg(var.name, var.init.dtype())));
    const Expr left = counts_ ? args[0] : exprs.Op("TensorListLength", {args[0]});
    if (!left.ok()) return exprs.status();
    const Expr goes_on = exprs.Op("Greater", {left, exprs.Scalar(left.dtype(), 0)});
    GYRE_RETURN_IF_ERROR(exprs.status());
    builder.Return("goes_on", goes_on.endpoint());
    return builder.Build();
  }

  void HandBack(const std::vector<Expr>& outputs) {
    for (const Adjoint& adjoint : adjoints_) {
      const Endpoint init = inits_[adjoint.var];
      if (!body_.Wants(init)) continue;
      if (adjoint.form == Form::kSlices) {
        const Expr values =
            ConcatList(outputs[adjoint.first], body_.AdjointType(init), body_.Dims(init));
        const DType index_type =
            gradient_->backward.results[FirstResult(&adjoint - adjoints_.data()) + 1].dtype;
        body_.AddSlices(init, {values, ConcatList(outputs[adjoint.first + 1], index_type, Expr())});
      } else if (adjoint.form == Form::kDense) {
        body_.Add(init, outputs[adjoint.first]);
      }
    }
  }

  GradientBody& body_;
  GradientTransform& transform_;
  const Node& structured_;
  const int first_arg_;  // of the body that is a variable
  const std::vector<Endpoint> inits_;
  const Function* function_ = nullptr;
  const Function* condition_ = nullptr;  // null: For
  std::vector<bool> active_;             // by variable
  std::vector<bool> invariant_;
  std::vector<bool> seeded_;
  std::shared_ptr<const FunctionGradient> gradient_;
  std::optional<SavedValues> saved_;
  std::vector<std::vector<size_t>> lists_;  // each of some of saved_->listed(), in their order
  bool counts_ = false;                     // nothing is saved: a variable counts the iterations
  std::vector<Var> vars_;
  size_t first_counter_ = 0, first_carried_ = 0, first_invariant_ = 0;
  std::vector<Adjoint> adjoints_;
};

}  // namespace

absl::Status DifferentiateLoop(GradientBody& body, const Node& structured) {
  return LoopGradient(body, structured).Run();
}

}  // namespace gyre::grad
