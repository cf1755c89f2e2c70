// Native code of RegisterLoops: what of a loop can be compiled, and when it is.
//
// A register that holds nothing but scalars of one type, of at most eight bytes, is a cell of the
// Region; instructions that compute one element of cells are native, all others are the
// interpreter's (compiled/region.h).
#pragma once

#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "compiled/region.h"
#include "exec/sequential/loop.h"

namespace gyre::sequential {

// Of one loop; shared by all its runs. Thread-safe.
class NativeLoop {
 public:
  // Null for a loop of which nothing would be native: its condition is no cell.
  static std::shared_ptr<NativeLoop> Make(const RegisterLoop& loop);

  const compiled::Region& region() const { return region_; }
  // Null until it has been compiled.
  const compiled::NativeCode* code() const { return code_.load(std::memory_order_acquire); }
  // FAILED_PRECONDITION where there is no code generator.
  absl::Status Compile();

 private:
  explicit NativeLoop(compiled::Region region) : region_(std::move(region)) {}

  const compiled::Region region_;
  std::unique_ptr<const compiled::NativeCode> owned_;
  std::atomic<const compiled::NativeCode*> code_{nullptr};
};

// The scalar of this type with these bytes, and the bytes of a scalar; 0 behind them.
Tensor ScalarOfBits(DType dtype, uint64_t bits);
uint64_t BitsOf(const Tensor& scalar);

}  // namespace gyre::sequential
