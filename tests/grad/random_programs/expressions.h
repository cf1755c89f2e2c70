// Expressions: random values of a wanted type, made of the values that a place sees.
//
// Everything is smooth but for what unrolled.h watches over: comparisons, extrema, casts to int.
// Numbers are kept from growing: by division by 1 + y², by tanh and the like.
#pragma once

#include <vector>

#include "grad/random_programs/tree_writer.h"

namespace gyre::testing {

class Expressions {
 public:
  explicit Expressions(TreeWriter& tree) : tree_(tree), dice_(tree.dice()) {}

  // A value that is there, as a rule; a new one otherwise.
  Id Some(Type type);
  // A new value.
  Id New(Type type);
  // A new value of numbers that is not much larger than 1, or of another type: what a loop's
  // variable becomes.
  Id Tame(Id x);
  Id Constant(Type type);

  // Numbers in 0 … n - 1, the latter from what is fed.
  Id SomeIndex(int n);
  Id CountFromData(int n);
  // A scalar above 0 that is computed from `x`: low … high.
  Id Between(double low, double high, Id x);
  Id SquaredNorm(Id x);
  Id NumRows(Id rows);
  Id WithRow(Id rows, Id vector);  // as the last one
  Id Stacked(Id vectors);
  Id Length(Id list);
  Id Popped(Id list, Id* element = nullptr);
  Id EmptyList(Type list);

 private:
  Id Unary(Id x);
  Id Binary(Id x, Id y, Type type);
  Id Scaled(Id x, double factor);
  Id OnePlusSquare(Id x);
  Id NewScalar();
  Id NewVector();
  Id NewMatrix();
  Id NewRows();
  Id NewInt();
  Id NewBool();
  Id NewList(Type list);
  Id FromNumbers(Type list);
  Id RowsAndOne();
  Id Element(Type list);
  Id Chosen(Type type);
  Id Pushed(Type list);
  Id ElementShape(Type list);
  Id IndexInto(Id size);
  Id Column(Id vector);
  Id Flat(Id x);
  Id Reduced(std::initializer_list<const char*> ops, Id x, std::vector<int32_t> axes, Type type);

  TreeWriter& tree_;
  Dice& dice_;
  int depth_ = 0;  // of New in Some in New
};

}  // namespace gyre::testing
