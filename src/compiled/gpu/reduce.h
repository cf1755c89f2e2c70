// Reductions. Which elements a thread combines, and how threads' results are combined, depends on
// sizes alone, and so do the bits.
#pragma once

#include "compiled/gpu/device.h"
#include "ops/gpu_tables.h"

namespace gyre::gpu {

// As ops/reduction says what is combined: of a type's numbers, which are computed with as `Acc`.
template <typename T>
struct Adding {
  using Type = T;
  using Acc = typename T::Computed;
  static Acc Identity() { return 0; }
  static Acc Combine(Acc a, Acc b) { return a + b; }
};
template <typename T>
struct SumOf : Adding<T> {
  static auto Finish(typename T::Computed sum, uint64_t) { return T::Down(sum); }
};
template <typename T>
struct MeanOf : Adding<T> {
  static auto Finish(typename T::Computed sum, uint64_t count) {
    return T::Down(sum / static_cast<typename T::Computed>(count));
  }
};
template <typename T>
struct ProdOf {
  using Type = T;
  using Acc = typename T::Computed;
  static Acc Identity() { return 1; }
  static Acc Combine(Acc a, Acc b) { return a * b; }
  static auto Finish(Acc product, uint64_t) { return T::Down(product); }
};
// A NaN among the elements is the result.
template <typename T, bool kMax>
struct ExtremumOf {
  using Type = T;
  using Acc = typename T::Computed;
  static Acc Identity() { return T::template Extreme<kMax>(); }
  static Acc Combine(Acc a, Acc b) { return (kMax ? a > b : a < b) || a != a ? a : b; }
  static auto Finish(Acc extremum, uint64_t) { return T::Down(extremum); }
};
// Any byte but 0 is true.
template <bool kAll>
struct LogicalOf {
  using Type = Plain<uint8_t>;
  using Acc = uint8_t;
  static Acc Identity() { return kAll; }
  static Acc Combine(Acc a, Acc b) { return kAll ? (a != 0 && b != 0) : (a != 0 || b != 0); }
  static uint8_t Finish(Acc value, uint64_t) { return value != 0; }
};

// Types with what the extrema of nothing are, and integers that wrap around.
template <typename T>
struct FloatType : T {
  template <bool kMax>
  static typename T::Computed Extreme() {
    constexpr auto kInfinite = static_cast<typename T::Computed>(__builtin_huge_val());
    return kMax ? -kInfinite : kInfinite;
  }
};
template <typename S, typename U>
struct IntegerType {
  using Stored = S;
  using Computed = S;
  static S Up(S x) { return x; }
  static S Down(S x) { return x; }
  template <bool kMax>
  static S Extreme() {
    constexpr bool kIsSigned = static_cast<S>(-1) < 0;
    constexpr auto kLargest =
        static_cast<S>(kIsSigned ? static_cast<U>(-1) >> 1 : static_cast<U>(-1));
    constexpr auto kLeast = static_cast<S>(kIsSigned ? -kLargest - 1 : 0);
    return kMax ? kLeast : kLargest;
  }
};
// Sums and products of integers: as unsigned ones of 64 bits.
template <typename S>
struct WrappingType {
  using Stored = S;
  using Computed = uint64_t;
  static uint64_t Up(S x) { return static_cast<uint64_t>(static_cast<int64_t>(x)); }
  static S Down(uint64_t x) { return static_cast<S>(x); }
};
// The mean of integers is rounded towards zero; of none, it is 0.
template <typename S>
struct IntegerMeanOf : Adding<WrappingType<S>> {
  static S Finish(uint64_t sum, uint64_t count) {
    if (count == 0) return 0;
    if constexpr (static_cast<S>(-1) < 0)
      return static_cast<S>(static_cast<int64_t>(sum) / static_cast<int64_t>(count));
    return static_cast<S>(sum / count);
  }
};

inline uint64_t OffsetOf(const GpuRun* runs, uint64_t n, uint64_t index) {
  uint64_t offset = 0;
  for (uint64_t i = 0; i + 1 < n; ++i) {
    offset += index % runs[i].size * runs[i].stride;
    index /= runs[i].size;
  }
  return n == 0 ? 0 : offset + index * runs[n - 1].stride;
}

// Of a result, elements begin, begin + step, … below `end`: in four sums at a time, for the sake of
// memory that is slow to answer.
template <typename R>
typename R::Acc Gather(const GpuReduction& table, uint64_t base, uint64_t begin, uint64_t end,
                       uint64_t step) {
  using Type = typename R::Type;
  const auto at = [&](uint64_t i) {
    return Type::Up(Load<typename Type::Stored>(
        table.input, base + OffsetOf(table.reduced, table.num_reduced, i)));
  };
  typename R::Acc a = R::Identity(), b = a, c = a, d = a;
  uint64_t i = begin;
  for (; i + 3 * step < end; i += 4 * step) {
    const auto x = at(i), y = at(i + step), z = at(i + 2 * step), w = at(i + 3 * step);
    a = R::Combine(a, x);
    b = R::Combine(b, y);
    c = R::Combine(c, z);
    d = R::Combine(d, w);
  }
  for (; i < end; i += step) a = R::Combine(a, at(i));
  return R::Combine(R::Combine(a, b), R::Combine(c, d));
}

// What all threads of the block have, combined; the first thread has it.
template <typename R>
typename R::Acc Together(typename R::Acc mine) {
  auto* const shared = Shared<typename R::Acc>();
  const uint64_t t = ThreadOfBlock();
  shared[t] = mine;
  Meet();
  for (uint64_t step = ThreadsOfBlock() / 2; step > 0; step /= 2) {
    if (t < step) shared[t] = R::Combine(shared[t], shared[t + step]);
    Meet();
  }
  const typename R::Acc all = shared[0];
  Meet();
  return all;
}

template <typename R>
void Put(const GpuReduction& table, uint64_t result, uint64_t part, typename R::Acc acc) {
  if (table.parts == 1) {
    Store(table.output, result, R::Finish(acc, table.count));
  } else {
    Store(table.parts_at, result * table.parts + part, acc);
  }
}

// Where part number `part` of a result's elements begins.
inline uint64_t PartBegin(const GpuReduction& table, uint64_t part) {
  const uint64_t size = table.count / table.parts, more = table.count % table.parts;
  return part * size + (part < more ? part : more);
}

// A block for each part of a result, or several: of many elements that lie side by side.
template <typename R>
void ReduceByBlocks(const GpuReduction& table) {
  for (uint64_t unit = Block(); unit < table.outputs * table.parts; unit += Blocks()) {
    const uint64_t result = unit / table.parts, part = unit % table.parts;
    const uint64_t base = OffsetOf(table.kept, table.num_kept, result);
    const typename R::Acc acc =
        Together<R>(Gather<R>(table, base, PartBegin(table, part) + ThreadOfBlock(),
                              PartBegin(table, part + 1), ThreadsOfBlock()));
    if (ThreadOfBlock() == 0) Put<R>(table, result, part, acc);
  }
}

// A thread for each part of a result: of few elements, or results that lie side by side.
template <typename R>
void ReduceByThreads(const GpuReduction& table) {
  for (uint64_t unit = Thread(); unit < table.outputs * table.parts; unit += Threads()) {
    const uint64_t result = unit % table.outputs, part = unit / table.outputs;
    const uint64_t base = OffsetOf(table.kept, table.num_kept, result);
    Put<R>(table, result, part,
           Gather<R>(table, base, PartBegin(table, part), PartBegin(table, part + 1), 1));
  }
}

// The results of what parts have made: a block for each.
template <typename R>
void ReduceParts(const GpuReduction& table) {
  for (uint64_t result = Block(); result < table.outputs; result += Blocks()) {
    typename R::Acc acc = R::Identity();
    for (uint64_t i = ThreadOfBlock(); i < table.parts; i += ThreadsOfBlock())
      acc = R::Combine(acc, Load<typename R::Acc>(table.parts_at, result * table.parts + i));
    acc = Together<R>(acc);
    if (ThreadOfBlock() == 0) Store(table.output, result, R::Finish(acc, table.count));
  }
}

}  // namespace gyre::gpu

#define GYRE_REDUCTION(op, name, ...)                                  \
  GYRE_KERNEL gyre_##op##_##name##_blocks(gyre::GpuReduction table) {  \
    gyre::gpu::ReduceByBlocks<gyre::gpu::__VA_ARGS__>(table);          \
  }                                                                    \
  GYRE_KERNEL gyre_##op##_##name##_threads(gyre::GpuReduction table) { \
    gyre::gpu::ReduceByThreads<gyre::gpu::__VA_ARGS__>(table);         \
  }                                                                    \
  GYRE_KERNEL gyre_##op##_##name##_parts(gyre::GpuReduction table) {   \
    gyre::gpu::ReduceParts<gyre::gpu::__VA_ARGS__>(table);             \
  }

#define GYRE_FLOAT_REDUCTIONS(name, T)                                            \
  GYRE_REDUCTION(Sum, name, SumOf<gyre::gpu::T>)                                  \
  GYRE_REDUCTION(Mean, name, MeanOf<gyre::gpu::T>)                                \
  GYRE_REDUCTION(Prod, name, ProdOf<gyre::gpu::T>)                                \
  GYRE_REDUCTION(Max, name, ExtremumOf<gyre::gpu::FloatType<gyre::gpu::T>, true>) \
  GYRE_REDUCTION(Min, name, ExtremumOf<gyre::gpu::FloatType<gyre::gpu::T>, false>)

#define GYRE_INTEGER_REDUCTIONS(name, S, U)                                 \
  GYRE_REDUCTION(Sum, name, SumOf<gyre::gpu::WrappingType<S>>)              \
  GYRE_REDUCTION(Mean, name, IntegerMeanOf<S>)                              \
  GYRE_REDUCTION(Prod, name, ProdOf<gyre::gpu::WrappingType<S>>)            \
  GYRE_REDUCTION(Max, name, ExtremumOf<gyre::gpu::IntegerType<S, U>, true>) \
  GYRE_REDUCTION(Min, name, ExtremumOf<gyre::gpu::IntegerType<S, U>, false>)

GYRE_FLOAT_REDUCTIONS(float32, Float32)
GYRE_FLOAT_REDUCTIONS(float64, Float64)
GYRE_FLOAT_REDUCTIONS(float16, Float16)
GYRE_FLOAT_REDUCTIONS(bfloat16, Bfloat16)
GYRE_INTEGER_REDUCTIONS(int8, int8_t, uint8_t)
GYRE_INTEGER_REDUCTIONS(int16, int16_t, uint16_t)
GYRE_INTEGER_REDUCTIONS(int32, int32_t, uint32_t)
GYRE_INTEGER_REDUCTIONS(int64, int64_t, uint64_t)
GYRE_INTEGER_REDUCTIONS(uint8, uint8_t, uint8_t)
GYRE_INTEGER_REDUCTIONS(uint16, uint16_t, uint16_t)
GYRE_INTEGER_REDUCTIONS(uint32, uint32_t, uint32_t)
GYRE_INTEGER_REDUCTIONS(uint64, uint64_t, uint64_t)
GYRE_REDUCTION(All, bool, LogicalOf<true>)
GYRE_REDUCTION(Any, bool, LogicalOf<false>)
