// How kernels that move elements, whatever they are, write them: strings cost memory and time that
// their number does not tell.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "ops/kernel.h"
#include "tensor/text_charge.h"

namespace gyre {

// Writes elements into a tensor that a kernel has just allocated and not yet handed on. From any
// number of threads, each with elements of its own.
template <typename T>
class Mover {
 public:
  Mover(const KernelContext&, Tensor&) {}

  // Whether there is room and time for one more copy of `from`.
  static bool Admit(const T&) { return true; }
  static void Set(T& to, const T& from) { to = from; }
  static void Copy(const T* from, int64_t n, T* to) { std::copy_n(from, n, to); }
  static void Fill(const T& value, int64_t n, T* to) { std::fill_n(to, n, value); }
  // From here on, writes into another tensor. While no thread writes.
  static void Into(Tensor&) {}
  // Once all is written: OK, or why some of it is not.
  static absl::Status status() { return absl::OkStatus(); }
};

// Text is charged to the budget that the tensor was made with. Once that or the run's time is used
// up, no more text is copied.
template <>
class Mover<std::string> {
 public:
  Mover(const KernelContext& ctx, Tensor& to) : ctx_(ctx), to_(&to) {}
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  bool Admit(const std::string& from) { return AdmitSize(from.size()); }
  // The same for a text of this size, which is yet to be made.
  bool AdmitSize(size_t size) {
    const int64_t bytes = HeapBytes(size);
    return bytes == 0 || Charge(bytes);
  }
  void Set(std::string& to, const std::string& from) {
    if (Admit(from)) to = from;
  }
  void Copy(const std::string* from, int64_t n, std::string* to) {
    for (int64_t i = 0; i < n; ++i) Set(to[i], from[i]);
  }
  void Fill(const std::string& value, int64_t n, std::string* to) {
    for (int64_t i = 0; i < n; ++i) Set(to[i], value);
  }
  void Into(Tensor& to) { to_ = &to; }
  absl::Status status() const;

 private:
  bool Charge(int64_t bytes);

  const KernelContext& ctx_;
  Tensor* to_;
  std::atomic<bool> has_stopped_{false};
  std::atomic<int64_t> refused_{0};     // bytes that did not fit
  std::atomic<int64_t> since_poll_{0};  // bytes
};

// Charges `bytes` of text that a kernel has written, or is about to write, into `made`, which it
// has just allocated. RESOURCE_EXHAUSTED when they do not fit.
absl::Status ChargeTextOf(const KernelContext& ctx, Tensor& made, int64_t bytes);

}  // namespace gyre
