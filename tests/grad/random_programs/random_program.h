// RandomProgram: a program as a tree of blocks, before anything is written of it.
//
// Statements work on values that are written once and have a number each. A block sees the values
// of the blocks around it; a function sees its parameters only. The tree is what two programs are
// made from: a structured one (structured.h) and, by running it, one without control flow
// (unrolled.h). Plain data.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/program.h"

namespace gyre::testing {

enum class Type : uint8_t {
  kScalar,   // float64
  kVector,   // float64[kSize]
  kMatrix,   // float64[kSize, kSize]
  kRows,     // float64[any number, kSize]
  kInt,      // int32
  kBool,     //
  kScalars,  // a list of kScalar
  kVectors,  // a list of kVector
  kLists,    // a list of kVectors
  kOther,    // a step on the way to one of these, used once, where it is made
};
inline constexpr int kSize = 3;

DType DTypeFor(Type type);
// Of a list: of its elements.
PartialShape ShapeFor(Type type);
inline bool IsNumbers(Type type) { return type <= Type::kRows; }
// Of a list's elements.
Type ElementOf(Type list);

using Id = int;  // of a value

struct Statement;

struct Block {
  std::vector<Id> params;
  std::vector<Statement> statements;
  std::vector<Id> results;
};

struct Statement {
  OpKind kind = OpKind::kPlain;
  std::string op;  // also of structured ones: "While" or "StatelessWhile"
  AttrMap attrs;
  // If, Case: the choice. While: initial values. For: start, limit, step, initial values. Call:
  // arguments.
  std::vector<Id> inputs;
  // If: then, else. Case: its branches. While: condition, body. For: its body, whose first
  // parameter is the index.
  std::vector<Block> blocks;
  int function = -1;  // of a call: which one
  std::vector<Id> outputs;
};

struct RandomProgram {
  std::vector<Type> types;  // by value
  std::vector<Block> functions;
  Block main;  // its parameters are fed
  std::vector<Tensor> feeds;
  int num_xs = 0;            // the first parameters: what is differentiated by
  bool shapes_known = true;  // what is fed has a known shape
};

// What `blocks` use of the values around them, in order.
std::vector<Id> CapturesOf(const std::vector<Block>& blocks);
// The name of a fed parameter, and of a function.
std::string ParamName(const RandomProgram& program, size_t param);
std::string FunctionName(int function);

}  // namespace gyre::testing
