// RNN, GRU, LSTM: a loop for each direction, over products with the inputs that are made
// beforehand, all at once. The other way round, the sequence is turned before and after.
#include <algorithm>
#include <functional>

#include "absl/strings/ascii.h"
#include "onnx/op_table.h"
#include "onnx/ops/lists.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

struct Activation {
  std::string name;  // in small letters
  double alpha = 0, beta = 0;
};

Activation WithDefaults(std::string name) {
  absl::AsciiStrToLower(&name);
  if (name == "leakyrelu") return {name, 0.01, 0};
  if (name == "thresholdedrelu" || name == "elu") return {name, 1, 0};
  if (name == "hardsigmoid") return {name, 0.2, 0.5};
  if (name == "scaledtanh") return {name, 1, 1};
  if (name == "affine") return {name, 1, 0};
  return {name, 0, 0};
}

int NumParameters(const std::string& name) {
  if (name == "leakyrelu" || name == "thresholdedrelu" || name == "elu") return 1;
  return name == "hardsigmoid" || name == "scaledtanh" || name == "affine" ? 2 : 0;
}

Expr Activated(Scope& s, const Activation& f, const Expr& x) {
  if (s.failed()) return x;
  const auto number = [&](double value) { return s.Scalar(x.dtype(), value); };
  const auto positive = [&] { return s.Op("Greater", {x, number(0)}); };
  if (f.name == "sigmoid") return s.Op("Sigmoid", {x});
  if (f.name == "tanh") return s.Op("Tanh", {x});
  if (f.name == "relu") return s.Op("Relu", {x});
  if (f.name == "softplus") return s.Op("Softplus", {x});
  if (f.name == "softsign") return x / (s.Op("Abs", {x}) + 1.0);
  if (f.name == "affine") return f.alpha * x + f.beta;
  if (f.name == "leakyrelu") return Where(positive(), x, f.alpha * x);
  if (f.name == "elu") return Where(positive(), x, f.alpha * s.Op("Expm1", {x}));
  if (f.name == "scaledtanh") return f.alpha * s.Op("Tanh", {f.beta * x});
  if (f.name == "thresholdedrelu")
    return Where(s.Op("Greater", {x, number(f.alpha)}), x, number(0));
  if (f.name == "hardsigmoid") {
    const Expr line = f.alpha * x + f.beta;
    return s.Op("Minimum", {s.Op("Maximum", {line, number(0)}), number(1)});
  }
  s.Fail(absl::UnimplementedError(absl::StrCat("the activation '", f.name, "'")));
  return x;
}

// What a cell of one direction is made of.
struct Cell {
  std::vector<Activation> f;
  Expr recurrent;       // R transposed, [hidden, gates * hidden]
  Expr recurrent_bias;  // [gates * hidden]; only where it is not part of the inputs
  Expr peepholes;       // [3 * hidden], of an LSTM; not ok: none
  double clip = 0;      // 0: none
  bool linear_before_reset = false;
  bool couples = false;  // input and forget gates
};

// A step: from what the inputs contribute, [batch, gates * hidden], and the state (h, and c).
using StepFn = std::vector<Expr> (*)(Scope&, const Cell&, const Expr& x,
                                     const std::vector<Expr>& state);

Expr Clipped(Scope& s, const Cell& cell, const Expr& x) {
  if (cell.clip <= 0) return x;
  const Expr limit = s.Scalar(x.dtype(), cell.clip);
  return s.Op("Maximum", {s.Op("Minimum", {x, limit}), -limit});
}

Expr Gate(Scope& s, const Cell& cell, int f, const Expr& x) {
  return Activated(s, cell.f[f], Clipped(s, cell, x));
}

std::vector<Expr> Split(Scope& s, const Expr& x, int parts) {
  const int axis = s.RankOf(x) == 1 ? 0 : 1;
  return s.b().Ops("Split", {s.b().Int(axis), x}, {{"num_split", int64_t{parts}}}, parts);
}

std::vector<Expr> RnnStep(Scope& s, const Cell& cell, const Expr& x,
                          const std::vector<Expr>& state) {
  return {Gate(s, cell, 0, x + s.Op("MatMul", {state[0], s.Reach(cell.recurrent)}))};
}

std::vector<Expr> GruStep(Scope& s, const Cell& cell, const Expr& x,
                          const std::vector<Expr>& state) {
  const Expr h = state[0], r_all = s.Reach(cell.recurrent), bias = s.Reach(cell.recurrent_bias);
  const std::vector<Expr> from_x = Split(s, x, 3), r = Split(s, r_all, 3), b = Split(s, bias, 3);
  const auto from_h = [&](int i, const Expr& value) { return s.Op("MatMul", {value, r[i]}); };
  const Expr update = Gate(s, cell, 0, from_x[0] + from_h(0, h) + b[0]);
  const Expr reset = Gate(s, cell, 0, from_x[1] + from_h(1, h) + b[1]);
  const Expr hidden =
      cell.linear_before_reset ? reset * (from_h(2, h) + b[2]) : from_h(2, reset * h) + b[2];
  const Expr candidate = Gate(s, cell, 1, from_x[2] + hidden);
  return {(1.0 - update) * candidate + update * h};
}

std::vector<Expr> LstmStep(Scope& s, const Cell& cell, const Expr& x,
                           const std::vector<Expr>& state) {
  const Expr c = state[1];
  const std::vector<Expr> gates =
      Split(s, x + s.Op("MatMul", {state[0], s.Reach(cell.recurrent)}), 4);
  std::vector<Expr> p;
  if (cell.peepholes.ok()) p = Split(s, s.Reach(cell.peepholes), 3);
  const auto peep = [&](const Expr& gate, int i, const Expr& at) {
    return p.empty() ? gate : gate + p[i] * at;
  };
  const Expr input = Gate(s, cell, 0, peep(gates[0], 0, c));
  const Expr forget = cell.couples ? 1.0 - input : Gate(s, cell, 0, peep(gates[2], 2, c));
  const Expr next_c = forget * c + input * Gate(s, cell, 1, gates[3]);
  const Expr output = Gate(s, cell, 0, peep(gates[1], 1, next_c));
  return {output * Activated(s, cell.f[2], next_c), next_c};
}

// What the three share.
class Recurrence {
 public:
  Recurrence(NodeContext& c, int gates, int states, std::vector<std::string> defaults, StepFn step)
      : c_(c), gates_(gates), states_(states), defaults_(std::move(defaults)), step_(step) {}

  void Write() {
    x_ = c_.in(0);
    batch_first_ = c_.Int("layout", 0) != 0;
    const std::string direction = c_.Text("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      return c_.Invalid("direction is not one of forward, reverse, bidirectional");
    if (batch_first_) x_ = Transposed(c_, x_, {1, 0, 2});
    if (c_.has(4)) lengths_ = Cast(c_.in(4), DType::kInt64);
    const int directions = direction == "bidirectional" ? 2 : 1;
    ReadActivations(directions);
    std::vector<std::vector<Expr>> results;
    for (int d = 0; d < directions && !c_.failed(); ++d)
      results.push_back(Direction(d, direction == "reverse" || d == 1));
    if (c_.failed()) return;
    // Sequences are [length, directions, batch, hidden], states [directions, batch, hidden].
    for (int i = 0; i <= states_; ++i) {
      std::vector<Expr> parts;
      for (const auto& result : results) parts.push_back(result[i]);
      const Expr y = c_.op("Pack", parts, {{"axis", int64_t{i == 0 ? 1 : 0}}});
      if (!batch_first_) {
        c_.out(i, y);
      } else {
        c_.out(i, i == 0 ? Transposed(c_, y, {2, 0, 1, 3}) : Transposed(c_, y, {1, 0, 2}));
      }
    }
  }

 private:
  void ReadActivations(int directions) {
    std::vector<std::string> names = c_.Texts("activations");
    const size_t count = defaults_.size() * directions;
    if (names.empty()) {
      for (size_t i = 0; i < count; ++i) names.push_back(defaults_[i % defaults_.size()]);
    }
    if (names.size() != count) return c_.Invalid("it has another number of activations");
    const std::vector<float> alphas = c_.Floats("activation_alpha");
    const std::vector<float> betas = c_.Floats("activation_beta");
    size_t alpha = 0, beta = 0;
    for (const std::string& name : names) {
      Activation f = WithDefaults(name);
      const int parameters = NumParameters(f.name);
      if (parameters > 0 && alpha < alphas.size()) f.alpha = alphas[alpha++];
      if (parameters > 1 && beta < betas.size()) f.beta = betas[beta++];
      activations_.push_back(f);
    }
  }

  Expr Part(int input, int direction) { return Taken(c_, c_.in(input), c_.b().Int(direction), 0); }

  Expr Turned(const Expr& x) {
    if (!lengths_.ok()) return c_.op("ReverseV2", {x, c_.i32s({0})});
    return c_.op("ReverseSequence", {x, lengths_},
                 {{"seq_dim", int64_t{0}}, {"batch_dim", int64_t{1}}});
  }

  Expr InitialState(int input, int direction, const Expr& hidden) {
    if (!c_.has(input))
      return c_.op("Fill", {Pack(c_, {DimOf(c_, x_, 1), hidden}), c_.scalar(x_.dtype(), 0)});
    Expr state = c_.in(input);
    if (batch_first_) state = Transposed(c_, state, {1, 0, 2});
    return Taken(c_, state, c_.b().Int(direction), 0);
  }

  // The outputs of all steps, and the states after the last.
  std::vector<Expr> Direction(int d, bool is_reverse) {
    const Expr weights = Part(1, d), recurrent = Part(2, d);
    const Expr hidden = DimOf(c_, recurrent, 1);
    Cell cell;
    const size_t n = defaults_.size();
    cell.f.assign(activations_.begin() + d * n, activations_.begin() + (d + 1) * n);
    cell.recurrent = c_.op("Transpose", {recurrent, c_.i32s({1, 0})});
    cell.clip = c_.Float("clip", 0);
    cell.linear_before_reset = c_.Int("linear_before_reset", 0) != 0;
    cell.couples = c_.Int("input_forget", 0) != 0;
    if (c_.has(7)) cell.peepholes = Part(7, d);
    const Expr x = is_reverse ? Turned(x_) : x_;
    Expr from_x = c_.op("BatchMatMulV2", {x, Unsqueezed(c_, weights, 0)}, {{"adj_y", true}});
    const Expr width = static_cast<double>(gates_) * hidden;
    if (c_.has(3)) {
      const auto biases =
          c_.b().Ops("Split", {c_.b().Int(0), Part(3, d)}, {{"num_split", int64_t{2}}}, 2);
      from_x = from_x + biases[0];
      cell.recurrent_bias = biases[1];
      if (gates_ != 3) from_x = from_x + biases[1];
    } else if (gates_ == 3) {
      cell.recurrent_bias = c_.op("Fill", {Pack(c_, {width}), c_.scalar(x_.dtype(), 0)});
    }
    std::vector<Expr> variables = {EmptyList(c_.scope(), x_.dtype())};
    for (int i = 0; i < states_; ++i) variables.push_back(InitialState(5 + i, d, hidden));
    if (c_.failed()) return {};
    PartialShape shape;
    std::vector<Expr> results = WriteFor(c_.scope(), c_.name(), DimOf(c_, x_, 0), variables,
                                         [&](Scope& s, const Expr& i, const std::vector<Expr>& v) {
                                           return Step(s, cell, s.Reach(from_x), i, v, shape);
                                         });
    if (c_.failed()) return {};
    results[0] = Stacked(c_.scope(), results[0], x_.dtype(), shape);
    if (is_reverse) results[0] = Turned(results[0]);
    return results;
  }

  // Behind the end of a sequence its state stays, and its outputs are zero.
  std::vector<Expr> Step(Scope& s, const Cell& cell, const Expr& from_x, const Expr& i,
                         const std::vector<Expr>& v, PartialShape& shape) {
    const Expr x = s.Op("GatherV2", {from_x, i, s.b().Int(0)});
    const std::vector<Expr> state(v.begin() + 1, v.end());
    std::vector<Expr> next = step_(s, cell, x, state);
    Expr output = next[0];
    if (lengths_.ok() && !s.failed()) {
      const Expr goes_on = s.Op("ExpandDims", {s.Op("Less", {i, s.Reach(lengths_)}), s.b().Int(1)});
      for (size_t k = 0; k < next.size(); ++k) next[k] = Where(goes_on, next[k], state[k]);
      output = Where(goes_on, output, s.Scalar(output.dtype(), 0));
    }
    shape = s.ShapeOf(output);
    next.insert(next.begin(), Pushed(s, v[0], output));
    return next;
  }

  NodeContext& c_;
  const int gates_, states_;
  const std::vector<std::string> defaults_;
  const StepFn step_;
  Expr x_, lengths_;
  bool batch_first_ = false;
  std::vector<Activation> activations_;
};

void Rnn(NodeContext& c) { Recurrence(c, 1, 1, {"Tanh"}, RnnStep).Write(); }
void Gru(NodeContext& c) { Recurrence(c, 3, 1, {"Sigmoid", "Tanh"}, GruStep).Write(); }
void Lstm(NodeContext& c) { Recurrence(c, 4, 2, {"Sigmoid", "Tanh", "Tanh"}, LstmStep).Write(); }

}  // namespace

void AddRecurrentOps(OpTable& t) {
  t.Add("GRU", Gru);
  t.Add("LSTM", Lstm);
  t.Add("RNN", Rnn);
}

}  // namespace gyre::onnx
