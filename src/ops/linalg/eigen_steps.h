// How Eigen is set up, and how what takes it long is given up. To be included before any header of
// Eigen: all files must see the same Eigen.
//
// Eigen asserts before each step that a decomposition takes, each block of a product among them.
// What it would say there is checked before it is called; instead it is asked there whether the run
// is to stop. Not where it asserts for single elements, or expressions of a few: to count these
// made decompositions three to ten times as slow.
#pragma once

#include <cstdint>
#include <string_view>

#include "ops/kernel.h"

namespace gyre {

// While it lives, what Eigen does on this thread looks whether the run is to stop, every few
// milliseconds, and throws GivenUp if it is. One at a time on a thread.
class EigenWatch {
 public:
  class GivenUp {};

  explicit EigenWatch(const KernelContext& ctx);
  ~EigenWatch();
  EigenWatch(const EigenWatch&) = delete;
  EigenWatch& operator=(const EigenWatch&) = delete;

  // A step, wherever it is taken; also for loops that are not Eigen's.
  static void Step() {
    if (--steps_until_look_ <= 0) [[unlikely]]
      Look();
  }

 private:
  static void Look();

  static constinit thread_local int32_t steps_until_look_;
};

namespace internal {

// Whether an assertion with this condition comes once for many elements.
constexpr bool IsEigenStep(std::string_view condition) {
  constexpr std::string_view kOften[] = {
      "v == T(Value)",                 // a size that is known when compiled
      "index >= 0 && index < size()",  // an element
      "row >= 0 && row < rows()",
      "(i>=0) && ( ((BlockRows==1)",  // a row or a column
      "((internal::UIntPtr(block.data())",
      "(dataPtr == 0) ||",
      "dataPtr == 0 ||",
      "rows >= 0 && (RowsAtCompileTime",
      "vecSize >= 0",
      "aLhs.rows() == aRhs.rows()",  // an expression of two others
      "this->rows()>0",
      "xpr.rows()>0",
      "InnerStrideAtCompileTime",
  };
  for (const std::string_view often : kOften)
    if (condition.starts_with(often)) return false;
  return true;
}

}  // namespace internal
}  // namespace gyre

#define EIGEN_MPL2_ONLY
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
#define eigen_assert(condition)                                                          \
  do {                                                                                   \
    if constexpr (::gyre::internal::IsEigenStep(#condition)) ::gyre::EigenWatch::Step(); \
  } while (false)
