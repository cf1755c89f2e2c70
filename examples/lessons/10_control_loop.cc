// # Lesson 10: a control loop without Gyre
//
// A controller for a mass on a spring, `10_controller.gyre`: which force puts the mass where it
// should be in half a second? A loop halves the range of forces until it is narrow; a loop within
// it looks 25 steps of 20 ms ahead, with a spring of 4 N/m, friction of 0.5 N s/m and 1 kg. The
// build makes an object file and a header of it, which need neither Gyre nor LLVM:
//
//     gyre compile examples/lessons/10_controller.gyre --name controller --fetch force
//         -o 10_controller.o --header 10_controller.h
//
// This program is linked with that file, and with nothing of Gyre:
//
//     $ build/release/bin/lessons/10_control_loop
#include <algorithm>
#include <chrono>
#include <cmath>

#include "10_controller.h"
#include "lesson.h"

// The plant: what the controller thinks it is, but with half the friction, and in steps of 1 ms.
struct Mass {
  double position = 0, velocity = 0;
  void Move(double force) {
    velocity += (force - 4 * position - 0.25 * velocity) * 0.001;
    position += velocity * 0.001;
  }
};

// What is fed and fetched are structures; the function keeps nothing, and allocates nothing.
//
// Every 10 ms it is asked for a force. The target jumps from 1 to -0.5 after 4 s.
int main() {
  Mass mass;
  double farthest = 0;
  int failed = 0;
  const auto begin = std::chrono::steady_clock::now();
  constexpr int kMillis = 8000;
  for (int ms = 0; ms < kMillis; ++ms) {
    static double force = 0;
    const double target = ms < 4000 ? 1 : -0.5;
    if (ms % 10 == 0) {
      const controller_inputs in = {target, mass.position, mass.velocity};
      controller_outputs out;
      failed += controller(&in, &out) != 0 ? 1 : 0;
      force = out.force;
    }
    mass.Move(force);
    farthest = std::max(farthest, mass.position);
    if (ms == 3999) lesson::Expect("position after 4 s", std::round(mass.position * 20) / 20, 1);
  }
  lesson::Expect("position after 8 s", std::round(mass.position * 20) / 20, -0.5);
  lesson::ExpectThat("it went no farther than 1.2", farthest < 1.2);
  lesson::Expect("forces that were not found", failed, 0);

  // 800 searches of 26 halvings of 25 steps each, some 13 operations a step.
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  lesson::ExpectThat("all of it took less than half a second", took.count() < 0.5);
  return lesson::Result();
}
