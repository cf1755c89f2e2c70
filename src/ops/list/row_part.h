// RowPart: what a node does in a loop over rows, for passes that know such loops.
#pragma once

#include <cstdint>

#include "ir/program.h"

namespace gyre {

enum class RowPart : uint8_t {
  kOther,
  kRows,     // a list of the rows of input 0
  kReserve,  // a list of so many elements as input 1 says, of shape input 0, all still to be set
  kEmpty,    // a list without elements, of shape input 0
  kGet,      // of list input 0 the element that input 1 numbers; its shape is input 2
  kSet,      // list input 0 with input 2 as the element that input 1 numbers
  kPush,     // list input 0 with input 1 behind its last element
  kStack,    // the elements of list input 0 as rows of one tensor; their shape is input 1
  kShape,    // the shape of input 0
  kPick,     // one element of input 0, which the constants of inputs 1 to 3 choose
  kLess,     // input 0 < input 1
  kAnd,
  kMaximum,  // the larger one of input 0 and input 1
  kWiden,    // the int32 that input 0 is, as an int64
};

// kOther, too, where attributes make the node do something else.
RowPart RowPartOf(const Node& node);

}  // namespace gyre
