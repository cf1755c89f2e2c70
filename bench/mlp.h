// A multilayer perceptron, 64-64-10, that is trained within the graph: a loop whose body takes the
// gradients and makes a step of SGD. And what its loss must be.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "graph.h"
#include "gyre/gyre.h"
#include "workload.h"

namespace gyre::bench {

// What it is trained with: peers/values.py has the same numbers.
class MlpValues {
 private:
  // Between -most and most, from the linear congruential generator of C's standard.
  std::vector<float> Numbers(int count, double most) {
    std::vector<float> numbers;
    for (int i = 0; i < count; ++i) {
      state_ = (state_ * 1103515245 + 12345) % (int64_t{1} << 31);
      const double unit = static_cast<double>(state_) / (int64_t{1} << 30) - 1;
      numbers.push_back(static_cast<float>(unit * most));
    }
    return numbers;
  }
  int64_t state_ = 1;  // before the values, which are drawn in their order

 public:
  static constexpr int kBatch = 64, kInputs = 64, kHidden = 64, kClasses = 10;
  static constexpr float kRate = 0.1f;

  std::vector<float> x = Numbers(kBatch * kInputs, 1), labels = OneHot(),
                     w1 = Numbers(kInputs * kHidden, 0.125), b1 = std::vector<float>(kHidden),
                     w2 = Numbers(kHidden * kClasses, 0.125), b2 = std::vector<float>(kClasses);

 private:
  static std::vector<float> OneHot() {
    std::vector<float> labels(size_t{kBatch} * kClasses);
    for (int row = 0; row < kBatch; ++row) labels[size_t{kClasses} * row + row % kClasses] = 1;
    return labels;
  }
};

// The same training in plain C++, in double precision.
class PlainMlp {
 public:
  // The loss that step number `steps` begins with.
  double Train(int steps) {
    double loss = 0;
    for (int step = 0; step < steps; ++step) loss = Step();
    return loss;
  }

 private:
  using Numbers = std::vector<double>;
  static constexpr int kBatch = MlpValues::kBatch, kInputs = MlpValues::kInputs,
                       kHidden = MlpValues::kHidden, kClasses = MlpValues::kClasses;
  static Numbers Doubles(const std::vector<float>& values) {
    return {values.begin(), values.end()};
  }

  double Step() {
    Numbers dw1(w1_.size()), db1(kHidden), dw2(w2_.size()), db2(kClasses);
    double loss = 0;
    for (int row = 0; row < kBatch; ++row) loss += Row(row, dw1, db1, dw2, db2) / kBatch;
    Descend(w1_, dw1), Descend(b1_, db1), Descend(w2_, dw2), Descend(b2_, db2);
    return loss;
  }

  static void Descend(Numbers& values, const Numbers& gradient) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] -= MlpValues::kRate / double{kBatch} * gradient[i];
  }

  // The cross entropy of one row, its gradients added to the sums.
  double Row(int row, Numbers& dw1, Numbers& db1, Numbers& dw2, Numbers& db2) const {
    const float* x = &given_.x[size_t{kInputs} * row];
    double hidden[kHidden], logits[kClasses];
    std::copy(b1_.begin(), b1_.end(), hidden);
    for (int i = 0; i < kInputs; ++i)
      for (int k = 0; k < kHidden; ++k) hidden[k] += x[i] * w1_[kHidden * i + k];
    std::copy(b2_.begin(), b2_.end(), logits);
    for (int k = 0; k < kHidden; ++k) {
      hidden[k] = std::max(hidden[k], 0.0);
      for (int c = 0; c < kClasses; ++c) logits[c] += hidden[k] * w2_[kClasses * k + c];
    }
    double sum = 0, d_hidden[kHidden] = {};
    for (const double logit : logits) sum += std::exp(logit);
    for (int c = 0; c < kClasses; ++c) {
      const double d = std::exp(logits[c]) / sum - (c == row % kClasses);
      db2[c] += d;
      for (int k = 0; k < kHidden; ++k) {
        dw2[kClasses * k + c] += hidden[k] * d;
        d_hidden[k] += w2_[kClasses * k + c] * d;
      }
    }
    for (int k = 0; k < kHidden; ++k) {
      if (hidden[k] == 0) d_hidden[k] = 0;
      db1[k] += d_hidden[k];
    }
    for (int i = 0; i < kInputs; ++i)
      for (int k = 0; k < kHidden; ++k) dw1[kHidden * i + k] += x[i] * d_hidden[k];
    return std::log(sum) - logits[row % kClasses];
  }

  MlpValues given_;
  Numbers w1_ = Doubles(given_.w1), b1_ = Doubles(given_.b1), w2_ = Doubles(given_.w2),
          b2_ = Doubles(given_.b2);
};

// Fetches the loss of the last step and the weights behind it.
inline Workload Training(int steps) {
  gyre::Graph graph;
  GraphScope in(graph);
  Workload work;
  const auto feed = [&work](const char* name, const std::vector<float>& values,
                            const Shape& shape) {
    work.feeds.emplace_back(name, Tensor::FromValues<float>(values, shape));
    return placeholder(DType::kFloat, PartialShape(shape), name);
  };
  using M = MlpValues;
  const M given;
  const Value n = placeholder(DType::kInt32, PartialShape::Scalar(), "n");
  const Value x = feed("x", given.x, Matrix(M::kBatch, M::kInputs));
  const Value labels = feed("labels", given.labels, Matrix(M::kBatch, M::kClasses));
  const Value rate = feed("rate", {M::kRate}, Shape());
  const std::array<Value, 4> weights = {feed("w1", given.w1, Matrix(M::kInputs, M::kHidden)),
                                        feed("b1", given.b1, Shape::Vector(M::kHidden)),
                                        feed("w2", given.w2, Matrix(M::kHidden, M::kClasses)),
                                        feed("b2", given.b2, Shape::Vector(M::kClasses))};
  work.feeds.emplace_back("n", Tensor::Scalar(int32_t{steps}));
  const auto step = [&](const Value& i, const Value&, const std::array<Value, 4>& now) {
    const auto& [w1, b1, w2, b2] = now;
    const Value logits = bias_add(matmul(relu(bias_add(matmul(x, w1), b1)), w2), b2);
    const Value loss = reduce_mean(op::SoftmaxCrossEntropyWithLogits(logits, labels).loss);
    const std::vector<Value> by = gradients({loss}, {w1, b1, w2, b2});
    std::array<Value, 4> next;
    for (size_t k = 0; k < next.size(); ++k) next[k] = now[k] - rate * by[k];
    return std::tuple(i + 1, loss, next);
  };
  const auto [i, loss, trained] =
      while_loop([&](const Value& i, const Value&, const std::array<Value, 4>&) { return i < n; },
                 step, std::tuple(Value(0), Value(0.0f), weights));
  work.program = graph.program();
  work.fetches.push_back(loss.name());
  for (const Value& value : trained) work.fetches.push_back(value.name());
  work.units = steps;
  work.check = AllAre(PlainMlp().Train(steps), 1, 1e-3);
  return work;
}

}  // namespace gyre::bench
