// Native code of RegisterLoops: what of a loop can be compiled, and when it is.
//
// A register that holds nothing but scalars of one type, of at most eight bytes, is a cell of the
// Region, and so is one that holds a list or the handle of a variable, or small tensors of a known
// shape (small_tensors.h). Instructions that compute elements of cells, or handle one of such an
// object, are native, all others are the interpreter's (compiled/region.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "base/internal_export.h"
#include "compiled/region.h"
#include "exec/sequential/loop.h"

namespace gyre {

// How many loops have become native code in this process.
GYRE_INTERNAL_EXPORT int64_t NumCompiledLoops();

namespace sequential {

// The native code of one loop; shared by all its runs. Thread-safe.
class NativeLoop : public std::enable_shared_from_this<NativeLoop> {
 public:
  explicit NativeLoop(std::optional<int64_t> at_once_after = std::nullopt);
  ~NativeLoop();

  // False: nothing of it would be native, since its condition is no cell. Before any of the rest
  // but Looked; once.
  bool MakeRegion(const RegisterLoop& loop);
  // FAILED_PRECONDITION where there is no code generator. `may_contract`: as Region's.
  absl::Status Compile(bool may_contract = false);

  // The interpreter of `loop` has come to look at the clock: whoever comes often enough has it
  // compiled. As code().
  const compiled::NativeCode* Looked(const RegisterLoop& loop);
  // Kernels before the first look.
  int64_t FirstLook(int64_t usual) const { return at_once_after_.value_or(usual); }

  // Null until it has been compiled.
  const compiled::NativeCode* code() const { return code_.load(std::memory_order_acquire); }
  // Requirement: it has been made.
  const compiled::Region& region() const { return region_; }

 private:
  const std::optional<int64_t> at_once_after_;
  std::atomic<int64_t> looks_{0};
  compiled::Region region_;
  std::unique_ptr<const compiled::NativeCode> owned_;
  std::atomic<const compiled::NativeCode*> code_{nullptr};
};

// The scalar of this type with these bytes, and the bytes of a scalar; 0 behind them.
Tensor ScalarOfBits(DType dtype, uint64_t bits);
uint64_t BitsOf(const Tensor& scalar);

}  // namespace sequential
}  // namespace gyre
