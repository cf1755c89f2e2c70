#include "ops/mover.h"

#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

constexpr int64_t kPollEvery = int64_t{1} << 20;  // bytes; some 100 µs

absl::Status TextDoesNotFit(const KernelContext& ctx, int64_t bytes) {
  const MemoryBudget& budget = *ctx.env().budget;
  return absl::ResourceExhaustedError(
      absl::StrCat(bytes, " more bytes of text do not fit the run's memory budget of ",
                   budget.limit(), " bytes, of which ", budget.used(), " are in use"));
}

}  // namespace

bool Mover<std::string>::Charge(int64_t bytes) {
  if (has_stopped_.load(std::memory_order_relaxed)) return false;
  if (!ChargeText(*to_, bytes)) {
    refused_.store(bytes, std::memory_order_relaxed);
    has_stopped_.store(true, std::memory_order_relaxed);
    return false;
  }
  if (since_poll_.fetch_add(bytes, std::memory_order_relaxed) + bytes < kPollEvery) return true;
  since_poll_.store(0, std::memory_order_relaxed);
  if (ctx_.Poll().ok()) return true;
  has_stopped_.store(true, std::memory_order_relaxed);
  return false;
}

absl::Status Mover<std::string>::status() const {
  if (!has_stopped_.load(std::memory_order_relaxed)) return absl::OkStatus();
  const int64_t refused = refused_.load(std::memory_order_relaxed);
  return refused > 0 ? TextDoesNotFit(ctx_, refused) : ctx_.Poll();
}

absl::Status ChargeTextOf(const KernelContext& ctx, Tensor& made, int64_t bytes) {
  return ChargeText(made, bytes) ? absl::OkStatus() : TextDoesNotFit(ctx, bytes);
}

}  // namespace gyre
