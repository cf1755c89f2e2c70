// The check of one random program: what its gradients are worth.
//
//   forward         structured = unrolled, bit by bit, on the reference and the dataflow engine
//   first order     of the structured program = of the unrolled one = central differences
//   second order    the same of the weighted sum of the first order's gradients
//   on all engines  the gradients of both orders, bit by bit, with windows and threads, and with
//                   their nodes, and those of the forward program, spread over devices
//
// Stateless.
#pragma once

#include <string>

#include "grad/random_programs/unrolled.h"

namespace gyre::testing {

struct Verdict {
  enum class Kind { kGood, kUnfit, kWrong };
  Kind kind = Kind::kGood;
  std::string why;  // not good: a word for what does not fit, sentences for what is wrong
  Trace trace;      // unless it could not be run
};

struct CheckOptions {
  int max_ops = 500;
  bool on_all_engines = false;
};

Verdict CheckProgram(const RandomProgram& program, const CheckOptions& options);

}  // namespace gyre::testing
