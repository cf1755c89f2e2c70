// Softmaxes of rows, a block for each.
#pragma once

#include "compiled/gpu/device.h"
#include "compiled/gpu/math.h"
#include "compiled/gpu/reduce.h"
#include "ops/gpu_tables.h"

namespace gyre::gpu {

// Of numbers as they are computed with, which no type stores.
template <typename A>
struct MaxOfAcc : ExtremumOf<FloatType<Plain<A>>, true> {};
template <typename A>
struct SumOfAcc : Adding<Plain<A>> {};

template <typename T, bool kLog>
void SoftmaxOfRows(const GpuRows& table) {
  using A = typename T::Computed;
  for (uint64_t row = Block(); row < table.rows; row += Blocks()) {
    const uint64_t begin = row * table.size;
    const auto at = [&](uint64_t i) {
      return T::Up(Load<typename T::Stored>(table.input, begin + i));
    };
    A max = MaxOfAcc<A>::Identity();
    for (uint64_t i = ThreadOfBlock(); i < table.size; i += ThreadsOfBlock())
      max = MaxOfAcc<A>::Combine(max, at(i));
    max = Together<MaxOfAcc<A>>(max);
    A sum = 0;
    for (uint64_t i = ThreadOfBlock(); i < table.size; i += ThreadsOfBlock())
      sum += static_cast<A>(Exp(at(i) - max));
    sum = Together<SumOfAcc<A>>(sum);
    const A log_sum = kLog ? static_cast<A>(Log(sum)) : 0;
    for (uint64_t i = ThreadOfBlock(); i < table.size; i += ThreadsOfBlock()) {
      const A y = kLog ? at(i) - max - log_sum : static_cast<A>(Exp(at(i) - max)) / sum;
      Store(table.output, begin + i, T::Down(y));
    }
  }
}

}  // namespace gyre::gpu

#define GYRE_SOFTMAXES(name, T)                             \
  GYRE_KERNEL gyre_Softmax_##name(gyre::GpuRows table) {    \
    gyre::gpu::SoftmaxOfRows<gyre::gpu::T, false>(table);   \
  }                                                         \
  GYRE_KERNEL gyre_LogSoftmax_##name(gyre::GpuRows table) { \
    gyre::gpu::SoftmaxOfRows<gyre::gpu::T, true>(table);    \
  }

GYRE_SOFTMAXES(float32, Float32)
GYRE_SOFTMAXES(float64, Float64)
GYRE_SOFTMAXES(float16, Float16)
GYRE_SOFTMAXES(bfloat16, Bfloat16)
