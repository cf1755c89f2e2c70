// # Lesson 8: an op of your own
//
// A plug-in is a shared library that brings ops: C++ of your own, outside of Gyre's tree. To Gyre
// they are like all others: they run in loops, on every engine, have gradients of any order, stand
// in graphs that are loaded and saved. This program uses one; the plug-in itself is below.
//
//     $ build/release/bin/lessons/08_own_op build/release/bin/lessons/08_own_op_plugin.so
//
// The command line loads it as well: `gyre ops Cube --plugin FILE`, `gyre run GRAPH --plugin FILE`.
#include <string>
#include <vector>

#include "gyre/gyre.h"
#include "lesson.h"

using gyre::Value;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  gyre::load_plugin(argv[1]);

  // `call_op` adds a node of any op to the graph, by its name. (Gyre's own ops have functions, in
  // gyre/ops.h.)
  gyre::Graph graph;
  gyre::GraphScope in(graph);
  const Value x = gyre::placeholder(gyre::DType::kDouble, {-1});
  const Value y = gyre::call_op("Cube", {x})[0];

  // In a loop, and differentiated through it: three times the cube is the 27th power.
  const Value z =
      gyre::for_range(3, [](Value, Value z) { return gyre::call_op("Cube", {z})[0]; }, x);
  const Value slope = gyre::gradients({y}, {x})[0];
  const Value curvature = gyre::gradients({slope}, {x})[0];
  const Value slope_of_z = gyre::gradients({z}, {x})[0];

  gyre::GraphSession session(graph);
  const std::vector<gyre::Tensor> results =
      session.eval({y, slope, curvature, z, slope_of_z}, {{x, {0.5, 2.0}}});
  const auto at_2 = [&](size_t i) { return results[i].values<double>()[1]; };
  lesson::Expect("2 cubed", at_2(0), 8);
  lesson::Expect("derivative of the cube at 2", at_2(1), 12);
  lesson::Expect("second derivative", at_2(2), 12);
  lesson::Expect("2 cubed three times", at_2(3), 134217728);
  lesson::Expect("its derivative", at_2(4), 27 * 67108864.0);

  // The shape rule has told what the result is before anything ran. Mistakes are thrown where they
  // are made, as of any op; the rest of the message names the node and this line.
  lesson::ExpectThat("the result is a vector, like x",
                     y.shape().has_rank() && y.shape().rank() == 1);
  try {
    gyre::call_op("Cube", {"text"});
  } catch (const gyre::Error& error) {
    const std::string message(error.status().message());
    std::printf("of a text: %s\n", message.substr(0, message.find('\n')).c_str());
  }
  return lesson::Result();
}
