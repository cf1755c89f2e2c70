// Ops that ONNX and Gyre have alike, but for their names: one row serves reading and writing.
// Constants; any thread.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gyre::onnx {

// Which element types an op of ONNX is written for; others are computed in a wider one that gives
// the same elements.
enum class PairTypes {
  kFloats,   // floating
  kNumbers,  // floating, int32, int64
  kOrdered,  // … and uint32, uint64
  kIntegers,
  kBool,
  kAny,  // all but complex ones
};

struct Pair {
  const char* onnx;
  const char* gyre;
  int operands;  // 1 or 2
  PairTypes types;
};

absl::Span<const Pair> Pairs();
// Null where there is none.
const Pair* PairOfOnnx(absl::string_view op);
const Pair* PairOfGyre(absl::string_view op);

}  // namespace gyre::onnx
