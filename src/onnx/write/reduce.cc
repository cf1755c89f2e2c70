// Reductions and running sums.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "onnx/write/op_writer.h"

namespace gyre::onnx {
namespace {

template <const char* kOp>
void WriteReduction(OpWriter& w) {
  w.out(0, w.Reduce(kOp, w.in(0), w.in(1), w.Flag("keep_dims")));
}
constexpr char kSum[] = "ReduceSum", kMean[] = "ReduceMean", kProd[] = "ReduceProd",
               kMax[] = "ReduceMax", kMin[] = "ReduceMin", kL2[] = "ReduceL2";

// How many are what would decide it: none of none.
ModelValue Count(OpWriter& w, const ModelValue& what) {
  return w.Reduce("ReduceSum", w.Cast(what, DType::kInt32), w.in(1), w.Flag("keep_dims"));
}
void WriteAllTrue(OpWriter& w) {
  w.out(0, w.Binary("Equal", Count(w, w.Not(w.in(0))), w.Number(DType::kInt32, 0)));
}
void WriteAnyTrue(OpWriter& w) {
  w.out(0, w.Binary("Greater", Count(w, w.in(0)), w.Number(DType::kInt32, 0)));
}

template <const char* kOp>
void WriteArg(OpWriter& w) {
  const int64_t axis = w.Int(w.in(1), "the axis");
  ModelValue x = w.in(0);
  if (x.dtype == DType::kBool || DTypeSize(x.dtype) < 4) {
    x = w.Cast(x, IsFloating(x.dtype) ? DType::kFloat : DType::kInt32);
  }
  const ModelValue place =
      w.Op(kOp, {x}, {IntAttr("axis", axis), IntAttr("keepdims", 0)}, DType::kInt64);
  w.out(0, w.Index(place, w.out_dtype()));
}
constexpr char kArgMax[] = "ArgMax", kArgMin[] = "ArgMin";

void WriteCumsum(OpWriter& w) {
  const bool is_narrow = DTypeSize(w.dtype(0)) < 4 && IsInteger(w.dtype(0));
  const DType dtype = is_narrow ? DType::kInt32 : w.dtype(0);
  if (IsComplex(dtype)) w.Unsupported(absl::StrCat("ONNX has no CumSum of ", DTypeName(dtype)));
  const ModelValue sum = w.Op("CumSum", {w.Cast(w.in(0), dtype), w.AsInt64(w.in(1))},
                              {IntAttr("exclusive", w.Flag("exclusive") ? 1 : 0),
                               IntAttr("reverse", w.Flag("reverse") ? 1 : 0)});
  w.out(0, w.Cast(sum, w.dtype(0)));
}

// A Scan whose state is the product so far.
void WriteCumprod(OpWriter& w) {
  const ModelValue& x = w.in(0);
  const int rank = w.Rank(x);
  const int axis = w.Axis(w.Int(w.in(1), "the axis"), rank);
  if (w.failed()) return;
  std::vector<ModelValue> dims;
  for (int d = 0; d < rank; ++d) {
    if (d != axis) dims.push_back(w.DimOf(x, d));
  }
  const ModelValue ones = w.Fill(w.Pack(dims), w.Number(x.dtype, 1));
  w.model().Open("cumprod");
  ModelValue product, row;
  for (ModelValue* input : {&product, &row}) {
    input->name = w.model().NewName("row");
    input->dtype = x.dtype;
    w.model().AddInput(*input);
  }
  const ModelValue next = w.Mul(product, row);
  w.model().AddOutput(next, false);
  w.model().AddOutput(w.Flag("exclusive") ? product : next, false);
  wire::GraphProto body = w.model().Close();
  const int64_t backwards = w.Flag("reverse") ? 1 : 0;
  Attrs attrs = {IntAttr("num_scan_inputs", 1), IntsAttr("scan_input_axes", {axis}),
                 IntsAttr("scan_output_axes", {axis}),
                 IntsAttr("scan_input_directions", {backwards}),
                 IntsAttr("scan_output_directions", {backwards})};
  attrs.push_back(GraphAttr("body", std::move(body)));
  w.out(0, w.Ops("Scan", {ones, x}, std::move(attrs), {x.dtype, x.dtype})[1]);
}

void WriteL2Loss(OpWriter& w) {
  const ModelValue sum = w.Reduce("ReduceSumSquare", w.in(0), Emitter::None(), false);
  w.out(0, w.Mul(sum, w.Number(w.dtype(0), 0.5)));
}

}  // namespace

void AddReduceWriters(WriteTable& t) {
  t.Add("All", WriteAllTrue);
  t.Add("Any", WriteAnyTrue);
  t.Add("ArgMax", WriteArg<kArgMax>);
  t.Add("ArgMin", WriteArg<kArgMin>);
  t.Add("Cumprod", WriteCumprod);
  t.Add("Cumsum", WriteCumsum);
  t.Add("EuclideanNorm", WriteReduction<kL2>);
  t.Add("L2Loss", WriteL2Loss);
  t.Add("Max", WriteReduction<kMax>);
  t.Add("Mean", WriteReduction<kMean>);
  t.Add("Min", WriteReduction<kMin>);
  t.Add("Prod", WriteReduction<kProd>);
  t.Add("Sum", WriteReduction<kSum>);
}

}  // namespace gyre::onnx
