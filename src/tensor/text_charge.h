// What the text of string tensors takes of a run's budget. Making a tensor charges the strings, as
// objects; text too long to lie inside of them is on the heap, and charged by whoever writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gyre/core/tensor.h"

namespace gyre {

// Bytes that a text of `size` takes beside the string itself.
inline int64_t HeapBytes(size_t size) {
  return size <= std::string().capacity() ? 0 : static_cast<int64_t>(size + 1);
}

// Takes `bytes` out of the budget that `strings` was made with, until its buffer is gone. False,
// and nothing is taken, if they do not fit. From any thread.
// Requirement, not checked: `strings` is as Tensor::Make has made it, of dtype string: no view, and
// nobody else's memory.
bool ChargeText(Tensor& strings, int64_t bytes);

}  // namespace gyre
