// One step of a long short-term memory, forwards and backwards. With gates i, f, o, a candidate ci
// and peepholes w,
//
//   i = σ(g_i + w_ci c')          f = σ(g_f + bias + w_cf c')      ci = tanh(g_ci)
//   c = clip(i ci + f c')         o = σ(g_o + w_co c)
//   co = tanh(c)                  h = o co
//
// where g = [x, h'] w + b, and c', h' are of the step before. (S. Hochreiter and J. Schmidhuber
// 1997; peepholes by F. Gers and J. Schmidhuber 2000.) Clipping counts as the identity in
// gradients, as the peer has it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/dispatch.h"
#include "ops/math/simd.h"
#include "ops/recurrent/recurrent.h"

namespace gyre::recurrent {

// Where each gate's columns begin, in cells: i first, o last.
struct GateOrder {
  int64_t ci, f;
};
inline constexpr GateOrder kIcfo{1, 2};
inline constexpr GateOrder kIfco{2, 1};

struct LstmSizes {
  int64_t batch, input, cell;
};

// Of x, cs_prev, h_prev, w, wci, wcf, wco and b, which are the inputs from `first` on; x has `rank`
// dimensions, the last of which are batch and input.
absl::StatusOr<LstmSizes> LstmSizesOf(const KernelContext& ctx, int first, int rank);

// What a step reads; matrices are [batch, cell] but for `gates`, [batch, 4 cell].
template <typename T>
struct LstmWeights {
  LstmWeights(const KernelContext& ctx, int first, bool use_peephole)
      : w(Data(ctx, first + 3)),
        wci(use_peephole ? Data(ctx, first + 4) : nullptr),
        wcf(use_peephole ? Data(ctx, first + 5) : nullptr),
        wco(use_peephole ? Data(ctx, first + 6) : nullptr),
        b(Data(ctx, first + 7)) {}
  static const T* Data(const KernelContext& ctx, int i) {
    return static_cast<const T*>(ctx.input(i).raw_data());
  }
  const T *w, *wci, *wcf, *wco, *b;  // peepholes: null where there are none
};

template <typename T>
struct LstmState {
  T *i, *cs, *f, *o, *ci, *co, *h;
};

struct LstmOptions {
  GateOrder order = kIcfo;
  float forget_bias = 0;
  float clip = 0;  // none unless positive
};

// Row `row` of a step forwards, given the products `gates`.
template <typename T>
void LstmRow(const LstmSizes& sizes, const LstmOptions& options, const LstmWeights<T>& weights,
             const T* gates, const T* cs_prev, int64_t row, const LstmState<T>& out) {
  static const UnaryRow sigmoid = simd::FindRow(simd::UnaryOp::kSigmoid, DType::kFloat);
  static const UnaryRow tanh = simd::FindRow(simd::UnaryOp::kTanh, DType::kFloat);
  const int64_t cell = sizes.cell, at = row * cell;
  float i[kPart], ci[kPart], f[kPart], o[kPart], cs[kPart], co[kPart];
  for (int64_t j0 = 0; j0 < cell; j0 += kPart) {
    const int64_t n = std::min(kPart, cell - j0);
    const auto number = [](T x) { return static_cast<float>(x); };
    const auto gate = [&](int64_t which, int64_t j) {
      const int64_t column = which * cell + j0 + j;
      return number(gates[row * 4 * cell + column]) + number(weights.b[column]);
    };
    const auto before = [&](int64_t j) { return number(cs_prev[at + j0 + j]); };
    for (int64_t j = 0; j < n; ++j) {
      i[j] = gate(0, j);
      ci[j] = gate(options.order.ci, j);
      f[j] = gate(options.order.f, j) + options.forget_bias;
      o[j] = gate(3, j);
    }
    if (weights.wci != nullptr) {
      for (int64_t j = 0; j < n; ++j) {
        i[j] += before(j) * number(weights.wci[j0 + j]);
        f[j] += before(j) * number(weights.wcf[j0 + j]);
      }
    }
    sigmoid(i, i, n);
    tanh(ci, ci, n);
    sigmoid(f, f, n);
    for (int64_t j = 0; j < n; ++j) cs[j] = i[j] * ci[j] + f[j] * before(j);
    if (options.clip > 0) {
      for (int64_t j = 0; j < n; ++j) {
        cs[j] = cs[j] > options.clip ? options.clip : cs[j] < -options.clip ? -options.clip : cs[j];
      }
    }
    tanh(cs, co, n);
    if (weights.wco != nullptr) {
      for (int64_t j = 0; j < n; ++j) o[j] += cs[j] * number(weights.wco[j0 + j]);
    }
    sigmoid(o, o, n);
    for (int64_t j = 0; j < n; ++j) {
      const int64_t to = at + j0 + j;
      out.i[to] = static_cast<T>(i[j]);
      out.ci[to] = static_cast<T>(ci[j]);
      out.f[to] = static_cast<T>(f[j]);
      out.cs[to] = static_cast<T>(cs[j]);
      out.co[to] = static_cast<T>(co[j]);
      out.o[to] = static_cast<T>(o[j]);
      out.h[to] = static_cast<T>(o[j] * co[j]);
    }
  }
}

// What a step left, and the adjoints of its state: of its outputs, and (where not null) of the
// state as the step behind uses it.
template <typename T>
struct LstmAdjoints {
  const T *cs_prev, *i, *cs, *f, *o, *ci, *co;
  const T *cs_grad, *h_grad;
  const T *later_cs = nullptr, *later_h = nullptr;
};

// Row `row` of a step backwards: the adjoints of the gates before their functions, and of the
// state before, which may be where `later_cs` is.
template <typename T>
void LstmGradRow(const LstmSizes& sizes, GateOrder order, const LstmWeights<T>& weights,
                 const LstmAdjoints<T>& step, int64_t row, T* dgates, T* cs_prev_grad) {
  const auto number = [](T x) { return static_cast<float>(x); };
  const int64_t cell = sizes.cell;
  T* const gates = dgates + row * 4 * cell;
  for (int64_t j = 0; j < cell; ++j) {
    const int64_t at = row * cell + j;
    const float i = number(step.i[at]), f = number(step.f[at]), o = number(step.o[at]);
    const float ci = number(step.ci[at]), co = number(step.co[at]);
    const float before = number(step.cs_prev[at]);
    const float dh =
        number(step.h_grad[at]) + (step.later_h == nullptr ? 0 : number(step.later_h[at]));
    const float dc =
        number(step.cs_grad[at]) + (step.later_cs == nullptr ? 0 : number(step.later_cs[at]));
    const float d_o = o * (1 - o) * dh * co;
    float dcs = (1 - co * co) * dh * o + dc;
    if (weights.wco != nullptr) dcs += d_o * number(weights.wco[j]);
    const float dci = (1 - ci * ci) * dcs * i;
    const float df = f * (1 - f) * dcs * before;
    const float di = i * (1 - i) * dcs * ci;
    float back = dcs * f;
    if (weights.wci != nullptr) back += di * number(weights.wci[j]) + df * number(weights.wcf[j]);
    gates[j] = static_cast<T>(di);
    gates[order.ci * cell + j] = static_cast<T>(dci);
    gates[order.f * cell + j] = static_cast<T>(df);
    gates[3 * cell + j] = static_cast<T>(d_o);
    cs_prev_grad[at] = static_cast<T>(back);
  }
}

// What peepholes have to do with.
template <typename T>
struct PeepholeInputs {
  const T *dgates, *cs_prev, *cs;
};
// The adjoints of the three peepholes, each of `cell` numbers, of some rows.
template <typename T>
absl::Status AddPeepholes(const KernelContext& ctx, int64_t rows, int64_t cell, GateOrder order,
                          const PeepholeInputs<T>& in, double* sums) {
  const int64_t wide = 4 * cell;
  GYRE_RETURN_IF_ERROR(AddColumns(ctx, rows, cell, in.dgates, wide, in.cs_prev, cell, sums));
  GYRE_RETURN_IF_ERROR(
      AddColumns(ctx, rows, cell, in.dgates + order.f * cell, wide, in.cs_prev, cell, sums + cell));
  return AddColumns(ctx, rows, cell, in.dgates + 3 * cell, wide, in.cs, cell, sums + 2 * cell);
}

// `sums`, as outputs from `first` on, each of `size` numbers.
template <typename T>
absl::Status SetVectors(KernelContext& ctx, int first, int count, int64_t size,
                        const double* sums) {
  for (int v = 0; v < count; ++v) {
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, Shape::Vector(size)));
    T* to = static_cast<T*>(out.mutable_raw_data());
    for (int64_t j = 0; j < size; ++j)
      to[j] = static_cast<T>(static_cast<float>(sums[v * size + j]));
    ctx.set_output(first + v, std::move(out));
  }
  return absl::OkStatus();
}

}  // namespace gyre::recurrent
