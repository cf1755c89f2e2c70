// Fourier transforms and window functions. Complex numbers have their parts on a last axis of two.
#include <algorithm>
#include <numbers>
#include <numeric>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

constexpr double kPi = std::numbers::pi;

// Numbers with their parts on the last axis (one: real ones) as complex ones without it.
Expr AsComplex(NodeContext& c, const Expr& x) {
  const int last = c.Rank(x) - 1;
  if (c.failed() || last < 0) return x;
  const int64_t parts = c.Dim(x, last);
  if (parts != 1 && parts != 2) {
    c.Invalid("its last dimension must be 1 or 2");
    return x;
  }
  const Expr real = Taken(c, x, c.b().Int(0), last);
  const Expr imag = parts == 2 ? Taken(c, x, c.b().Int(1), last) : c.op("ZerosLike", {real});
  return MakeComplex(real, imag);
}

Expr AsParts(NodeContext& c, const Expr& x) {
  const int rank = c.Rank(x);
  return c.op("Pack", {RealPart(x), ImagPart(x)}, {{"axis", int64_t{rank}}});
}

// `x` along its last axis, cut off or padded with zeros to `length`.
Expr WithLength(NodeContext& c, const Expr& x, const Expr& length) {
  const int rank = c.Rank(x);
  if (c.failed() || rank < 1) return x;
  std::vector<Expr> after(rank, c.i64(0)), size(rank, c.i64(-1));
  const Expr begin = Pack(c, after);
  after.back() = Maximum(c, length - DimOf(c, x, rank - 1), c.i64(0));
  size.back() = length;
  const Expr paddings = c.op("Pack", {begin, Pack(c, after)}, {{"axis", int64_t{1}}});
  const Expr padded = c.op("PadV2", {x, paddings, Cast(c.scalar(DType::kFloat, 0), x.dtype())});
  return c.op("Slice", {padded, begin, Pack(c, size)});
}

// The first half of the last axis, its middle included.
Expr FirstHalf(NodeContext& c, const Expr& x) {
  const int last = c.Rank(x) - 1;
  const Expr count = c.op("FloorDiv", {DimOf(c, x, last), c.i64(2)}) + 1.0;
  return Taken(c, x, Iota(c, count), last);
}

// In double precision, as ONNX's own numbers are made.
Expr ForTransform(const Expr& x) { return Cast(x, DType::kDouble); }

// The axis is an input from opset 20 on.
void Dft(NodeContext& c) {
  const Expr given = c.in(0);
  const int rank = c.Rank(given);
  if (c.failed()) return;
  if (rank < 2) return c.Invalid("it takes a signal and its parts");
  Expr axis = c.i64(c.opset() >= 20 ? -2 : c.Int("axis", 1));
  if (c.opset() >= 20 && c.has(2)) axis = Cast(AsScalar(c, c.in(2)), DType::kInt64);
  // The axis changes places with the last one before the parts, and back.
  std::vector<int64_t> all(rank - 1);
  std::iota(all.begin(), all.end(), 0);
  const Expr at = NonNegative(c, axis, c.i64(rank)), last = c.i64(rank - 2);
  const Expr swap = WithElements(c, c.i64s(all), Pack(c, {at, last}), Pack(c, {last, at}));
  Expr x = c.op("Transpose", {AsComplex(c, ForTransform(given)), swap});
  if (c.has(1)) x = WithLength(c, x, Cast(AsScalar(c, c.in(1)), DType::kInt64));
  Expr y = c.op(c.Int("inverse", 0) != 0 ? "IFFT" : "FFT", {x});
  if (c.Int("onesided", 0) != 0) y = FirstHalf(c, y);
  c.out(0, Cast(AsParts(c, c.op("Transpose", {y, swap})), given.dtype()));
}

void Stft(NodeContext& c) {
  const Expr given = c.in(0);
  const Expr step = Cast(AsScalar(c, c.in(1)), DType::kInt64);
  if (c.Rank(given) != 3 || c.failed())
    return c.Invalid("its signal must be [batch, length, parts]");
  const Expr signal = ForTransform(given);
  const Expr length = c.has(3)   ? Cast(AsScalar(c, c.in(3)), DType::kInt64)
                      : c.has(2) ? DimOf(c, c.in(2), 0)
                                 : DimOf(c, signal, 1);
  const Expr count = c.op("FloorDiv", {DimOf(c, signal, 1) - length, step}) + 1.0;
  const Expr places = Unsqueezed(c, step * Iota(c, count), 1) + Unsqueezed(c, Iota(c, length), 0);
  Expr frames = Taken(c, signal, places, 1);  // [batch, frames, length, parts]
  if (c.has(2)) frames = frames * Unsqueezed(c, Cast(c.in(2), signal.dtype()), 1);
  Expr y = c.op("FFT", {AsComplex(c, frames)});
  if (c.Int("onesided", 1) != 0) y = FirstHalf(c, y);
  c.out(0, Cast(AsParts(c, y), given.dtype()));
}

// a0 - a1 cos(2πn/N) + a2 cos(4πn/N), where N is the size, or one less.
void Window(NodeContext& c, double a0, double a1, double a2) {
  const Expr size = Cast(AsScalar(c, c.in(0)), DType::kInt64);
  const Expr n = Cast(Iota(c, size), DType::kDouble);
  const Expr period = Cast(c.Int("periodic", 1) != 0 ? size : size - 1.0, DType::kDouble);
  const Expr angle = 2 * kPi * n / period;
  Expr y = a0 - a1 * c.op("Cos", {angle});
  if (a2 != 0) y = y + a2 * c.op("Cos", {2.0 * angle});
  const int elem_type = c.Int32("output_datatype", wire::TensorProto::FLOAT);
  if (!c.failed()) c.out(0, ToElem(c, {y, Type::Tensor(wire::TensorProto::DOUBLE)}, elem_type));
}

void HannWindow(NodeContext& c) { Window(c, 0.5, 0.5, 0); }
void HammingWindow(NodeContext& c) { Window(c, 25.0 / 46, 21.0 / 46, 0); }
void BlackmanWindow(NodeContext& c) { Window(c, 0.42, 0.5, 0.08); }

// Triangles between neighbouring points on the mel scale, in whole bins.
void MelWeightMatrix(NodeContext& c) {
  const auto number = [&](int i) { return Cast(AsScalar(c, c.in(i)), DType::kDouble); };
  const Expr bins = Cast(AsScalar(c, c.in(0)), DType::kInt64);
  const Expr length = number(1), rate = number(2);
  const auto to_mel = [&](const Expr& hertz) {
    return 2595 / std::numbers::ln10 * c.op("Log", {hertz / 700.0 + 1.0});
  };
  const Expr low = to_mel(number(3)), high = to_mel(number(4));
  const Expr points = Cast(Iota(c, bins + 2.0), DType::kDouble);
  const Expr step = (high - low) / (Cast(bins, DType::kDouble) + 2.0);
  const Expr mel = low + points * step;
  const Expr hertz = 700.0 * (c.op("Exp", {std::numbers::ln10 / 2595 * mel}) - 1.0);
  const Expr edges = c.op("Floor", {(length + 1.0) * hertz / rate});
  const auto part = [&](int first) {
    return Unsqueezed(c, Taken(c, edges, Iota(c, bins) + static_cast<double>(first), 0), 0);
  };
  const Expr begin = part(0), center = part(1), end = part(2);
  const Expr rows = Cast(c.op("Floor", {length / 2.0}), DType::kInt64) + 1.0;
  const Expr j = Unsqueezed(c, Cast(Iota(c, rows), DType::kDouble), 1);
  const Expr zero = c.scalar(DType::kDouble, 0);
  const auto ratio = [&](const Expr& x, const Expr& y) { return c.op("DivNoNan", {x, y}); };
  const Expr up = Where(c.op("Equal", {center, begin}), c.op("OnesLike", {center}),
                        ratio(j - begin, center - begin));
  const auto between = [&](const Expr& from, const Expr& to, bool closed) {
    return And(c, c.op("GreaterEqual", {j, from}), c.op(closed ? "LessEqual" : "Less", {j, to}));
  };
  Expr y = Where(between(begin, center, true), up, zero);
  const Expr falls = And(c, c.op("Greater", {j, center}), c.op("Less", {j, end}));
  y = Where(falls, ratio(end - j, end - center), y);
  const int elem_type = c.Int32("output_datatype", wire::TensorProto::FLOAT);
  if (!c.failed()) c.out(0, ToElem(c, {y, Type::Tensor(wire::TensorProto::DOUBLE)}, elem_type));
}

}  // namespace

void AddSignalOps(OpTable& t) {
  t.Add("BlackmanWindow", BlackmanWindow);
  t.Add("DFT", Dft);
  t.Add("HammingWindow", HammingWindow);
  t.Add("HannWindow", HannWindow);
  t.Add("MelWeightMatrix", MelWeightMatrix);
  t.Add("STFT", Stft);
}

}  // namespace gyre::onnx
