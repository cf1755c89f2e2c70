// Gradients compared with differences: what DenseGradients writes is run by the reference engine,
// and so is the program itself with its inputs moved a little to either side.
//
//   ExpectGradient(R"(graph {
//     %x = Placeholder() : float64
//     %y = Sin(%x)
//   })", {{"x", Tensor::Scalar(0.3)}}, {"x"}, "y");
//
// Numbers are float64 or complex128. Stateless but for Draw.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/session.h"

namespace gyre::testing {

// Fails the test unless the gradients of sum(y * weights), with weights of its own choice, by `xs`
// are what differences say; and, of order 2, those of the weighted sum of these gradients, too.
// `xs` are among the feeds. An x that a second derivative does not depend on has zero there.
void ExpectGradient(const std::string& text, const Feeds& feeds, const std::vector<std::string>& xs,
                    const std::string& y, int order = 2);

// The gradients of sum(y) by `xs`; a tensor without value for an x that is not connected. A failed
// test, and nothing, when they are not to be had.
std::vector<Tensor> GradientsAt(const std::string& text, const Feeds& feeds,
                                const std::vector<std::string>& xs, const std::string& y);

// The ops of the nodes that the gradient of sum(y) adds to the main graph, without Const.
std::vector<std::string> GradientOps(const std::string& text, const std::vector<std::string>& xs,
                                     const std::string& y);

// A node, alone: OpCase{"Pow", {x, y}}.Order(3).Fixed({1}).
struct OpCase {
  std::string op;
  std::vector<Tensor> inputs;   // those that are float64 or complex128 are the xs
  std::string attrs = "";       // in the text form
  std::string y = "y";          // "y:1": another output
  int order = 2;                // up to which derivatives are checked
  std::vector<int> fixed = {};  // inputs that are no xs although they could be

  OpCase Y(std::string name) const {
    return OpCase{op, inputs, attrs, std::move(name), order, fixed};
  }
  OpCase Order(int n) const { return OpCase{op, inputs, attrs, y, n, fixed}; }
  OpCase Fixed(std::vector<int> which) const {
    return OpCase{op, inputs, attrs, y, order, std::move(which)};
  }
};
// How much a program knows of its inputs: the shapes, and the other inputs' values; the ranks;
// nothing.
enum class Known : int8_t { kAll, kRanks, kNothing };
// The program with a node `y` and its inputs `x0`, `x1`, …: placeholders, or constants.
std::string OpText(const OpCase& c, Known known);
// Feeds for it.
Feeds OpFeeds(const OpCase& c, Known known);
// The names of its xs.
std::vector<std::string> OpXs(const OpCase& c);
// ExpectGradient of the node with everything known, with ranks known, with nothing known.
void ExpectOpGradient(const OpCase& c);
// GradientsAt of the node; the same in all three cases, or the test fails.
std::vector<Tensor> OpGradients(const OpCase& c);

// Tensors of random numbers, the same ones each time.
class Draw {
 public:
  Tensor operator()(const Dims& dims, double low = -1, double high = 1);
  // Both parts of each number from this range.
  Tensor Complex(const Dims& dims, double low = -1, double high = 1);

 private:
  std::mt19937 generator_{20260101};
};

}  // namespace gyre::testing
