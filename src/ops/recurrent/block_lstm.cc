// BlockLSTM, BlockLSTMV2 and their gradients: a long short-term memory over all steps of a
// sequence. What inputs contribute to gates is one product for all steps; steps add what the state
// contributes. Backwards, all steps' gates give the adjoints of inputs and weights in one product.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/recurrent/lstm.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using namespace recurrent;  // NOLINT: this file is of it

// The first `count` of `steps` steps are computed.
struct Sequence {
  static absl::StatusOr<Sequence> Make(const KernelContext& ctx) {
    GYRE_RETURN_IF_ERROR(RequireRank(ctx, 0, 0));
    GYRE_ASSIGN_OR_RETURN(const int64_t count, ctx.IntScalar(0, "seq_len_max"));
    GYRE_ASSIGN_OR_RETURN(const LstmSizes sizes, LstmSizesOf(ctx, 1, 3));
    const int64_t steps = ctx.input(1).dim(0);
    if (count < 0 || count > steps) {
      return absl::InvalidArgumentError(absl::StrCat(
          "seq_len_max is ", count, ", but must be in [0, ", steps, "], as many as x has steps"));
    }
    return Sequence{sizes, steps, sizes.batch * sizes.cell == 0 ? 0 : count};
  }
  int64_t step_size() const { return sizes.batch * sizes.cell; }
  int64_t wide() const { return 4 * sizes.cell; }
  absl::StatusOr<Shape> StateShape() const { return Shape::Make({steps, sizes.batch, sizes.cell}); }
  // Of the gates of all steps that are computed.
  absl::StatusOr<Shape> GatesShape() const { return Shape::Make({count, sizes.batch, wide()}); }

  LstmSizes sizes;
  int64_t steps, count;
};

template <bool kV2>
struct Attrs {
  explicit Attrs(const Node& node)
      : options{kV2 ? kIfco : kIcfo, kV2 ? 0 : node.attrs.GetOr<float>("forget_bias", 0),
                NodeAttr<float>(node, "cell_clip")},
        use_peephole(NodeAttr<bool>(node, "use_peephole")) {}
  LstmOptions options;
  bool use_peephole;
};

template <bool kV2>
struct Forward {
  template <typename T>
  struct Kernel {
    static absl::Status Run(KernelContext& ctx, const Attrs<kV2>& attrs) {
      GYRE_ASSIGN_OR_RETURN(const Sequence seq, Sequence::Make(ctx));
      GYRE_ASSIGN_OR_RETURN(const Shape shape, seq.StateShape());
      GYRE_ASSIGN_OR_RETURN(const Shape gates_shape, seq.GatesShape());
      std::vector<Tensor> outs;
      T* data[7];
      for (T*& d : data) {
        GYRE_ASSIGN_OR_RETURN(Tensor out, seq.count == seq.steps
                                              ? ctx.Allocate(DTypeOf<T>, shape)
                                              : ctx.AllocateZeros(DTypeOf<T>, shape));
        d = static_cast<T*>(out.mutable_raw_data());
        outs.push_back(std::move(out));
      }
      if (seq.count > 0) {
        GYRE_ASSIGN_OR_RETURN(Tensor gates, ctx.Allocate(DTypeOf<T>, gates_shape));
        GYRE_RETURN_IF_ERROR(
            Steps(ctx, seq, attrs, static_cast<T*>(gates.mutable_raw_data()), data));
      }
      for (int i = 0; i < 7; ++i) ctx.set_output(i, std::move(outs[i]));
      return absl::OkStatus();
    }

    static absl::Status Steps(const KernelContext& ctx, const Sequence& seq,
                              const Attrs<kV2>& attrs, T* gates, T* const* data) {
      const LstmSizes& s = seq.sizes;
      const LstmWeights<T> weights(ctx, 1, attrs.use_peephole);
      const auto input = [&](int i) { return static_cast<const T*>(ctx.input(i).raw_data()); };
      const int64_t n = seq.wide();
      GYRE_RETURN_IF_ERROR(Product<T>(ctx, seq.count * s.batch, n, s.input, {input(1), s.input},
                                      {weights.w, n}, /*add=*/false, gates));
      const T *cs_prev = input(2), *h_prev = input(3);
      for (int64_t t = 0; t < seq.count; ++t) {
        T* const g = gates + t * s.batch * n;
        GYRE_RETURN_IF_ERROR(Product<T>(ctx, s.batch, n, s.cell, {h_prev, s.cell},
                                        {weights.w + s.input * n, n}, /*add=*/true, g));
        const auto at = [&](int i) { return data[i] + t * seq.step_size(); };
        const LstmState<T> state{at(0), at(1), at(2), at(3), at(4), at(5), at(6)};
        GYRE_RETURN_IF_ERROR(ForRows(ctx, s.batch, n, [&](int64_t row) {
          LstmRow<T>(s, attrs.options, weights, g, cs_prev, row, state);
        }));
        cs_prev = state.cs;
        h_prev = state.h;
      }
      return absl::OkStatus();
    }
  };
};

struct GradAttrs {
  explicit GradAttrs(const Node& node) : use_peephole(NodeAttr<bool>(node, "use_peephole")) {}
  bool use_peephole;
};

// Inputs are those of BlockLSTM, its outputs i, cs, f, o, ci, co, h (9 to 15), and the adjoints of
// cs and h.
template <typename T>
class Backward {
 public:
  Backward(KernelContext& ctx, const Sequence& seq, GateOrder order, bool use_peephole)
      : ctx_(ctx), seq_(seq), s_(seq.sizes), order_(order), use_peephole_(use_peephole) {}

  absl::Status Run() {
    GYRE_ASSIGN_OR_RETURN(const Shape gates_shape, seq_.GatesShape());
    std::vector<Tensor> outs;
    for (int i = 0; i < 4; ++i) {
      GYRE_ASSIGN_OR_RETURN(Tensor out, ctx_.AllocateZeros(DTypeOf<T>, ctx_.input(1 + i).shape()));
      outs.push_back(std::move(out));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor gates, ctx_.Allocate(DTypeOf<T>, gates_shape));
    T* const dgates = static_cast<T*>(gates.mutable_raw_data());
    const auto data = [&](int i) { return static_cast<T*>(outs[i].mutable_raw_data()); };
    std::vector<double> peepholes(3 * s_.cell), biases(seq_.wide());
    if (seq_.count > 0) {
      GYRE_RETURN_IF_ERROR(Steps(dgates, data(1), data(2)));
      GYRE_RETURN_IF_ERROR(Products(dgates, data(0), data(3)));
      GYRE_RETURN_IF_ERROR(Sums(dgates, peepholes.data(), biases.data()));
    }
    for (int i = 0; i < 4; ++i) ctx_.set_output(i, std::move(outs[i]));
    GYRE_RETURN_IF_ERROR(SetVectors<T>(ctx_, 4, 3, s_.cell, peepholes.data()));
    return SetVectors<T>(ctx_, 7, 1, seq_.wide(), biases.data());
  }

 private:
  const T* input(int i) const { return static_cast<const T*>(ctx_.input(i).raw_data()); }
  // Input i, of all steps, at step t.
  const T* at(int i, int64_t t) const { return input(i) + t * seq_.step_size(); }

  // The adjoints of the gates, and of the state before the first step.
  absl::Status Steps(T* dgates, T* cs_grad, T* h_grad) {
    const LstmWeights<T> weights(ctx_, 1, use_peephole_);
    const int64_t n = seq_.wide();
    for (int64_t t = seq_.count - 1; t >= 0; --t) {
      const LstmAdjoints<T> step{t == 0 ? input(2) : at(10, t - 1),
                                 at(9, t),
                                 at(10, t),
                                 at(11, t),
                                 at(12, t),
                                 at(13, t),
                                 at(14, t),
                                 at(16, t),
                                 at(17, t),
                                 cs_grad,
                                 h_grad};
      T* const d = dgates + t * s_.batch * n;
      GYRE_RETURN_IF_ERROR(ForRows(ctx_, s_.batch, n, [&](int64_t row) {
        LstmGradRow<T>(s_, order_, weights, step, row, d, cs_grad);
      }));
      GYRE_RETURN_IF_ERROR(Product<T>(ctx_, s_.batch, s_.cell, n, {d, n},
                                      {weights.w + s_.input * n, n, true}, /*add=*/false, h_grad));
    }
    return absl::OkStatus();
  }

  // The adjoints of x and w.
  absl::Status Products(const T* dgates, T* x_grad, T* w_grad) {
    const T* w = input(4);
    const int64_t n = seq_.wide(), rows = seq_.count * s_.batch;
    GYRE_RETURN_IF_ERROR(Product<T>(ctx_, rows, s_.input, n, {dgates, n}, {w, n, true},
                                    /*add=*/false, x_grad));
    GYRE_RETURN_IF_ERROR(Product<T>(ctx_, s_.input, n, rows, {input(1), s_.input, true},
                                    {dgates, n}, /*add=*/false, w_grad));
    T* const h_part = w_grad + s_.input * n;
    GYRE_RETURN_IF_ERROR(Product<T>(ctx_, s_.cell, n, s_.batch, {input(3), s_.cell, true},
                                    {dgates, n}, /*add=*/false, h_part));
    if (seq_.count == 1) return absl::OkStatus();
    return Product<T>(ctx_, s_.cell, n, rows - s_.batch, {input(15), s_.cell, true},
                      {dgates + s_.batch * n, n}, /*add=*/true, h_part);
  }

  absl::Status Sums(const T* dgates, double* peepholes, double* biases) {
    const int64_t n = seq_.wide(), rows = seq_.count * s_.batch;
    GYRE_RETURN_IF_ERROR(AddColumns<T>(ctx_, rows, n, dgates, n, nullptr, 0, biases));
    if (!use_peephole_) return absl::OkStatus();
    for (int64_t t = 0; t < seq_.count; ++t) {
      GYRE_RETURN_IF_ERROR(AddPeepholes<T>(
          ctx_, s_.batch, s_.cell, order_,
          {dgates + t * s_.batch * n, t == 0 ? input(2) : at(10, t - 1), at(10, t)}, peepholes));
    }
    return absl::OkStatus();
  }

  KernelContext& ctx_;
  const Sequence seq_;
  const LstmSizes s_;
  const GateOrder order_;
  const bool use_peephole_;
};

template <bool kV2>
struct BackwardOf {
  template <typename T>
  struct Kernel {
    static absl::Status Run(KernelContext& ctx, const GradAttrs& attrs) {
      GYRE_ASSIGN_OR_RETURN(const Sequence seq, Sequence::Make(ctx));
      for (int i = 9; i < 18; ++i)
        GYRE_RETURN_IF_ERROR(RequireDims(ctx, i, {seq.steps, seq.sizes.batch, seq.sizes.cell}));
      return Backward<T>(ctx, seq, kV2 ? kIfco : kIcfo, attrs.use_peephole).Run();
    }
  };
};

absl::Status ForwardShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 3));
  GYRE_RETURN_IF_ERROR(c.RequireRank(8, 1));
  const int64_t gates = DimOf(c, 8, 0);
  if (gates >= 0 && gates % 4 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("b must have 4 numbers for each cell, but has ", gates));
  }
  const PartialShape shape(Dims{DimOf(c, 1, 0), DimOf(c, 1, 1), gates < 0 ? -1 : gates / 4});
  for (int i = 0; i < 7; ++i) c.set_output(i, shape);
  return absl::OkStatus();
}

absl::Status BackwardShape(ShapeContext& c) {
  constexpr int kRanks[] = {3, 2, 2, 2, 1, 1, 1, 1};
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  for (int i = 0; i < 8; ++i) {
    GYRE_RETURN_IF_ERROR(c.RequireRank(1 + i, kRanks[i]));
    c.set_output(
        i, c.input(1 + i).has_rank() ? c.input(1 + i) : PartialShape::UnknownOfRank(kRanks[i]));
  }
  return absl::OkStatus();
}

template <bool kV2>
void BlockGradient(GradientContext& g) {
  if (!OnlyThese(g, {1, 6})) return;
  std::vector<Expr> inputs;
  for (int i = 0; i < 9; ++i) inputs.push_back(g.input(i));
  for (int i = 0; i < 7; ++i) inputs.push_back(g.output(i));
  inputs.push_back(g.grad(1));
  inputs.push_back(g.grad(6));
  const std::vector<Expr> grads =
      g.builder().Ops(kV2 ? "BlockLSTMGradV2" : "BlockLSTMGrad", inputs,
                      {{"use_peephole", g.attr<bool>("use_peephole", false)}}, 8);
  for (int i = 0; i < 8; ++i) g.Add(1 + i, grads[i]);
}

constexpr absl::string_view kInputs =
    "(seq_len_max: int64, x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T";
constexpr absl::string_view kOutputs = ") -> i: T, cs: T, f: T, o: T, ci: T, co: T, h: T {";
constexpr absl::string_view kGradRest =
    ", i: T, cs: T, f: T, o: T, ci: T, co: T, h: T, cs_grad: T, h_grad: T) -> x_grad: T, "
    "cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T "
    "{use_peephole: bool; T: {half, float}}";
constexpr absl::string_view kNoSecond = "BlockLSTM has first derivatives only";

}  // namespace

void RegisterBlockLstm(OpRegistry& ops) {
  const std::string forward =
      absl::StrCat("BlockLSTM", kInputs, kOutputs,
                   "forget_bias: float = 1.0; cell_clip: float = 3.0; use_peephole: bool = false; "
                   "T: {half, float}}");
  const std::string forward_v2 =
      absl::StrCat("BlockLSTMV2", kInputs, kOutputs,
                   "cell_clip: float = 0.0; use_peephole: bool = false; T: {half, float}}");
  const std::string backward = absl::StrCat("BlockLSTMGrad", kInputs, kGradRest);
  const std::string backward_v2 = absl::StrCat("BlockLSTMGradV2", kInputs, kGradRest);
  using FloatAndHalf = Types<float, Half>;
  ops.Add({.schema = forward,
           .doc = "A long short-term memory over the steps of a sequence; gates are in the order "
                  "i, c, f, o. Steps from seq_len_max on are zero.",
           .shape = ForwardShape,
           .gradient = {BlockGradient<false>},
           .kernel = ForTypes<Forward<false>::Kernel, FloatAndHalf>("T")});
  ops.Add({.schema = forward_v2,
           .doc = "A long short-term memory over the steps of a sequence; gates are in the order "
                  "i, f, c, o. Steps from seq_len_max on are zero.",
           .shape = ForwardShape,
           .gradient = {BlockGradient<true>},
           .kernel = ForTypes<Forward<true>::Kernel, FloatAndHalf>("T")});
  ops.Add({.schema = backward,
           .doc = "The gradient of BlockLSTM.",
           .shape = BackwardShape,
           .gradient = RefusesGradient(kNoSecond),
           .kernel = ForTypes<BackwardOf<false>::Kernel, FloatAndHalf>("T")});
  ops.Add({.schema = backward_v2,
           .doc = "The gradient of BlockLSTMV2.",
           .shape = BackwardShape,
           .gradient = RefusesGradient(kNoSecond),
           .kernel = ForTypes<BackwardOf<true>::Kernel, FloatAndHalf>("T")});
}

}  // namespace gyre
