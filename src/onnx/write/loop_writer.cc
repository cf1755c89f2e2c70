// While and For as Loop.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/pass_through.h"
#include "ir/calls.h"
#include "onnx/write/program_writer.h"

namespace gyre::onnx {

// One loop.
class LoopWriter {
 public:
  LoopWriter(ProgramWriter& writer, const Function& function, const Node& node,
             const ModelValues& inputs)
      : w_(writer), e_(writer.e_), model_(writer.model_), function_(function), node_(node) {
    counters_ = NumCounterArgs(node);
    const size_t selectors = std::min<size_t>(NumSelectorInputs(node), inputs.size());
    bounds_.assign(inputs.begin(), inputs.begin() + selectors);
    initial_.assign(inputs.begin() + selectors, inputs.end());
  }

  ModelValues Write() {
    const std::vector<Callee> callees = CalleesOf(w_.program_, node_);
    for (const Callee& callee : callees) {
      const Function* const function = w_.Enter(callee.function);
      if (function == nullptr) return {};
      w_.Leave();
      (callee.is_condition() ? cond_ : body_) = function;
    }
    const size_t variables = initial_.size();
    const bool is_sound = body_ != nullptr && body_->results.size() == variables &&
                          body_->arg_nodes.size() == variables + counters_ &&
                          bounds_.size() == static_cast<size_t>(NumSelectorInputs(node_)) &&
                          (counters_ > 0 || (cond_ != nullptr && cond_->results.size() == 1 &&
                                             cond_->arg_nodes.size() == variables));
    if (!is_sound) {
      e_.Invalid("its functions do not fit its variables");
      return {};
    }
    Sort();
    return WriteNode();
  }

 private:
  enum class Way { kFixed, kCarried, kCollected };

  // What iterations do with each variable.
  void Sort() {
    const std::vector<bool> fixed = InvariantVariables(*body_, counters_);
    for (size_t i = 0; i < initial_.size(); ++i) {
      Way way = fixed[i] ? Way::kFixed : Way::kCarried;
      Endpoint item;
      if (way == Way::kCarried && CollectedItem(i, &item)) way = Way::kCollected;
      ways_.push_back(way);
      items_.push_back(item);
    }
  }

  int Uses(const Function& function, NodeId node) const {
    int uses = 0;
    for (const Node& user : function.nodes) {
      for (const Endpoint& input : user.inputs) uses += input.node == node ? 1 : 0;
    }
    for (const FunctionResult& result : function.results) uses += result.value.node == node ? 1 : 0;
    return uses;
  }

  // Whether variable i begins as a list without elements, to which each iteration adds `item`.
  bool CollectedItem(size_t i, Endpoint* item) const {
    const ModelValue& list = initial_[i];
    if (list.kind != Kind::kSequence || list.length == nullptr) return false;
    const NodeId arg = body_->arg_nodes[i + counters_];
    const Endpoint made = PastIdentities(*body_, body_->results[i].value);
    const Node& node = body_->node(made.node);
    const auto is_list = [&](size_t input) {
      return PastIdentities(*body_, node.inputs[input]) == Endpoint{arg, 0};
    };
    if (Uses(*body_, arg) != 1 || (cond_ != nullptr && Uses(*cond_, cond_->arg_nodes[i]) > 0))
      return false;
    switch (LoopPartOf(node)) {
      case LoopPart::kAppends:
        *item = node.inputs[1];
        return is_list(0) && Emitter::IntOf(*list.length) == 0 && AreAlike(i, *item);
      case LoopPart::kSets:
      case LoopPart::kWrites:
        *item = node.inputs[2];
        return is_list(LoopPartOf(node) == LoopPart::kSets ? 0 : 3) &&
               CountsIterations(node.inputs[1]) && ItemRank(*item) >= 0 && AreAlike(i, *item);
      default:
        return false;
    }
  }

  // Whether the elements have one shape: it is known, or the list is only stacked.
  bool AreAlike(size_t i, Endpoint item) const {
    if (w_.ShapesOf(*body_).at(item).shape.IsFullyKnown()) return true;
    const Endpoint list{node_.id, static_cast<int>(i)};
    std::vector<Endpoint> pending = {list};
    for (size_t k = 0; k < pending.size(); ++k) {
      const auto& fetched = w_.wanted_;
      if (&function_ == &w_.program_.main() &&
          std::find(fetched.begin(), fetched.end(), pending[k]) != fetched.end()) {
        return false;
      }
      for (const FunctionResult& result : function_.results) {
        if (result.value == pending[k]) return false;
      }
      for (const Node& user : function_.nodes) {
        if (std::find(user.inputs.begin(), user.inputs.end(), pending[k]) == user.inputs.end())
          continue;
        if (user.kind() == OpKind::kIdentity) {
          pending.push_back({user.id, 0});
        } else if (LoopPartOf(user) != LoopPart::kStacks) {
          return false;
        }
      }
    }
    return true;
  }

  int ItemRank(Endpoint item) const {
    const PartialShape& shape = w_.ShapesOf(*body_).at(item).shape;
    return shape.has_rank() ? shape.rank() : -1;
  }

  // Whether a value of the body is the number of the iteration: For's own counter, or a variable
  // that begins at 0 and goes on by 1.
  bool CountsIterations(Endpoint value) const {
    const int arg = ArgumentOf(*body_, value);
    if (arg < 0) return false;
    if (arg < counters_) return Emitter::IntOf(bounds_[0]) == 0 && Emitter::IntOf(bounds_[2]) == 1;
    const size_t variable = arg - counters_;
    if (Emitter::IntOf(initial_[variable]) != 0) return false;
    const Node& next = body_->node(PastIdentities(*body_, body_->results[variable].value).node);
    if (next.role() != Role::kSum || next.inputs.size() != 2) return false;
    for (int k = 0; k < 2; ++k) {
      const Tensor* const step =
          ConstantValue(body_->node(PastIdentities(*body_, next.inputs[1 - k]).node));
      if (ArgumentOf(*body_, next.inputs[k]) == arg && step != nullptr &&
          Emitter::IntOf(Emitter::Known(*step)) == 1) {
        return true;
      }
    }
    return false;
  }

  // Whether there are as many iterations as the list has places, so far as names tell.
  bool FillsList(const ModelValue& list) const {
    if (counters_ > 0) return IsSame(bounds_[1], *list.length);
    return Reaches(cond_->results[0].value, *list.length);
  }
  bool Reaches(Endpoint condition, const ModelValue& length) const {
    const Node& node = cond_->node(PastIdentities(*cond_, condition).node);
    if (LoopPartOf(node) == LoopPart::kBoth)
      return Reaches(node.inputs[0], length) && Reaches(node.inputs[1], length);
    if (LoopPartOf(node) != LoopPart::kCompares) return false;
    const int counter = ArgumentOf(*cond_, node.inputs[0]);
    if (counter < 0 || !CountsIterations({body_->arg_nodes[counter], 0})) return false;
    const Endpoint limit = PastIdentities(*cond_, node.inputs[1]);
    if (const Tensor* const known = ConstantValue(cond_->node(limit.node)))
      return IsSame(Emitter::Known(*known), length);
    const int arg = ArgumentOf(*cond_, limit);
    return arg >= 0 && ways_[arg] == Way::kFixed && IsSame(initial_[arg], length);
  }
  bool IsSame(const ModelValue& x, const ModelValue& y) const {
    const auto a = Emitter::IntOf(x), b = Emitter::IntOf(y);
    if (a || b) return a == b;
    if (x.name.empty() || y.name.empty()) return false;
    const auto wide = [&](const ModelValue& v) {
      const auto it = model_.widened.find(v.name);
      return it == model_.widened.end() ? v.name : it->second;
    };
    return wide(x) == wide(y);
  }

  // How often a For runs, int64.
  ModelValue Trips() {
    const ModelValue start = e_.AsInt64(bounds_[0]), limit = e_.AsInt64(bounds_[1]),
                     delta = e_.AsInt64(bounds_[2]);
    const auto known = Emitter::IntOf(delta);
    const ModelValue one = Emitter::I64(1), distance = e_.Sub(limit, start);
    if (known == 1) return distance;
    if (known == 0) {
      e_.Invalid("its delta is 0");
      return distance;
    }
    // Rounded up, away from the start.
    const ModelValue is_up = e_.Binary("Greater", delta, Emitter::I64(0));
    const ModelValue most = e_.Where(is_up, e_.Sub(delta, one), e_.Add(delta, one));
    return e_.Div(e_.Add(distance, most), delta);
  }

  ModelValue Input(const std::string& wanted, ModelValue like) {
    like.BecomeComputed(model_.NewName(absl::StrCat(node_.name, "/", wanted)));
    model_.AddInput(like);
    return like;
  }

  // The variables within the body, whose inputs are made of those that are carried.
  ModelValues OpenBody(ModelValue* number) {
    ModelValue scalar;
    scalar.shape = PartialShape::Scalar();
    scalar.dtype = DType::kInt64;
    model_.Open(absl::StrCat(node_.name, "/body"));
    *number = Input("iteration", scalar);
    scalar.dtype = DType::kBool;
    go_ = Input("go", scalar);
    const FunctionShapes& shapes = w_.ShapesOf(*body_);
    ModelValues variables;
    for (size_t i = 0; i < initial_.size(); ++i) {
      if (ways_[i] != Way::kCarried) {
        variables.push_back(ways_[i] == Way::kFixed ? initial_[i] : ModelValue());
        continue;
      }
      const ValueInfo& info = shapes.at({body_->arg_nodes[i + counters_], 0});
      ModelValue like = initial_[i];
      if (like.kind == Kind::kTensor) {
        like.shape = info.shape;
      } else if (info.handle) {
        like.shape = info.handle->shape;
      } else {
        like.shape = like.handle != nullptr ? like.handle->shape : PartialShape();
      }
      variables.push_back(Input(absl::StrCat("variable_", i), like));
    }
    return variables;
  }

  ModelValue Condition(const ModelValues& variables) {
    w_.Enter({cond_->name, nullptr});
    const ModelValues results =
        w_.Write(*cond_, w_.ArgsOf(*cond_, variables), {cond_->results[0].value});
    w_.Leave();
    return model_.failed() ? results[0] : e_.Truth(results[0]);
  }

  // With what all iterations have in common: elements that are never written are zeros of it.
  ModelValue Shaped(ModelValue list, size_t i) const {
    const ValueInfo& info = w_.ShapesOf(*body_).at({body_->arg_nodes[i + counters_], 0});
    if (info.handle) {
      const auto both = list.shape.Intersect(info.handle->shape);
      if (both.ok()) list.shape = *both;
    }
    return list;
  }

  ModelValues WriteNode() {
    for (size_t i = 0; i < initial_.size(); ++i) {
      ModelValue& initial = initial_[i];
      if (ways_[i] == Way::kCarried && initial.kind == Kind::kSequence)
        initial = e_.AsSequence(Shaped(initial, i));
      if (ways_[i] == Way::kCarried && initial.kind == Kind::kTensor && initial.handle != nullptr)
        e_.Unsupported("a variable or array that changes from one iteration to the next");
    }
    if (model_.failed()) return {};
    ModelValue count, first;
    if (counters_ > 0) {
      count = Trips();
    } else {
      first = Condition(initial_);
    }
    if (model_.failed()) return {};
    ModelValue number;
    const ModelValues variables = OpenBody(&number);
    ModelValues results = WriteBody(number, variables);
    wire::GraphProto graph = model_.Close();
    if (model_.failed()) return {};
    model_.set_stem(node_.name);
    return AddLoop(count, first, std::move(graph), results);
  }

  // What the body makes of each variable; of one that is collected, the element.
  ModelValues WriteBody(const ModelValue& number, const ModelValues& variables) {
    ModelValues args = variables;
    if (counters_ > 0) {
      const ModelValue step = e_.Mul(e_.Cast(number, DType::kInt32), bounds_[2]);
      args.insert(args.begin(), e_.Add(bounds_[0], step));
    }
    std::vector<Endpoint> wanted;
    for (size_t i = 0; i < initial_.size(); ++i) {
      wanted.push_back(ways_[i] == Way::kCollected ? items_[i] : body_->results[i].value);
    }
    w_.Enter({body_->name, nullptr});
    if (model_.failed()) return {};
    ModelValues results = w_.Write(*body_, w_.ArgsOf(*body_, args), wanted);
    w_.Leave();
    if (model_.failed()) return results;
    const ModelValue go = counters_ > 0 ? go_ : Condition(Next(results, variables));
    model_.set_stem(node_.name);
    model_.AddOutput(go, false);
    for (const Way way : {Way::kCarried, Way::kCollected}) {
      for (size_t i = 0; i < results.size(); ++i) {
        if (ways_[i] != way) continue;
        if (way == Way::kCarried && results[i].kind == Kind::kSequence)
          results[i] = e_.AsSequence(results[i]);
        const bool is_fine = way == Way::kCarried ? results[i].kind == variables[i].kind &&
                                                        results[i].dtype == variables[i].dtype
                                                  : results[i].kind == Kind::kTensor;
        if (!is_fine) e_.Unsupported(absl::StrCat("its variable ", i, " is not of one type"));
        model_.AddOutput(results[i], way == Way::kCollected);
      }
    }
    return results;
  }

  // The variables of the next iteration, for its condition, which looks at none that is collected.
  ModelValues Next(const ModelValues& results, const ModelValues& variables) const {
    ModelValues next = results;
    for (size_t i = 0; i < next.size(); ++i) {
      if (ways_[i] == Way::kFixed) next[i] = variables[i];
    }
    return next;
  }

  ModelValues AddLoop(const ModelValue& count, const ModelValue& first, wire::GraphProto graph,
                      const ModelValues& results) {
    ModelValues inputs = {count, first};
    std::vector<DType> dtypes;
    std::vector<size_t> places;
    for (const Way way : {Way::kCarried, Way::kCollected}) {
      for (size_t i = 0; i < initial_.size(); ++i) {
        if (ways_[i] != way) continue;
        if (way == Way::kCarried) inputs.push_back(initial_[i]);
        places.push_back(i);
        dtypes.push_back(results[i].dtype);
      }
    }
    ModelValues made = initial_;
    if (places.empty()) return made;
    Attrs attrs;
    attrs.push_back(GraphAttr("body", std::move(graph)));
    const ModelValues outputs = e_.Ops("Loop", inputs, std::move(attrs), dtypes);
    for (size_t k = 0; k < places.size() && !model_.failed(); ++k) {
      const size_t i = places[k];
      if (ways_[i] == Way::kCollected) {
        made[i] = Collected(outputs[k], initial_[i], results[i]);
        continue;
      }
      made[i].BecomeComputed(outputs[k].name);
      made[i].shape = PartialShape();
    }
    return made;
  }

  // The list of what a Loop collected: as long as it was, with zeros behind.
  ModelValue Collected(ModelValue rows, const ModelValue& before, const ModelValue& item) {
    if (item.has_rank()) {
      Dims dims(item.shape.dims().begin(), item.shape.dims().end());
      dims.insert(dims.begin(), -1);
      rows.shape = PartialShape(dims);
    }
    const bool grows = Emitter::IntOf(*before.length) == 0 ||
                       (before.handle != nullptr && before.handle->may_grow);
    if (!grows && !FillsList(before)) {
      const ModelValue missing = e_.Max(e_.Sub(*before.length, e_.DimOf(rows, 0)), Emitter::I64(0));
      const std::vector<int64_t> none(item.rank(), 0);
      const ModelValue pads = e_.Concat({Emitter::I64s(std::vector<int64_t>(item.rank() + 1, 0)),
                                         e_.Unsqueeze(missing, {0}), Emitter::I64s(none)},
                                        0);
      const PartialShape shape = rows.shape;
      rows = e_.Op("Pad", {rows, pads}, {}, rows.dtype, shape);
    }
    ModelValue list = Emitter::ListOfRows(rows);
    list.handle = before.handle;
    return list;
  }

  ProgramWriter& w_;
  Emitter& e_;
  ModelWriter& model_;
  const Function& function_;  // that the loop is in
  const Node& node_;
  int counters_ = 0;
  ModelValues bounds_, initial_;
  const Function *cond_ = nullptr, *body_ = nullptr;
  std::vector<Way> ways_;
  std::vector<Endpoint> items_;
  ModelValue go_;
};

ModelValues WriteLoop(ProgramWriter& writer, const Function& function, const Node& node,
                      const ModelValues& inputs) {
  return LoopWriter(writer, function, node, inputs).Write();
}

}  // namespace gyre::onnx
