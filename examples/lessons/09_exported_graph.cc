// # Lesson 9: train an exported graph
//
// The file holds a model that TensorFlow exported: an LSTM as a loop of Switch and Merge, with
// three variables. Gyre reads it, takes gradients of its own through that loop, and goes on
// training.
//
//     $ build/release/bin/lessons/09_exported_graph tests/golden/models/lstm_train_v1/graph.pb
//
// (`gyre show FILE` prints such a graph, `gyre show FILE --raised` with the loop as a While.)
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gyre/gyre.h"
#include "lesson.h"

using gyre::Tensor;
using gyre::Value;
using gyre::Variable;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string path = argv[1];
  gyre::Graph graph;
  gyre::GraphScope in(graph);

  // The initial weights are constants in the file. `import_graph` adds as much of it to the graph
  // as the tensors need that are asked for, and returns these.
  const std::vector<Value> initial = gyre::import_graph(path, {"Const", "Const_1", "Const_2"});
  const std::vector<Variable> weights = {Variable("kernel", initial[0]),
                                         Variable("bias", initial[1]),
                                         Variable("projection", initial[2])};

  // The model, with these variables in the place of what it reads of its own. Its placeholders come
  // along, to be fed here.
  const std::vector<Value> model = gyre::import_graph(
      path, {"loss", "x", "len", "y"},
      {{"Identity", weights[0]}, {"Identity_1", weights[1]}, {"Identity_2", weights[2]}});
  const Value loss = model[0], x = model[1], lengths = model[2], y = model[3];

  // Its loop has become a While, which has a gradient.
  const std::vector<Value> gradients =
      gyre::gradients({loss}, {weights[0], weights[1], weights[2]});
  std::vector<gyre::Operation> train;
  for (size_t i = 0; i < weights.size(); ++i)
    train.push_back(weights[i].assign_sub(gradients[i] * 0.1f));

  // Four sequences of at most five steps, three numbers each; what should come out of each.
  std::vector<float> numbers;
  for (int i = 0; i < 60; ++i) numbers.push_back(std::sin(static_cast<float>(1 + i)));
  const Tensor x_now = Tensor::FromValues<float>(numbers, *gyre::Shape::Make({4, 5, 3}));
  const Tensor lengths_now = Tensor::Vector<int32_t>({5, 2, 3, 3});
  const Tensor y_now = Tensor::FromValues<float>({1, 0.5, -0.5, 0}, *gyre::Shape::Make({4, 1}));

  // The file also holds the gradients that TensorFlow wrote, and its training step. `Model` runs
  // the file as it is; the losses of both must be the same in every step.
  gyre::GraphSession session(graph);
  session.initialize();
  const gyre::Model theirs = gyre::Model::load(path);
  theirs.run({}, {}, {"k/Assign", "b/Assign", "p/Assign"});
  double worst = 0, first = 0, last = 0;
  for (int step = 0; step < 50; ++step) {
    const Tensor want =
        theirs.run({{"x", x_now}, {"len", lengths_now}, {"y", y_now}}, {"loss"}, {"train"})[0];
    last = session.eval({loss}, {{x, x_now}, {lengths, lengths_now}, {y, y_now}}, train)[0]
               .scalar<float>();
    worst = std::max(worst, std::abs(last - want.scalar<float>()));
    if (step == 0) first = last;
  }
  lesson::ExpectThat("in each of 50 steps, the loss is that of TensorFlow's training step",
                     worst < 1e-6);
  lesson::ExpectThat("and it went down to less than half", last < first / 2);
  return lesson::Result();
}
