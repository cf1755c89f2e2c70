// SizeClasses: sizes of blocks that are kept to be given out again, so many to each doubling.
#pragma once

#include <bit>
#include <cstddef>

namespace gyre::cuda {

// By number, from 0 on: smallest, smallest + smallest / steps, … 2 * smallest, … Requirement: both
// are powers of two, and `steps` is not the larger one.
class SizeClasses {
 public:
  constexpr SizeClasses(size_t smallest, size_t steps) : smallest_(smallest), steps_(steps) {}

  constexpr size_t SizeOf(size_t number) const {
    const size_t octave = smallest_ << (number / steps_);
    return octave + octave / steps_ * (number % steps_);
  }
  // The number of the first size that holds `bytes`.
  constexpr size_t NumberFor(size_t bytes) const {
    if (bytes <= smallest_) return 0;
    // The last doubling below `bytes`, and how many steps more it takes.
    const size_t doublings = static_cast<size_t>(std::bit_width((bytes - 1) / smallest_)) - 1;
    const size_t octave = smallest_ << doublings;
    const size_t step = octave / steps_;
    return steps_ * doublings + (bytes - octave + step - 1) / step;
  }

 private:
  const size_t smallest_, steps_;
};

}  // namespace gyre::cuda
