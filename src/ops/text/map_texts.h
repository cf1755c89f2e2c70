// Ops that make a text of each text, or a number of each.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "ops/kernel.h"
#include "ops/mover.h"

namespace gyre {

inline constexpr int64_t kTextsPerPoll = 1024;

// Output 0: of each text of input 0 what `fn(text, out)` appends to `out`, which is empty.
// `absl::Status fn(const std::string&, std::string&)`.
template <typename Fn>
absl::Status MapTexts(KernelContext& ctx, const Fn& fn) {
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, ctx.input(0).shape()));
  const absl::Span<const std::string> texts = ctx.input(0).values<std::string>();
  const absl::Span<std::string> made = out.mutable_values<std::string>();
  Mover<std::string> mover(ctx, out);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i % kTextsPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    std::string text;
    GYRE_RETURN_IF_ERROR(fn(texts[i], text));
    if (!mover.Admit(text)) return mover.status();
    made[i] = std::move(text);
  }
  GYRE_RETURN_IF_ERROR(mover.status());
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// Output 0: of each text of input 0 the number `fn(text)`, in parallel.
template <typename T, typename Fn>
absl::Status NumberTexts(KernelContext& ctx, const Fn& fn) {
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, ctx.input(0).shape()));
  const std::string* texts = ctx.input(0).values<std::string>().data();
  T* numbers = out.mutable_values<T>().data();
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun(out.num_elements(), kTextsPerPoll, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) numbers[i] = fn(texts[i]);
      }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace gyre
