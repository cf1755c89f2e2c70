#include "ops/random/distributions.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/random/uniform_bits.h"

namespace gyre {
namespace {

// A distribution of T draws groups of kGroup elements, group g from the generator skipped by g *
// kSkip blocks.
template <typename T>
inline constexpr int kGroupOf = sizeof(T) == 8 ? 2 : 4;

template <typename T>
struct Uniform {
  static constexpr int kGroup = kGroupOf<T>;
  static constexpr uint64_t kSkip = 1;
  void operator()(Philox generator, T* out) const {
    const Philox::Block bits = generator.Current();
    if constexpr (std::is_same_v<T, double>) {
      for (int i = 0; i < kGroup; ++i) out[i] = UniformDouble(bits[2 * i], bits[2 * i + 1]);
    } else {
      for (int i = 0; i < kGroup; ++i) out[i] = UniformOf<T>(bits[i]);
    }
  }
};

template <typename T>
struct Normal {
  static constexpr int kGroup = kGroupOf<T>;
  static constexpr uint64_t kSkip = 1;
  void operator()(Philox generator, T* out) const {
    const Philox::Block bits = generator.Current();
    if constexpr (std::is_same_v<T, double>) {
      BoxMuller(UniformDouble(bits[0], bits[1]), UniformDouble(bits[2], bits[3]), out);
    } else {
      for (int i = 0; i < kGroup; i += 2) {
        float pair[2];
        BoxMuller(UniformFloat(bits[i]), UniformFloat(bits[i + 1]), pair);
        out[i] = static_cast<T>(pair[0]);
        out[i + 1] = static_cast<T>(pair[1]);
      }
    }
  }
};

// Draws until the group is full: a number of blocks that is not known beforehand, but less than
// what is reserved.
template <typename T>
struct TruncatedNormal {
  static constexpr int kGroup = kGroupOf<T>;
  static constexpr uint64_t kReservedNumbers = 256;  // for one element
  static constexpr uint64_t kSkip = kGroup * kReservedNumbers / 4;
  void operator()(Philox generator, T* out) const {
    using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
    int filled = 0;
    while (true) {
      const Philox::Block bits = generator.Next();
      F drawn[4];
      int n = 2;
      if constexpr (std::is_same_v<T, double>) {
        BoxMuller(UniformDouble(bits[0], bits[1]), UniformDouble(bits[2], bits[3]), drawn);
      } else {
        n = 4;
        BoxMuller(UniformFloat(bits[0]), UniformFloat(bits[1]), drawn);
        BoxMuller(UniformFloat(bits[2]), UniformFloat(bits[3]), drawn + 2);
      }
      for (int i = 0; i < n; ++i) {
        if (!(std::fabs(drawn[i]) < F{2})) continue;
        out[filled++] = static_cast<T>(drawn[i]);
        if (filled == kGroup) return;
      }
    }
  }
};

// Bits, or if `range` is not 0: `low` plus the bits modulo the range. U is unsigned, so that sums
// wrap around.
template <typename U>
struct Integers {
  static constexpr int kGroup = kGroupOf<U>;
  static constexpr uint64_t kSkip = 1;
  void operator()(Philox generator, U* out) const {
    const Philox::Block block = generator.Current();
    for (int i = 0; i < kGroup; ++i) {
      U bits;
      if constexpr (sizeof(U) == 8) {
        bits = block[2 * i] | static_cast<uint64_t>(block[2 * i + 1]) << 32;
      } else {
        bits = block[i];
      }
      out[i] = range == 0 ? bits : low + bits % range;
    }
  }
  U low = 0;
  U range = 0;
};

template <typename T, typename D>
absl::Status Fill(const KernelContext& ctx, const D& draw, const Philox& generator, T* out,
                  int64_t n) {
  constexpr int64_t kGrain = 2048;  // groups
  return ctx.ParallelRun((n + D::kGroup - 1) / D::kGroup, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      Philox at_group = generator;
      at_group.Skip(static_cast<uint64_t>(group) * D::kSkip);
      const int64_t first = group * D::kGroup;
      if (first + D::kGroup <= n) {
        draw(at_group, out + first);
      } else {
        T last[D::kGroup];
        draw(at_group, last);
        std::copy_n(last, n - first, out + first);
      }
    }
  });
}

// The integers of dtype T as the unsigned type of their size.
template <typename T>
absl::StatusOr<Tensor> FillIntegers(const KernelContext& ctx, const Philox& generator,
                                    std::make_unsigned_t<T> low, std::make_unsigned_t<T> range,
                                    const Shape& shape) {
  using U = std::make_unsigned_t<T>;
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
  GYRE_RETURN_IF_ERROR(Fill(ctx, Integers<U>{low, range}, generator,
                            static_cast<U*>(out.mutable_raw_data()), out.num_elements()));
  return out;
}

using DrawnIntegers = Types<int32_t, int64_t, uint32_t, uint64_t>;

}  // namespace

absl::StatusOr<Tensor> RandomFloats(const KernelContext& ctx, Distribution distribution,
                                    const Philox& generator, DType dtype, const Shape& shape) {
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype, shape));
  GYRE_RETURN_IF_ERROR(VisitType<FloatTypes>(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out.mutable_raw_data());
    const int64_t n = out.num_elements();
    switch (distribution) {
      case Distribution::kUniform:
        return Fill(ctx, Uniform<T>(), generator, to, n);
      case Distribution::kNormal:
        return Fill(ctx, Normal<T>(), generator, to, n);
      case Distribution::kTruncatedNormal:
        return Fill(ctx, TruncatedNormal<T>(), generator, to, n);
    }
    return BugError("a distribution has no name");
  }));
  return out;
}

absl::StatusOr<Tensor> RandomIntegers(const KernelContext& ctx, const Philox& generator,
                                      const Tensor& minval, const Tensor& maxval,
                                      const Shape& shape) {
  if (minval.rank() != 0 || maxval.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("minval and maxval must be scalars, but their shapes are ",
                     minval.shape().ToString(), " and ", maxval.shape().ToString()));
  }
  Tensor out;
  GYRE_RETURN_IF_ERROR(VisitType<DrawnIntegers>(minval.dtype(), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    using U = std::make_unsigned_t<T>;
    const T low = minval.scalar<T>();
    const T high = maxval.scalar<T>();
    if (low >= high && shape.num_elements() > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("minval must be less than maxval, but ", low, " >= ", high));
    }
    const U range = static_cast<U>(static_cast<U>(high) - static_cast<U>(low));
    GYRE_ASSIGN_OR_RETURN(out, FillIntegers<T>(ctx, generator, static_cast<U>(low), range, shape));
    return absl::OkStatus();
  }));
  return out;
}

absl::StatusOr<Tensor> RandomBits(const KernelContext& ctx, const Philox& generator, DType dtype,
                                  const Shape& shape) {
  Tensor out;
  GYRE_RETURN_IF_ERROR(VisitType<DrawnIntegers>(dtype, [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    GYRE_ASSIGN_OR_RETURN(out, FillIntegers<T>(ctx, generator, 0, 0, shape));
    return absl::OkStatus();
  }));
  return out;
}

}  // namespace gyre
