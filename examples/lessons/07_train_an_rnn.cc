// # Lesson 7: train a recurrent network
//
// A network reads a sequence of numbers, one in each iteration of a loop, and says at the end what
// their sum was. It is a loop of dynamic length; its weights learn from gradients through it.
//
//     $ build/release/bin/lessons/07_train_an_rnn
#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "gyre/gyre.h"
#include "lesson.h"

using gyre::DType;
using gyre::Tensor;
using gyre::Value;
using gyre::Variable;

namespace {

constexpr int kBatch = 16;
constexpr int kHidden = 8;

// Numbers in [-1, 1): the same on every machine.
class Numbers {
 public:
  float Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<double>(state_ >> 33) / (1u << 30) - 1.0);
  }
  Tensor Make(int64_t rows, int64_t columns, float scale) {
    std::vector<float> values(rows * columns);
    for (float& value : values) value = scale * Next();
    return Tensor::FromValues<float>(values, *gyre::Shape::Make({rows, columns}));
  }

 private:
  uint64_t state_ = 7;
};

// Sequences of one length, and the sum of each.
struct Batch {
  Tensor x;  // of shape (length, kBatch, 1)
  Tensor y;  // of shape (kBatch, 1)
};
Batch MakeBatch(Numbers& numbers, int64_t length) {
  const Tensor x = numbers.Make(length, kBatch, 0.3f);
  std::vector<float> sums(kBatch);
  for (int64_t i = 0; i < x.num_elements(); ++i) sums[i % kBatch] += x.values<float>()[i];
  return {x.Reshaped(*gyre::Shape::Make({length, kBatch, 1})),
          Tensor::FromValues<float>(sums, *gyre::Shape::Make({kBatch, 1}))};
}

// The loss of the network whose four weights these are, computed by hand.
double LossOf(const std::vector<std::vector<double>>& weights, const Batch& batch) {
  const auto& [input, recurrent, bias, output] =
      std::tie(weights[0], weights[1], weights[2], weights[3]);
  const int64_t length = batch.x.shape().dim(0);
  double sum = 0;
  for (int b = 0; b < kBatch; ++b) {
    std::vector<double> h(kHidden);
    for (int64_t t = 0; t < length; ++t) {
      std::vector<double> next(kHidden);
      for (int j = 0; j < kHidden; ++j) {
        next[j] = batch.x.values<float>()[t * kBatch + b] * input[j] + bias[j];
        for (int k = 0; k < kHidden; ++k) next[j] += h[k] * recurrent[k * kHidden + j];
      }
      for (int j = 0; j < kHidden; ++j) h[j] = std::tanh(next[j]);
    }
    double y = 0;
    for (int j = 0; j < kHidden; ++j) y += h[j] * output[j];
    sum += std::pow(y - batch.y.values<float>()[b], 2);
  }
  return sum / kBatch;
}

// To two decimals: the rest depends on the machine.
double Rounded(double loss) { return std::round(loss * 100) / 100; }

}  // namespace

int main() {
  Numbers numbers;
  gyre::Graph graph;
  gyre::GraphScope in(graph);
  const Value x = gyre::placeholder(DType::kFloat, {-1, kBatch, 1});
  const Value y = gyre::placeholder(DType::kFloat, {kBatch, 1});

  // What is learned: variables, which keep their values from run to run. Wherever an operand is
  // wanted, a variable means a read of it.
  const Variable input("input", numbers.Make(1, kHidden, 0.5f));
  const Variable recurrent("recurrent", numbers.Make(kHidden, kHidden, 0.5f));
  const Variable bias("bias", numbers.Make(1, kHidden, 0.1f));
  const Variable output("output", numbers.Make(kHidden, 1, 0.5f));

  // The network: h becomes tanh(x[i] input + h recurrent + bias), once for each x[i].
  const Value h = gyre::for_range(
      gyre::dim_of(x, 0),
      [&](Value i, Value h) {
        return gyre::tanh(gyre::matmul(x[i], input) + gyre::matmul(h, recurrent) + bias);
      },
      gyre::zeros({kBatch, kHidden}));
  const Value loss = gyre::reduce_mean(gyre::square(gyre::matmul(h, output) - y));

  // Gradient descent, written out: from each variable a bit of its gradient is subtracted. Long
  // sequences can make a gradient explode; it is cut to norm 1. What touches a variable does so in
  // the order in which the program says it: `loss` and `now` read what was there before.
  const std::vector<Variable> weights = {input, recurrent, bias, output};
  const std::vector<Value> now = {input.read(), recurrent.read(), bias.read(), output.read()};
  const std::vector<Value> gradients = gyre::gradients({loss}, {input, recurrent, bias, output});
  const std::vector<Value> clipped = gyre::clip_by_global_norm(gradients, 1.0f).values;
  std::vector<gyre::Operation> train;
  for (size_t i = 0; i < weights.size(); ++i)
    train.push_back(weights[i].assign_sub(clipped[i] * 0.01f));

  gyre::GraphSession session(graph);
  session.initialize();
  const Batch test = MakeBatch(numbers, 12);
  const auto loss_of = [&](const Batch& batch) {
    return session.eval(loss, {{x, batch.x}, {y, batch.y}}).scalar<float>();
  };

  // Is the gradient right? Plain C++ computes the loss once more, in double precision. With one
  // weight a little larger, and a little smaller, it must differ as the gradient says.
  const auto values_of = [&] {
    std::vector<std::vector<double>> values;
    for (const Tensor& weight : session.eval(now)) {
      values.emplace_back(weight.values<float>().begin(), weight.values<float>().end());
    }
    return values;
  };
  const std::vector<std::vector<double>> initial = values_of();
  lesson::Expect("loss before training", Rounded(loss_of(test)), Rounded(LossOf(initial, test)));
  const std::vector<Tensor> slopes = session.eval(gradients, {{x, test.x}, {y, test.y}});
  double worst = 0;
  for (size_t w = 0; w < initial.size(); ++w) {
    for (size_t i = 0; i < initial[w].size(); ++i) {
      auto above = initial, below = initial;
      above[w][i] += 1e-4;
      below[w][i] -= 1e-4;
      const double slope = (LossOf(above, test) - LossOf(below, test)) / 2e-4;
      worst = std::max(worst, std::abs(slope - slopes[w].values<float>()[i]));
    }
  }
  lesson::ExpectThat("all gradients agree with differences of the loss", worst < 1e-5);

  // Training: in each step another batch, of sequences of another length. `loss` is read before the
  // weights change, since that is how the program states it.
  for (int step = 0; step < 6000; ++step) {
    const Batch batch = MakeBatch(numbers, 3 + step % 10);
    session.eval({loss}, {{x, batch.x}, {y, batch.y}}, train);
  }
  lesson::ExpectThat("loss after training, less than a tenth of that",
                     loss_of(test) < LossOf(initial, test) / 10);
  lesson::ExpectThat("and C++ finds the same with what was learned",
                     std::abs(LossOf(values_of(), test) - loss_of(test)) < 1e-5);
  return lesson::Result();
}
