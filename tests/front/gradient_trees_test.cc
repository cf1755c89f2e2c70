// Gradients of recursion over trees, against the same recursion in plain C++.
#include <cmath>

#include "front/differences.h"

namespace gyre::testing {
namespace {

using GradientTrees = OnEngine;
GYRE_ON_EACH_ENGINE(GradientTrees);

// The children of each node, -1 for none.

struct Tree {
  std::vector<int32_t> left, right, leaf;
};

const Tree kTrees[] = {
    {{1, 3, -1, -1, -1}, {2, 4, -1, -1, -1}, {-1, -1, 0, 2, 1}},
    {{1, 2, 3, -1, -1, -1, -1}, {6, 5, 4, -1, -1, -1, -1}, {-1, -1, -1, 3, 3, 1, 0}},
    {{-1}, {-1}, {2}}};

TEST_P(GradientTrees, ATreeSumByRecursion) {
  // sum(i) = x[i] + w (sum(left) + sum(right)), which is Σ w^depth x.
  const Value left = placeholder(DType::kInt32, {-1}), right = placeholder(DType::kInt32, {-1});
  const Value x = Double({-1}), w = Double();
  auto sum = declare<Value(Value)>("sum", {{DType::kInt32, PartialShape::Scalar()}},
                                   {{DType::kDouble, PartialShape::Scalar()}});
  sum.define([&](Value i) {
    return cond(
        i < 0, [] { return Value(0.0); },
        [&] { return x[i] + w * (sum(left[i]) + sum(right[i])); });
  });
  const std::vector<Value> g = gradients({sum(0)}, {x, w});
  const Value gg = Gradient(g[1], w);
  for (const Tree& tree : kTrees) {
    const size_t n = tree.left.size();
    const Doubles values = Numbers(n);
    Doubles by_x(n);
    double by_w = 0, twice_by_w = 0;
    const std::function<void(int32_t, int)> visit = [&](int32_t i, int depth) {
      if (i < 0) return;
      const auto at = static_cast<size_t>(i);
      by_x[at] = std::pow(0.5, depth);
      by_w += values[at] * depth * std::pow(0.5, depth - 1);
      twice_by_w += values[at] * depth * (depth - 1) * std::pow(0.5, depth - 2);
      visit(tree.left[at], depth + 1);
      visit(tree.right[at], depth + 1);
    };
    visit(0, 0);
    const FeedList feeds = {
        {left, Ints(tree.left)}, {right, Ints(tree.right)}, {x, Of(values)}, {w, D(0.5)}};
    ExpectNear(EvalVector<double>(g[0], feeds), by_x);
    ExpectNear(EvalVector<double>(g[1], feeds), {by_w});
    ExpectNear(EvalVector<double>(gg, feeds), {twice_by_w});
  }
}

// A binary tree-LSTM (Tai et al., Improved semantic representations from tree-structured long
// short-term memory networks, 2015) without its biases but those of the forget gates.
constexpr size_t kWidth = 3, kWords = 4;
struct Weights {
  // Words; gates of a leaf; gates of an inner node, with two that forget; what these begin with;
  // what is made of the root.
  Doubles words = Numbers(kWords * kWidth, 1), leaf = Numbers(kWidth * 3 * kWidth, 2),
          inner = Numbers(2 * kWidth * 5 * kWidth, 3), forget = Numbers(2 * kWidth, 4),
          out = Numbers(kWidth, 5);
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double TreeLstm(const Tree& tree, const Weights& weights) {
  using Cell = std::pair<Doubles, Doubles>;  // h, c
  const std::function<Cell(int32_t)> visit = [&](int32_t i) {
    const auto at = static_cast<size_t>(i);
    Cell cell = {Doubles(kWidth), Doubles(kWidth)};
    Doubles gates;
    if (tree.left[at] < 0) {
      const Doubles word = Part(weights.words, static_cast<size_t>(tree.leaf[at]) * kWidth, kWidth);
      gates = Product(word, weights.leaf, kWidth);
    } else {
      const Cell a = visit(tree.left[at]), b = visit(tree.right[at]);
      Doubles both = a.first;
      both.insert(both.end(), b.first.begin(), b.first.end());
      gates = Product(both, weights.inner, 2 * kWidth);
      for (size_t k = 0; k < kWidth; ++k) {
        cell.second[k] = a.second[k] * Sigmoid(gates[3 * kWidth + k] + weights.forget[k]) +
                         b.second[k] * Sigmoid(gates[4 * kWidth + k] + weights.forget[kWidth + k]);
      }
    }
    for (size_t k = 0; k < kWidth; ++k) {
      cell.second[k] += Sigmoid(gates[k]) * std::tanh(gates[2 * kWidth + k]);
      cell.first[k] = Sigmoid(gates[kWidth + k]) * std::tanh(cell.second[k]);
    }
    return cell;
  };
  const Doubles h = visit(0).first;
  double sum = 0;
  for (size_t k = 0; k < kWidth; ++k) sum += h[k] * weights.out[k];
  return sum;
}

TEST_P(GradientTrees, ATreeLstmByRecursion) {
  constexpr int64_t n = kWidth;
  const Value left = placeholder(DType::kInt32, {-1}), right = placeholder(DType::kInt32, {-1});
  const Value leaf_of = placeholder(DType::kInt32, {-1});
  const Value words = Double({kWords, n}), leaf = Double({n, 3 * n}),
              inner = Double({2 * n, 5 * n});
  const Value forget = Double({2 * n}), out = Double({n});
  const TensorSpec row = {DType::kDouble, PartialShape(Dims{1, n})};
  using Cell = std::pair<Value, Value>;
  auto lstm = declare<Cell(Value)>("lstm", {{DType::kInt32, PartialShape::Scalar()}}, {row, row});
  const auto cell = [](const std::vector<Value>& gates, const Value& kept) {
    const Value c = kept + sigmoid(gates[0]) * tanh(gates[2]);
    return Cell(sigmoid(gates[1]) * tanh(c), c);
  };
  lstm.define([&](Value i) {
    return cond(
        left[i] < 0,
        [&] {
          const Value word = expand_dims(words[leaf_of[i]], 0);
          return cell(split(matmul(word, leaf), 3, 1), zeros({1, n}, DType::kDouble));
        },
        [&] {
          const Cell a = lstm(left[i]), b = lstm(right[i]);
          const auto gates = split(matmul(concat({a.first, b.first}, 1), inner), 5, 1);
          const auto begin = split(forget, 2);
          return cell(gates, a.second * sigmoid(gates[3] + begin[0]) +
                                 b.second * sigmoid(gates[4] + begin[1]));
        });
  });
  const Value y = reduce_sum(lstm(0).first * out);
  const std::vector<Value> xs = {words, leaf, inner, forget, out};
  const std::vector<Value> g = gradients({y}, {words, leaf, inner, forget, out});
  Doubles Weights::* const members[] = {&Weights::words, &Weights::leaf, &Weights::inner,
                                        &Weights::forget, &Weights::out};
  for (const Tree& tree : kTrees) {
    Weights weights;
    FeedList feeds = {
        {left, Ints(tree.left)}, {right, Ints(tree.right)}, {leaf_of, Ints(tree.leaf)}};
    for (size_t i = 0; i < xs.size(); ++i)
      feeds.push_back(
          {xs[i], Tensor::FromValues<double>(weights.*members[i], *xs[i].shape().ToShape())});
    EXPECT_NEAR(Eval<double>(y, feeds), TreeLstm(tree, weights), 1e-12);
    for (size_t i = 0; i < xs.size(); ++i) {
      const auto by_hand = [&](const Doubles& at) {
        Weights other = weights;
        other.*members[i] = at;
        return TreeLstm(tree, other);
      };
      ExpectNear(EvalVector<double>(g[i], feeds), Differences(by_hand, weights.*members[i]));
    }
  }
}

TEST_P(GradientTrees, DerivativesUpToTheThirdOfARecursionWithTwoResults) {
  const Value left = placeholder(DType::kInt32, {-1}), x = Double({-1}), w = Double();
  using Cell = std::pair<Value, Value>;
  const TensorSpec real = {DType::kDouble, PartialShape::Scalar()};
  auto f = declare<Cell(Value)>("f", {{DType::kInt32, PartialShape::Scalar()}}, {real, real});
  f.define([&](Value i) {
    return cond(
        left[i] < 0, [&] { return Cell(tanh(x[i] * w), x[i]); },
        [&] {
          const Cell a = f(left[i]), b = f(left[i] + 1);
          return Cell(tanh(a.first * b.second + w), sin(a.second + b.first * w));
        });
  });
  const std::vector<int32_t> children = {1, 3, -1, -1, -1};
  const Doubles values = Numbers(5);
  using Numbers2 = std::pair<double, double>;
  const std::function<Numbers2(size_t, double)> by_hand = [&](size_t i, double w) {
    if (children[i] < 0) return Numbers2(std::tanh(values[i] * w), values[i]);
    const auto child = static_cast<size_t>(children[i]);
    const auto a = by_hand(child, w), b = by_hand(child + 1, w);
    return Numbers2(std::tanh(a.first * b.second + w), std::sin(a.second + b.first * w));
  };
  const Cell root = f(0);
  const Value y = root.first * root.second;
  const Value g = Gradient(y, w), gg = Gradient(g, w), ggg = Gradient(gg, w);
  const auto eval = [&](const Value& value, const Doubles& at) {
    return Eval<double>(value, {{left, Ints(children)}, {x, Of(values)}, {w, D(at[0])}});
  };
  const auto product = [&](const Doubles& at) {
    const auto root = by_hand(0, at[0]);
    return root.first * root.second;
  };
  const Doubles at = {0.7};
  ExpectNear({eval(g, at)}, Differences(product, at));
  ExpectNear({eval(gg, at)}, Differences([&](const Doubles& at) { return eval(g, at); }, at));
  ExpectNear({eval(ggg, at)}, Differences([&](const Doubles& at) { return eval(gg, at); }, at));
}

TEST_P(GradientTrees, ARecursionOfLoopsInALoop) {
  // f(k, s): k times s := f(k - 1, s w + i / 10); then its sine.
  const Value n = Int(), x = Double(), w = Double();
  const TensorSpec real = {DType::kDouble, PartialShape::Scalar()};
  auto f =
      declare<Value(Value, Value)>("f", {{DType::kInt32, PartialShape::Scalar()}, real}, {real});
  f.define([&](Value k, Value s) {
    return cond(
        k < 1, [&] { return s; },
        [&] {
          return sin(
              for_range(k, [&](Value i, Value s) { return f(k - 1, s * w + 0.1 * Real(i)); }, s));
        });
  });
  const std::function<double(int, double, double)> by_hand = [&](int k, double s, double w) {
    if (k < 1) return s;
    for (int i = 0; i < k; ++i) s = by_hand(k - 1, s * w + 0.1 * i, w);
    return std::sin(s);
  };
  for (const char* memory : {"save", "recompute(1)", "checkpoint(100)"}) {
    LoopOptions loop;
    loop.memory = *ParseMemoryPolicy(memory);
    const Value y = for_range(n, [&](Value i, Value s) { return f(i, s) + w; }, x, loop);
    const std::vector<Value> g = gradients({y}, {x, w}, {.memory = *ParseMemoryPolicy(memory)});
    for (const int iterations : {0, 1, 4}) {
      const auto whole = [&](const Doubles& p) {
        double s = p[0];
        for (int i = 0; i < iterations; ++i) s = by_hand(i, s, p[1]) + p[1];
        return s;
      };
      const FeedList feeds = {{n, I(iterations)}, {x, D(0.6)}, {w, D(1.1)}};
      ExpectNear({Eval<double>(g[0], feeds), Eval<double>(g[1], feeds)},
                 Differences(whole, {0.6, 1.1}));
    }
  }
}

}  // namespace
}  // namespace gyre::testing
