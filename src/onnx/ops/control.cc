// If, Loop, Scan: structured nodes of Gyre, whose functions are the graphs of the node. What these
// use from outside is captured.
#include <algorithm>
#include <utility>

#include "base/status.h"
#include "onnx/op_table.h"
#include "onnx/ops/lists.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

std::vector<Expr> ExprsOf(const std::vector<Value>& values) {
  std::vector<Expr> result;
  for (const Value& value : values) result.push_back(value.expr);
  return result;
}

Expr Scalar(Scope& s, const Expr& x) {
  return s.RankOf(x) == 0 ? x : s.Op("Reshape", {x, s.Int64s({})});
}

void OutAll(NodeContext& c, const std::vector<Value>& results) {
  if (static_cast<int>(results.size()) < c.num_outputs())
    return c.Invalid("its branches have fewer outputs");
  for (int i = 0; i < c.num_outputs(); ++i) c.out(i, results[i]);
}

void If(NodeContext& c) {
  const wire::GraphProto* const then = c.Graph("then_branch");
  const wire::GraphProto* const otherwise = c.Graph("else_branch");
  const Expr condition = AsScalar(c, c.in(0));
  if (c.failed()) return;
  // What is known beforehand is no choice: the other branch need not make sense.
  if (const std::optional<bool> known = c.KnownScalar<bool>(condition)) {
    const std::vector<Value> results = c.Body(c.scope(), *known ? *then : *otherwise, {});
    if (c.failed()) return;
    return OutAll(c, results);
  }
  std::vector<Type> types;
  const auto branch = [&](const wire::GraphProto& graph) {
    return [&](Scope& inner) {
      const std::vector<Value> results = c.Body(inner, graph, {});
      if (types.size() < results.size()) types.resize(results.size());
      for (size_t i = 0; i < results.size(); ++i) {
        // Of an empty sequence nobody may know what it is one of.
        const bool says_more = types[i].is_tensor() || types[i].element == nullptr;
        if (says_more) types[i] = results[i].type;
      }
      return ExprsOf(results);
    };
  };
  const std::vector<Expr> results =
      WriteIf(c.scope(), c.name(), condition, branch(*then), branch(*otherwise));
  if (c.failed()) return;
  std::vector<Value> values;
  for (size_t i = 0; i < results.size(); ++i) values.push_back({results[i], types[i]});
  OutAll(c, values);
}

// What the body of a loop makes that is collected: one list each.
class Collected {
 public:
  // Outputs of `graph` from `first` on. Their types are declared or, where they are not, those that
  // `try_body` finds.
  template <typename TryBody>
  Collected(NodeContext& c, const wire::GraphProto& graph, int first, const TryBody& try_body) {
    std::vector<Value> tried;
    for (int i = first; i < graph.output_size(); ++i) {
      const wire::TypeProto& declared = graph.output(i).type();
      if (declared.has_tensor_type() && declared.tensor_type().elem_type() != 0) {
        types_.push_back(Type::Tensor(declared.tensor_type().elem_type()));
      } else {
        if (tried.empty()) {
          const Trial trial_run(c.scope());
          Scope trial(c.scope().writing(), "trial", &c.scope());
          tried = try_body(trial);
          if (trial.failed()) c.Fail(trial.b().status());
          if (c.failed()) return;
        }
        types_.push_back(tried[i].type);
      }
      declared_.push_back(ReadShape(declared));
      const auto dtype = CarrierOf(types_.back());
      if (!dtype.ok()) c.Fail(dtype.status());
      if (!dtype.ok()) return;
      dtypes_.push_back(*dtype);
    }
    shapes_ = declared_;
  }

  size_t size() const { return dtypes_.size(); }
  DType dtype(size_t i) const { return dtypes_[i]; }
  const Type& type(size_t i) const { return types_[i]; }

  std::vector<Expr> Empty(Scope& s) const {
    std::vector<Expr> lists;
    for (const DType dtype : dtypes_) lists.push_back(EmptyList(s, dtype));
    return lists;
  }
  // Notes what is known of an element's shape.
  Expr Push(Scope& s, size_t i, const Expr& list, const Expr& item) {
    const PartialShape& shape = s.ShapeOf(item);
    const auto both = shape.Intersect(declared_[i]);
    shapes_[i] = both.ok() ? *both : shape;
    return Pushed(s, list, item);
  }
  Expr Stack(Scope& s, size_t i, const Expr& list) const {
    return Stacked(s, list, dtypes_[i], shapes_[i]);
  }

 private:
  std::vector<Type> types_;
  std::vector<DType> dtypes_;
  std::vector<PartialShape> declared_, shapes_;
};

// A variable that begins as an optional and goes on as what that holds stays an optional: this
// notes it, for the value behind the loop.
Expr AsCarried(Scope& s, const Type& type, const Value& next, std::optional<Type>& held) {
  if (type.kind != Kind::kOptional || next.type.kind == Kind::kOptional) return next.expr;
  held = next.type;
  return s.Op("OptionalFromValue", {next.expr});
}

// What an optional holds.
Value Held(NodeContext& c, const Expr& optional, const Type& type) {
  const auto dtype = CarrierOf(type);
  if (!dtype.ok()) c.Fail(dtype.status());
  if (c.failed()) return {optional, type};
  return {HeldBy(c.scope(), optional, *dtype), type};
}

// One Loop: its variables are the iteration's number, whether to go on, what is carried, and a list
// for each output that is collected.
void Loop(NodeContext& c) {
  const wire::GraphProto* const graph = c.Graph("body");
  if (c.failed()) return;
  const int carried = std::max(c.num_inputs() - 2, 0);
  if (graph->input_size() != carried + 2 || graph->output_size() < carried + 1)
    return c.Invalid("its body has another number of inputs or outputs than it carries");
  std::vector<Value> initial;
  for (int i = 0; i < carried; ++i) initial.push_back(c.value(i + 2));
  const std::optional<Expr> count =
      c.has(0) ? std::optional(Cast(AsScalar(c, c.in(0)), DType::kInt64)) : std::nullopt;
  const bool has_condition = c.has(1);
  if (c.failed()) return;

  const PartialShape number_shape = ReadShape(graph->input(0).type());
  const bool number_is_vector = number_shape.has_rank() && number_shape.rank() == 1;
  const auto read_body = [&](Scope& s, const Expr& i, const Expr& go, std::vector<Value> values) {
    const Expr number = number_is_vector ? s.Op("Reshape", {i, s.Int64s({1})}) : i;
    values.insert(values.begin(), {Value{number, Type::Tensor(wire::TensorProto::INT64)},
                                   Value{go, Type::Tensor(wire::TensorProto::BOOL)}});
    return c.Body(s, *graph, values);
  };
  const auto reach = [&](Scope& s) {
    std::vector<Value> values = initial;
    for (Value& value : values) value.expr = s.Reach(value.expr);
    return values;
  };
  Collected collected(c, *graph, carried + 1, [&](Scope& s) {
    return read_body(s, s.Int64(0), s.b().Constant(Tensor::Scalar(true)), reach(s));
  });
  if (c.failed()) return;

  Scope& scope = c.scope();
  const Expr yes = c.b().Constant(Tensor::Scalar(true));
  std::vector<Expr> variables = {c.i64(0), has_condition ? AsScalar(c, c.in(1)) : yes};
  for (const Value& value : initial) variables.push_back(value.expr);
  for (const Expr& list : collected.Empty(scope)) variables.push_back(list);
  std::vector<Type> types;
  for (const Value& value : initial) types.push_back(value.type);
  std::vector<std::optional<Type>> held(types.size());

  const auto condition = [&](Scope& s, const std::vector<Expr>& v) -> std::vector<Expr> {
    if (!count) return {s.Op("Identity", {v[1]})};
    return {s.Op("LogicalAnd", {s.Op("Less", {v[0], s.Reach(*count)}), v[1]})};
  };
  const auto body = [&](Scope& s, const std::vector<Expr>& v) -> std::vector<Expr> {
    std::vector<Value> values;
    for (int i = 0; i < carried; ++i) values.push_back({v[i + 2], types[i]});
    const std::vector<Value> results = read_body(s, v[0], v[1], std::move(values));
    if (s.failed()) return {};
    std::vector<Expr> next = {v[0] + 1.0, has_condition ? Scalar(s, results[0].expr) : v[1]};
    for (int i = 0; i < carried; ++i) {
      if (!types[i].is_tensor() && types[i].element == nullptr) types[i] = results[i + 1].type;
      next.push_back(AsCarried(s, types[i], results[i + 1], held[i]));
    }
    for (size_t k = 0; k < collected.size(); ++k)
      next.push_back(collected.Push(s, k, v[2 + carried + k], results[1 + carried + k].expr));
    return next;
  };
  const std::vector<Expr> results = WriteWhile(scope, c.name(), variables, condition, body);
  if (c.failed()) return;
  for (int i = 0; i < carried; ++i) {
    c.out(i, held[i] ? Held(c, results[i + 2], *held[i]) : Value{results[i + 2], types[i]});
  }
  for (size_t k = 0; k < collected.size(); ++k) {
    const Expr stacked = collected.Stack(scope, k, results[2 + carried + k]);
    c.out(carried + static_cast<int>(k), Value{stacked, collected.type(k)});
  }
}

// What a Scan says of its inputs and outputs.
struct ScanPlan {
  const wire::GraphProto* graph = nullptr;
  int states = 0, inputs = 0, outputs = 0;
  std::vector<int64_t> input_axes, input_reversed, output_axes, output_reversed;
};

std::vector<int64_t> Filled(std::vector<int64_t> values, int count) {
  values.resize(count, 0);
  return values;
}

// Scans `inputs`, whose axes are made non-negative, `length` (int64; nullopt: all of it) long.
std::vector<Expr> WriteScan(NodeContext& c, Scope& s, const ScanPlan& plan,
                            const std::vector<Value>& states, const std::vector<Value>& inputs,
                            std::optional<Expr> length) {
  const auto element = [&](Scope& in, size_t k, const Expr& i) {
    const Expr x = in.Reach(inputs[k].expr);
    const Expr axis = in.b().Int(static_cast<int32_t>(plan.input_axes[k]));
    Expr index = i;
    if (plan.input_reversed[k] != 0) index = (in.Reach(*length) - 1.0) - i;
    return Value{in.Op("GatherV2", {x, index, axis}), inputs[k].type};
  };
  if (!length) {
    const Expr dims = s.Op("Shape", {inputs[0].expr}, {{"out_type", DType::kInt64}});
    length =
        s.Op("GatherV2", {dims, s.b().Int(static_cast<int32_t>(plan.input_axes[0])), s.b().Int(0)});
  }
  const auto read_body = [&](Scope& in, const Expr& i, std::vector<Value> values) {
    for (size_t k = 0; k < inputs.size(); ++k) values.push_back(element(in, k, i));
    return c.Body(in, *plan.graph, values);
  };
  Collected collected(c, *plan.graph, plan.states, [&](Scope& in) {
    std::vector<Value> values = states;
    for (Value& value : values) value.expr = in.Reach(value.expr);
    return read_body(in, in.Int64(0), values);
  });
  if (c.failed()) return {};
  std::vector<Expr> variables = ExprsOf(states);
  for (const Expr& list : collected.Empty(s)) variables.push_back(list);
  std::vector<Expr> results =
      WriteFor(s, c.name(), *length, variables,
               [&](Scope& in, const Expr& i, const std::vector<Expr>& v) -> std::vector<Expr> {
                 std::vector<Value> values;
                 for (int k = 0; k < plan.states; ++k) values.push_back({v[k], states[k].type});
                 const std::vector<Value> made = read_body(in, i, values);
                 if (in.failed()) return {};
                 std::vector<Expr> next;
                 for (int k = 0; k < plan.states; ++k) next.push_back(made[k].expr);
                 for (size_t k = 0; k < collected.size(); ++k) {
                   const size_t at = plan.states + k;
                   next.push_back(collected.Push(in, k, v[at], made[at].expr));
                 }
                 return next;
               });
  for (size_t k = 0; k < collected.size() && !s.failed(); ++k) {
    Expr& result = results[plan.states + k];
    result = collected.Stack(s, k, result);
    if (plan.output_reversed[k] != 0) result = s.Op("ReverseV2", {result, s.Int32s({0})});
  }
  return results;
}

// Axis 0 to `axis` of a result, whose rank is found out.
Expr MovedFromFront(NodeContext& c, const Expr& x, int64_t axis) {
  if (axis == 0) return x;
  const int rank = c.Rank(x);
  const int to = c.Axis(axis, std::max(rank, 1));
  std::vector<int64_t> permutation;
  for (int d = 1; d < rank; ++d) permutation.push_back(d);
  permutation.insert(permutation.begin() + std::min<size_t>(to, permutation.size()), 0);
  return Transposed(c, x, permutation);
}

// Before opset 9, every input and output has a batch axis in front, and sequences have lengths: a
// loop over the batch, a Scan in each iteration.
void ScanOfBatch(NodeContext& c, ScanPlan& plan) {
  std::vector<Value> all;
  for (int i = 1; i < c.num_inputs(); ++i) all.push_back(c.value(i));
  plan.states = static_cast<int>(all.size()) - plan.inputs;
  plan.outputs = plan.graph->output_size() - plan.states;
  if (plan.states < 0 || plan.outputs < 0) return c.Invalid("its body has too few outputs");
  plan.input_reversed = Filled(c.Ints("directions"), plan.inputs);
  plan.input_axes.assign(plan.inputs, 0);
  plan.output_axes.assign(plan.outputs, 0);
  plan.output_reversed.assign(plan.outputs, 0);
  const std::optional<Expr> lengths = c.has(0) ? std::optional(c.in(0)) : std::nullopt;
  if (c.failed() || all.empty()) return c.Invalid("it has no inputs");
  std::vector<DType> dtypes(plan.graph->output_size());
  std::vector<Type> types(dtypes.size());
  for (size_t i = 0; i < dtypes.size(); ++i) {
    const wire::TypeProto& declared = plan.graph->output(static_cast<int>(i)).type();
    types[i] = i < static_cast<size_t>(plan.states)
                   ? all[i].type
                   : Type::Tensor(declared.tensor_type().elem_type());
    const auto dtype = CarrierOf(types[i]);
    if (!dtype.ok()) return c.Fail(dtype.status());
    dtypes[i] = *dtype;
  }
  std::vector<Expr> lists;
  for (const DType dtype : dtypes) lists.push_back(EmptyList(c.scope(), dtype));
  std::vector<PartialShape> shapes(dtypes.size());
  const Expr batch = DimOf(c, all[0].expr, 0);
  const std::vector<Expr> results = WriteFor(
      c.scope(), c.name() + "_batch", batch, lists,
      [&](Scope& s, const Expr& b, const std::vector<Expr>& v) -> std::vector<Expr> {
        std::vector<Value> states, inputs;
        const auto row = [&](const Expr& x) {
          return s.Op("GatherV2", {s.Reach(x), b, s.b().Int(0)});
        };
        for (size_t i = 0; i < all.size(); ++i)
          (i < static_cast<size_t>(plan.states) ? states : inputs)
              .push_back({row(all[i].expr), all[i].type});
        const std::vector<Expr> made = WriteScan(
            c, s, plan, states, inputs, lengths ? std::optional(row(*lengths)) : std::nullopt);
        if (s.failed()) return {};
        std::vector<Expr> next;
        for (size_t i = 0; i < made.size(); ++i) {
          shapes[i] = s.ShapeOf(made[i]);
          next.push_back(Pushed(s, v[i], made[i]));
        }
        return next;
      });
  for (size_t i = 0; i < results.size() && !c.failed(); ++i) {
    c.out(static_cast<int>(i),
          Value{Stacked(c.scope(), results[i], dtypes[i], shapes[i]), types[i]});
  }
}

void Scan(NodeContext& c) {
  ScanPlan plan;
  plan.graph = c.Graph("body");
  plan.inputs = static_cast<int>(std::clamp<int64_t>(c.Int("num_scan_inputs", 0), 0, 1 << 20));
  if (c.failed()) return;
  if (plan.inputs < 1) return c.Invalid("it has nothing to scan");
  if (c.opset() < 9) return ScanOfBatch(c, plan);
  plan.states = c.num_inputs() - plan.inputs;
  plan.outputs = plan.graph->output_size() - plan.states;
  if (plan.states < 0 || plan.outputs < 0) return c.Invalid("its body has too few outputs");
  std::vector<Value> states, inputs;
  for (int i = 0; i < c.num_inputs(); ++i)
    (i < plan.states ? states : inputs).push_back(c.value(i));
  plan.input_axes = Filled(c.Ints("scan_input_axes"), plan.inputs);
  plan.input_reversed = Filled(c.Ints("scan_input_directions"), plan.inputs);
  plan.output_axes = Filled(c.Ints("scan_output_axes"), plan.outputs);
  plan.output_reversed = Filled(c.Ints("scan_output_directions"), plan.outputs);
  for (int k = 0; k < plan.inputs && !c.failed(); ++k) {
    if (plan.input_axes[k] != 0) {
      plan.input_axes[k] = c.Axis(plan.input_axes[k], std::max(c.Rank(inputs[k].expr), 1));
    }
  }
  if (c.failed()) return;
  const std::vector<Expr> results = WriteScan(c, c.scope(), plan, states, inputs, std::nullopt);
  for (size_t i = 0; i < results.size() && !c.failed(); ++i) {
    const int k = static_cast<int>(i) - plan.states;
    if (k < 0) {
      c.out(static_cast<int>(i), Value{results[i], states[i].type});
    } else {
      c.out(static_cast<int>(i), MovedFromFront(c, results[i], plan.output_axes[k]));
    }
  }
}

}  // namespace

void AddControlOps(OpTable& t) {
  t.Add("If", If);
  t.Add("Loop", Loop);
  t.Add("Scan", Scan);
}

}  // namespace gyre::onnx
