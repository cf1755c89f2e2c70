// Attention, and rotations of positions.
#include <cmath>
#include <limits>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// [batch, length, heads * size] as [batch, heads, length, size].
Expr Heads(NodeContext& c, const Expr& x, int64_t heads) {
  if (c.Rank(x) == 4 || c.failed()) return x;
  if (heads < 1) {
    c.Invalid("the number of heads is missing");
    return x;
  }
  const Expr split =
      c.op("Reshape", {x, Pack(c, {DimOf(c, x, 0), DimOf(c, x, 1), c.i64(heads),
                                   c.op("FloorDiv", {DimOf(c, x, 2), c.i64(heads)})})});
  return Transposed(c, split, {0, 2, 1, 3});
}

Expr With(NodeContext& c, int past, const Expr& now) {
  if (!c.has(past)) return now;
  return c.op("ConcatV2", {c.in(past), now, c.b().Int(2)});
}

// 0 where it is true, minus infinity elsewhere.
Expr Bias(NodeContext& c, const Expr& allowed, DType dtype) {
  if (c.failed()) return allowed;
  return Where(allowed, c.scalar(dtype, 0), c.scalar(dtype, -kInfinity));
}

// Each head as often as there are heads of queries for it.
Expr Repeated(NodeContext& c, const Expr& x, const Expr& q) {
  const Expr times = c.op("FloorDiv", {DimOf(c, q, 1), DimOf(c, x, 1)});
  if (const auto known = c.ints(times); known && (*known)[0] == 1) return x;
  const Expr places = c.op("FloorDiv", {Iota(c, DimOf(c, q, 1)), times});
  return Taken(c, x, places, 1);
}

class AttentionWriter {
 public:
  explicit AttentionWriter(NodeContext& c) : c_(c) {}

  void Write() {
    const Expr q_given = c_.in(0);
    const bool is_flat = c_.Rank(q_given) == 3;
    q_ = Heads(c_, q_given, c_.Int("q_num_heads", 0));
    const int64_t kv_heads = c_.Int("kv_num_heads", 0);
    k_ = With(c_, 4, Heads(c_, c_.in(1), kv_heads));
    v_ = With(c_, 5, Heads(c_, c_.in(2), kv_heads));
    if (c_.failed()) return;
    c_.out(1, k_);
    c_.out(2, v_);
    dtype_ = q_.dtype();
    const Expr scores = Scores();
    const int64_t mode = c_.Int("qk_matmul_output_mode", 0);
    const Expr biased = Biased(scores);
    Expr capped = biased;
    if (const double cap = c_.Float("softcap", 0); cap > 0)
      capped = cap * c_.op("Tanh", {biased / cap});
    Expr precise = capped;
    if (c_.HasAttr("softmax_precision")) {
      const auto precision = DTypeOfElem(c_.Int32("softmax_precision", 0));
      if (!precision.ok()) return c_.Fail(precision.status());
      precise = Cast(capped, *precision);
    }
    const Expr weights = Cast(c_.op("Softmax", {precise}), dtype_);
    Expr y = c_.op("BatchMatMulV2", {weights, Cast(Repeated(c_, v_, q_), dtype_)});
    if (is_flat) {
      const Expr turned = Transposed(c_, y, {0, 2, 1, 3});
      y = c_.op("Reshape", {turned, Pack(c_, {DimOf(c_, q_, 0), DimOf(c_, q_, 2), c_.i64(-1)})});
    }
    c_.out(0, y);
    c_.out(3, mode == 0 ? scores : mode == 1 ? biased : mode == 2 ? capped : weights);
  }

 private:
  // The root of the scale goes to both factors.
  Expr Scores() {
    Expr root;
    if (c_.HasAttr("scale")) {
      root = c_.scalar(dtype_, std::sqrt(c_.Float("scale", 1)));
    } else {
      const Expr size = Cast(DimOf(c_, q_, 3), DType::kDouble);
      root = Cast(c_.op("Sqrt", {1.0 / c_.op("Sqrt", {size})}), dtype_);
    }
    return c_.op("BatchMatMulV2", {q_ * root, Repeated(c_, k_, q_) * root}, {{"adj_y", true}});
  }

  Expr Biased(Expr scores) {
    const Expr total = DimOf(c_, k_, 2);
    if (c_.has(3)) scores = scores + Mask(total);
    const Expr columns = Unsqueezed(c_, Iota(c_, total), 0);
    if (c_.Int("is_causal", 0) != 0) {
      const Expr past = c_.has(4) ? DimOf(c_, c_.in(4), 2) : c_.i64(0);
      const Expr rows = Unsqueezed(c_, Iota(c_, DimOf(c_, q_, 2)), 1);
      scores = scores + Bias(c_, c_.op("LessEqual", {columns, rows + past}), dtype_);
    }
    if (c_.has(6)) {
      const Expr lengths = AsShape(c_, Cast(c_.in(6), DType::kInt64), {-1, 1, 1, 1});
      scores = scores + Bias(c_, Less(c_, columns, lengths), dtype_);
    }
    return scores;
  }

  // A mask that is shorter than the keys hides the others.
  Expr Mask(const Expr& total) {
    Expr mask = c_.in(3);
    if (c_.failed()) return mask;
    if (mask.dtype() == DType::kBool) mask = Bias(c_, mask, dtype_);
    mask = Cast(mask, dtype_);
    const int rank = c_.Rank(mask);
    if (c_.failed() || rank < 1) return mask;
    const Expr missing = Maximum(c_, total - DimOf(c_, mask, rank - 1), c_.i64(0));
    if (const auto known = c_.ints(missing); known && (*known)[0] == 0) return mask;
    std::vector<Expr> after(rank, c_.i64(0));
    const Expr before = Pack(c_, after);
    after.back() = missing;
    const Expr paddings = c_.op("Pack", {before, Pack(c_, after)}, {{"axis", int64_t{1}}});
    return c_.op("PadV2", {mask, paddings, c_.scalar(dtype_, -kInfinity)});
  }

  NodeContext& c_;
  Expr q_, k_, v_;
  DType dtype_ = DType::kInvalid;
};

void Attention(NodeContext& c) { AttentionWriter(c).Write(); }

// Elements of the last axis: `count` from `begin` on, each `step`th.
Expr LastAxis(NodeContext& c, const Expr& x, int64_t begin, const Expr& end, int64_t step) {
  const Expr places = c.op("Range", {c.i64(begin), end, c.i64(step)});
  return Taken(c, x, places, c.Rank(x) - 1);
}

// Pairs of a head's elements turned by angles: halves, or neighbours (interleaved).
void RotaryEmbedding(NodeContext& c) {
  const Expr given = c.in(0);
  Expr cos = c.in(1), sin = c.in(2);
  const int rank = c.Rank(given);
  if (c.failed()) return;
  // [batch, length, heads, size]
  Expr x = rank == 3 ? Transposed(c, Heads(c, given, c.Int("num_heads", 0)), {0, 2, 1, 3})
                     : Transposed(c, given, {0, 2, 1, 3});
  if (c.has(3)) {
    const Expr places = Cast(c.in(3), DType::kInt64);
    cos = Taken(c, cos, places, 0);
    sin = Taken(c, sin, places, 0);
  }
  cos = Unsqueezed(c, cos, 2);
  sin = Unsqueezed(c, sin, 2);
  const int64_t dims = c.Int("rotary_embedding_dim", 0);
  const Expr size = DimOf(c, x, 3);
  const Expr turned = dims > 0 ? c.i64(dims) : size;
  const Expr half = c.op("FloorDiv", {turned, c.i64(2)});
  const bool interleaved = c.Int("interleaved", 0) != 0;
  Expr first, second;
  if (interleaved) {
    first = LastAxis(c, x, 0, turned, 2);
    second = LastAxis(c, x, 1, turned, 2);
  } else {
    first = LastAxis(c, x, 0, half, 1);
    second = Taken(c, x, half + Iota(c, half), 3);
  }
  const Expr real = cos * first - sin * second, imag = sin * first + cos * second;
  Expr y;
  if (interleaved) {
    const Expr pairs = c.op("Pack", {real, imag}, {{"axis", int64_t{4}}});
    y = c.op("Reshape", {pairs, Pack(c, {DimOf(c, x, 0), DimOf(c, x, 1), DimOf(c, x, 2), turned})});
  } else {
    y = c.op("ConcatV2", {real, imag, c.b().Int(3)});
  }
  if (dims > 0) {
    const Expr rest = Taken(c, x, turned + Iota(c, size - turned), 3);
    y = c.op("ConcatV2", {y, rest, c.b().Int(3)});
  }
  c.out(0, rank == 3 ? c.op("Reshape", {y, DimsOf(c, given)}) : Transposed(c, y, {0, 2, 1, 3}));
}

}  // namespace

void AddAttentionOps(OpTable& t) {
  t.Add("Attention", Attention);
  t.Add("RotaryEmbedding", RotaryEmbedding);
}

}  // namespace gyre::onnx
