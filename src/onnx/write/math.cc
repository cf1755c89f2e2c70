// Arithmetic and elementwise functions that are not one op of ONNX, casts, choices.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "onnx/write/op_writer.h"

namespace gyre::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ModelValue One(OpWriter& w) { return w.Number(w.dtype(0), 1); }
ModelValue Zero(OpWriter& w) { return w.Number(w.dtype(0), 0); }

void WriteAddOld(OpWriter& w) { w.out(0, w.Add(w.in(0), w.in(1))); }
void WriteSame(OpWriter& w) { w.out(0, w.in(0)); }
void WriteAll(OpWriter& w) {
  for (int i = 0; i < w.num_outputs(); ++i) w.out(i, w.in(i));
}
void WriteSquare(OpWriter& w) { w.out(0, w.Mul(w.in(0), w.in(0))); }
void WriteSquaredDifference(OpWriter& w) {
  const ModelValue difference = w.Sub(w.in(0), w.in(1));
  w.out(0, w.Mul(difference, difference));
}
void WriteDiv(OpWriter& w) { w.out(0, w.Div(w.in(0), w.in(1))); }
void WriteFloorDiv(OpWriter& w) { w.out(0, w.FloorDiv(w.in(0), w.in(1))); }
void WriteMaximum(OpWriter& w) { w.out(0, w.Max(w.in(0), w.in(1))); }
void WriteMinimum(OpWriter& w) { w.out(0, w.Min(w.in(0), w.in(1))); }
void WriteReciprocal(OpWriter& w) { w.out(0, w.Op("Reciprocal", {w.in(0)}, {}, w.dtype(0))); }
void WriteRsqrt(OpWriter& w) { w.out(0, w.Op("Reciprocal", {w.Unary("Sqrt", w.in(0))})); }
void WriteNotEqual(OpWriter& w) {
  if (w.dtype(0) == DType::kBool)
    return w.out(0, w.Op("Xor", {w.in(0), w.in(1)}, {}, DType::kBool));
  w.out(0, w.Not(w.Binary("Equal", w.in(0), w.in(1))));
}

// The sign of the result is the divisor's, or the dividend's.
ModelValue Rest(OpWriter& w, bool as_dividend) {
  const DType dtype = w.dtype(0);
  const bool is_narrow = IsInteger(dtype) && DTypeSize(dtype) < 4;
  if (!IsFloating(dtype) && !IsInteger(dtype))
    w.Unsupported(absl::StrCat("ONNX has no Mod of ", DTypeName(dtype)));
  const DType wide = is_narrow ? DType::kInt32 : dtype;
  const ModelValue x = w.Cast(w.in(0), wide), y = w.Cast(w.in(1), wide);
  const bool is_floating = IsFloating(dtype);
  ModelValue rest =
      w.Op("Mod", {x, y}, {IntAttr("fmod", is_floating || as_dividend ? 1 : 0)}, wide);
  if (is_floating && !as_dividend) {
    const ModelValue zero = w.Number(wide, 0);
    const ModelValue is_uneven = w.Not(w.Binary("Equal", rest, zero));
    const ModelValue differs =
        w.Op("Xor", {w.Binary("Less", rest, zero), w.Binary("Less", y, zero)}, {}, DType::kBool);
    rest = w.Where(w.Binary("And", is_uneven, differs), w.Add(rest, y), rest);
  }
  return w.Cast(rest, dtype);
}
void WriteFloorMod(OpWriter& w) { w.out(0, Rest(w, false)); }
void WriteTruncateMod(OpWriter& w) { w.out(0, Rest(w, true)); }

void WritePow(OpWriter& w) {
  const DType dtype = w.dtype(0);
  if (!IsFloating(dtype) && dtype != DType::kInt32 && dtype != DType::kInt64)
    w.Unsupported(absl::StrCat("ONNX has no Pow of ", DTypeName(dtype)));
  w.out(0, w.Op("Pow", {w.in(0), w.in(1)}));
}

// Where y is zero, zero; `of` is computed with a one in its place.
void WriteDivNoNan(OpWriter& w) {
  const ModelValue is_zero = w.Binary("Equal", w.in(1), Zero(w));
  const ModelValue quotient = w.Div(w.in(0), w.Where(is_zero, One(w), w.in(1)));
  w.out(0, w.Where(is_zero, Zero(w), quotient));
}
void WriteMulNoNan(OpWriter& w) {
  const ModelValue is_zero = w.Binary("Equal", w.in(1), Zero(w));
  w.out(0, w.Where(is_zero, Zero(w), w.Mul(w.in(0), w.in(1))));
}
void WriteXdivy(OpWriter& w) {
  const ModelValue is_zero = w.Binary("Equal", w.in(0), Zero(w));
  w.out(0, w.Where(is_zero, Zero(w), w.Div(w.in(0), w.in(1))));
}
void WriteXlogy(OpWriter& w) {
  const ModelValue is_zero = w.Binary("Equal", w.in(0), Zero(w));
  w.out(0, w.Where(is_zero, Zero(w), w.Mul(w.in(0), w.Unary("Log", w.in(1)))));
}

// exp(x) - 1 as 2 tanh(x/2) / (1 - tanh(x/2)), and log(1 + x) as 2 atanh(x / (2 + x)): near zero
// they keep the digits that the plain formulas lose.
void WriteExpm1(OpWriter& w) {
  const ModelValue x = w.in(0), one = One(w), two = w.Number(w.dtype(0), 2);
  const ModelValue half = w.Unary("Tanh", w.Div(x, two));
  const ModelValue near = w.Div(w.Mul(two, half), w.Sub(one, half));
  const ModelValue is_near = w.Binary("Less", w.Unary("Abs", x), one);
  w.out(0, w.Where(is_near, near, w.Sub(w.Unary("Exp", x), one)));
}
ModelValue Log1p(OpWriter& w, const ModelValue& x) {
  const ModelValue one = One(w), two = w.Number(w.dtype(0), 2);
  const ModelValue near = w.Mul(two, w.Unary("Atanh", w.Div(x, w.Add(two, x))));
  const ModelValue is_near = w.Binary("Less", w.Unary("Abs", x), w.Number(w.dtype(0), 0.5));
  return w.Where(is_near, near, w.Unary("Log", w.Add(one, x)));
}
void WriteLog1p(OpWriter& w) { w.out(0, Log1p(w, w.in(0))); }
void WriteXlog1py(OpWriter& w) {
  const ModelValue is_zero = w.Binary("Equal", w.in(0), Zero(w));
  w.out(0, w.Where(is_zero, Zero(w), w.Mul(w.in(0), Log1p(w, w.in(1)))));
}

// Halves to even, as in ONNX. Integers are whole.
void WriteRound(OpWriter& w) {
  w.out(0, IsInteger(w.dtype(0)) ? w.in(0) : w.Unary("Round", w.in(0)));
}

void WriteErfc(OpWriter& w) { w.out(0, w.Sub(One(w), w.Unary("Erf", w.in(0)))); }

// A zero has a sign, which only a quotient shows: 1 / -0 is -infinity.
ModelValue IsNegative(OpWriter& w, const ModelValue& x) {
  const ModelValue zero = Zero(w);
  const ModelValue is_minus_zero =
      w.Binary("And", w.Binary("Equal", x, zero), w.Binary("Less", w.Div(One(w), x), zero));
  return w.Binary("Or", w.Binary("Less", x, zero), is_minus_zero);
}

void WriteAtan2(OpWriter& w) {
  const ModelValue y = w.in(0), x = w.in(1), zero = Zero(w);
  const double pi = std::acos(-1.0);
  const auto with_sign_of_y = [&](const ModelValue& angle) {
    return w.Where(IsNegative(w, y), w.Unary("Neg", angle), angle);
  };
  const ModelValue half_turn = with_sign_of_y(w.Number(w.dtype(0), pi));
  const auto is_infinite = [&](const ModelValue& v) {
    return w.Binary("Equal", w.Unary("Abs", v), w.Number(w.dtype(0), kInfinity));
  };
  const ModelValue slope = w.Where(w.Binary("And", is_infinite(x), is_infinite(y)),
                                   w.Div(w.Unary("Sign", y), w.Unary("Sign", x)), w.Div(y, x));
  const ModelValue angle = w.Unary("Atan", slope);
  const ModelValue other = w.Where(IsNegative(w, x), w.Add(angle, half_turn), angle);
  // On the axis of y, and where y is 0 the quotient says nothing.
  const ModelValue upright = with_sign_of_y(w.Number(w.dtype(0), pi / 2));
  const ModelValue flat = w.Where(IsNegative(w, x), half_turn, y);
  const ModelValue off_axis = w.Where(w.Binary("Equal", y, zero), flat, other);
  const ModelValue is_upright =
      w.Binary("And", w.Binary("Equal", x, zero), w.Unary("Not", w.Binary("Equal", y, zero)));
  const auto is_nan = [&](const ModelValue& v) { return w.Op("IsNaN", {v}, {}, DType::kBool); };
  w.out(0, w.Where(w.Binary("Or", is_nan(x), is_nan(y)), w.Add(x, y),
                   w.Where(is_upright, upright, off_axis)));
}

// Lists, too, element by element.
ModelValue Sum(OpWriter& w, const ModelValue& x, const ModelValue& y) {
  if (x.kind != Kind::kSequence || y.kind != Kind::kSequence) return w.Add(x, y);
  if (x.rows != nullptr && y.rows != nullptr) return Emitter::ListOfRows(w.Add(*x.rows, *y.rows));
  return w.Mapped({x, y}, [&](const ModelValues& e) { return w.Add(e[0], e[1]); });
}
void WriteAddN(OpWriter& w) {
  ModelValue sum = w.in(0);
  for (int i = 1; i < w.num_inputs(); ++i) sum = Sum(w, sum, w.in(i));
  w.out(0, sum);
}

void WriteIsInf(OpWriter& w) {
  const bool is_small = DTypeSize(w.dtype(0)) < 4;
  w.out(0, w.Op("IsInf", {is_small ? w.Cast(w.in(0), DType::kFloat) : w.in(0)}, {}, DType::kBool));
}
void WriteIsFinite(OpWriter& w) {
  const ModelValue limit = w.Number(w.dtype(0), kInfinity);
  w.out(0, w.Binary("Less", w.Unary("Abs", w.in(0)), limit));
}

ModelValue Like(OpWriter& w, double value) {
  return w.Fill(w.ShapeOf(w.in(0)), w.Number(w.dtype(0), value));
}
void WriteZerosLike(OpWriter& w) {
  if (w.in(0).kind == Kind::kSequence) {
    const ModelValue& list = w.in(0);
    if (list.length != nullptr) return w.out(0, list);
    if (list.rows == nullptr) {
      return w.out(0, w.Mapped({list}, [&](const ModelValues& e) {
        return w.Fill(w.ShapeOf(e[0]), w.Number(list.dtype, 0));
      }));
    }
    const ModelValue rows = w.AsRows(list);
    return w.out(0, Emitter::ListOfRows(w.Fill(w.ShapeOf(rows), w.Number(rows.dtype, 0))));
  }
  w.out(0, Like(w, 0));
}
void WriteOnesLike(OpWriter& w) { w.out(0, Like(w, 1)); }

void WriteCast(OpWriter& w) { w.out(0, w.Cast(w.in(0), w.out_dtype())); }
void WriteToBool(OpWriter& w) { w.out(0, w.Truth(w.in(0))); }

void WriteSelectV2(OpWriter& w) { w.out(0, w.Where(w.in(0), w.in(1), w.in(2))); }
// A vector of conditions is one for each row.
void WriteSelect(OpWriter& w) {
  ModelValue condition = w.in(0);
  const int rank = w.Rank(condition, "its condition");
  if (rank == 1 && w.Rank(w.in(1)) > 1) {
    std::vector<int64_t> axes;
    for (int d = 1; d < w.Rank(w.in(1)); ++d) axes.push_back(d);
    condition = w.Unsqueeze(condition, axes);
  }
  w.out(0, w.Where(condition, w.in(1), w.in(2)));
}

void WriteClipByValue(OpWriter& w) { w.out(0, w.Min(w.Max(w.in(0), w.in(1)), w.in(2))); }

void WriteLeakyRelu(OpWriter& w) {
  w.out(0, w.Op("LeakyRelu", {w.in(0)}, {FloatAttr("alpha", w.attr<float>("alpha", 0.2f))}));
}
void WriteRelu6(OpWriter& w) { w.out(0, w.Min(w.Max(w.in(0), Zero(w)), w.Number(w.dtype(0), 6))); }
void WriteElu(OpWriter& w) { w.out(0, w.Op("Elu", {w.in(0)})); }
void WriteSelu(OpWriter& w) { w.out(0, w.Op("Selu", {w.in(0)})); }
void WriteSoftsign(OpWriter& w) { w.out(0, w.Op("Softsign", {w.in(0)})); }
void WriteSoftmax(OpWriter& w) { w.out(0, w.Op("Softmax", {w.in(0)}, {IntAttr("axis", -1)})); }
void WriteLogSoftmax(OpWriter& w) {
  w.out(0, w.Op("LogSoftmax", {w.in(0)}, {IntAttr("axis", -1)}));
}

// ONNX shifts unsigned numbers alone; a negative one is shifted with its bits turned.
DType Unsigned(DType dtype) {
  switch (DTypeSize(dtype)) {
    case 1:
      return DType::kUint8;
    case 2:
      return DType::kUint16;
    case 4:
      return DType::kUint32;
    default:
      return DType::kUint64;
  }
}
ModelValue Shifted(OpWriter& w, const ModelValue& x, const char* direction) {
  const DType dtype = Unsigned(w.dtype(0));
  return w.Cast(w.Op("BitShift", {w.Cast(x, dtype), w.Cast(w.in(1), dtype)},
                     {TextAttr("direction", direction)}, dtype),
                w.dtype(0));
}
void WriteLeftShift(OpWriter& w) { w.out(0, Shifted(w, w.in(0), "LEFT")); }
void WriteRightShift(OpWriter& w) {
  const ModelValue x = w.in(0);
  if (Unsigned(x.dtype) == x.dtype) return w.out(0, Shifted(w, x, "RIGHT"));
  const ModelValue is_negative = w.Binary("Less", x, Zero(w));
  const ModelValue turned = w.Unary("BitwiseNot", x);
  const ModelValue shifted = Shifted(w, w.Where(is_negative, turned, x), "RIGHT");
  w.out(0, w.Where(is_negative, w.Unary("BitwiseNot", shifted), shifted));
}

// What nobody reads.
void WriteFakeParam(OpWriter& w) {
  Dims dims;
  const auto shape = w.attr<PartialShape>("shape", PartialShape());
  for (const int64_t dim : shape.dims()) dims.push_back(std::max<int64_t>(dim, 0));
  w.out(0, w.Fill(Emitter::I64s({dims.begin(), dims.end()}), w.Number(w.out_dtype(), 0)));
}

// Texts of whole numbers.
void WriteAsString(OpWriter& w) {
  if (!IsInteger(w.dtype(0)) || w.IntOfAttr("width", -1) > 0 || w.IntOfAttr("precision", -1) > 0)
    return w.Unsupported(absl::StrCat("texts of ", DTypeName(w.dtype(0))));
  w.out(0, w.Op("Cast", {w.in(0)}, {IntAttr("to", ElemOfDType(DType::kString))}, DType::kString));
}
void WriteStringJoin(OpWriter& w) {
  w.model().NeedOpset(20);
  const ModelValue between = Emitter::Known(Tensor::Scalar(w.TextOfAttr("separator")));
  ModelValue text = w.in(0);
  for (int i = 1; i < w.num_inputs(); ++i) {
    if (!w.TextOfAttr("separator").empty()) text = w.Op("StringConcat", {text, between});
    text = w.Op("StringConcat", {text, w.in(i)});
  }
  w.out(0, text);
}

void WriteBucketize(OpWriter& w) {
  const std::vector<float> boundaries = w.attr<std::vector<float>>("boundaries", {});
  const ModelValue limits = Emitter::Known(Tensor::FromValues<float>(
      boundaries, Shape::Vector(static_cast<int64_t>(boundaries.size()))));
  const bool is_double = w.dtype(0) == DType::kDouble;
  const DType dtype = is_double ? DType::kDouble : DType::kFloat;
  const ModelValue x = w.Unsqueeze(w.Cast(w.in(0), dtype), {w.Rank(w.in(0))});
  const ModelValue passed = w.Binary("GreaterOrEqual", x, w.Cast(limits, dtype));
  w.out(0, w.Reduce("ReduceSum", w.Cast(passed, DType::kInt32), Emitter::I64s({-1}), false));
}

}  // namespace

void AddMathWriters(WriteTable& t) {
  t.Add("Add", WriteAddOld);
  t.AddForAll("AddN", WriteAddN);
  t.Add("AsString", WriteAsString);
  t.Add("Atan2", WriteAtan2);
  t.Add("Bucketize", WriteBucketize);
  t.Add("Cast", WriteCast);
  t.Add("ClipByValue", WriteClipByValue);
  t.Add("Div", WriteDiv);
  t.Add("DivNoNan", WriteDivNoNan);
  t.Add("Elu", WriteElu);
  t.AddForAll("EnsureShape", WriteSame);
  t.Add("Erfc", WriteErfc);
  t.Add("Expm1", WriteExpm1);
  t.Add("FakeParam", WriteFakeParam);
  t.Add("FloorDiv", WriteFloorDiv);
  t.Add("FloorMod", WriteFloorMod);
  t.AddForAll("IdentityN", WriteAll);
  t.Add("Inv", WriteReciprocal);
  t.Add("IsFinite", WriteIsFinite);
  t.Add("IsInf", WriteIsInf);
  t.Add("LeakyRelu", WriteLeakyRelu);
  t.Add("LeftShift", WriteLeftShift);
  t.Add("Log1p", WriteLog1p);
  t.Add("LogSoftmax", WriteLogSoftmax);
  t.Add("Maximum", WriteMaximum);
  t.Add("Minimum", WriteMinimum);
  t.Add("Mod", WriteTruncateMod);
  t.Add("MulNoNan", WriteMulNoNan);
  t.Add("NotEqual", WriteNotEqual);
  t.Add("OnesLike", WriteOnesLike);
  t.AddForAll("PlaceholderWithDefault", WriteSame);
  t.Add("Pow", WritePow);
  t.AddForAll("PreventGradient", WriteSame);
  t.Add("RealDiv", WriteDiv);
  t.Add("Reciprocal", WriteReciprocal);
  t.Add("Relu6", WriteRelu6);
  t.Add("RightShift", WriteRightShift);
  t.Add("Round", WriteRound);
  t.Add("Rsqrt", WriteRsqrt);
  t.Add("Select", WriteSelect);
  t.Add("SelectV2", WriteSelectV2);
  t.Add("Selu", WriteSelu);
  t.AddForAll("Snapshot", WriteSame);
  t.Add("Softmax", WriteSoftmax);
  t.Add("Softsign", WriteSoftsign);
  t.Add("Square", WriteSquare);
  t.Add("SquaredDifference", WriteSquaredDifference);
  t.AddForAll("StopGradient", WriteSame);
  t.Add("StringJoin", WriteStringJoin);
  t.Add("ToBool", WriteToBool);
  t.Add("TruncateDiv", WriteDiv);
  t.Add("TruncateMod", WriteTruncateMod);
  t.Add("Xdivy", WriteXdivy);
  t.Add("Xlog1py", WriteXlog1py);
  t.Add("Xlogy", WriteXlogy);
  t.AddForAll("ZerosLike", WriteZerosLike);
}

}  // namespace gyre::onnx
