// Ops that gradients are made of: formulas of their outputs, or inputs, and what has come to them.
#include "onnx/write/op_writer.h"

namespace gyre::onnx {
namespace {

ModelValue Constant(OpWriter& w, double value) { return w.Number(w.dtype(0), value); }
ModelValue Squared(OpWriter& w, const ModelValue& x) { return w.Mul(x, x); }

// Of (y, dy).
void WriteSigmoidGrad(OpWriter& w) {
  w.out(0, w.Mul(w.in(1), w.Mul(w.in(0), w.Sub(Constant(w, 1), w.in(0)))));
}
void WriteTanhGrad(OpWriter& w) {
  w.out(0, w.Mul(w.in(1), w.Sub(Constant(w, 1), Squared(w, w.in(0)))));
}
void WriteSqrtGrad(OpWriter& w) { w.out(0, w.Div(w.Mul(w.in(1), Constant(w, 0.5)), w.in(0))); }
void WriteRsqrtGrad(OpWriter& w) {
  const ModelValue cube = w.Mul(Squared(w, w.in(0)), w.in(0));
  w.out(0, w.Mul(w.in(1), w.Mul(Constant(w, -0.5), cube)));
}
void WriteReciprocalGrad(OpWriter& w) {
  w.out(0, w.Unary("Neg", w.Mul(w.in(1), Squared(w, w.in(0)))));
}

// Of (dy, x): where x is positive.
void OutWhere(OpWriter& w, const ModelValue& condition, const ModelValue& otherwise) {
  w.out(0, w.Where(condition, w.in(0), otherwise));
}
void WriteReluGrad(OpWriter& w) {
  OutWhere(w, w.Binary("Greater", w.in(1), Constant(w, 0)), Constant(w, 0));
}
void WriteRelu6Grad(OpWriter& w) {
  const ModelValue above = w.Binary("Greater", w.in(1), Constant(w, 0));
  OutWhere(w, w.Binary("And", above, w.Binary("Less", w.in(1), Constant(w, 6))), Constant(w, 0));
}
void WriteLeakyReluGrad(OpWriter& w) {
  OutWhere(w, w.Binary("Greater", w.in(1), Constant(w, 0)),
           w.Mul(w.in(0), Constant(w, w.attr<float>("alpha", 0.2f))));
}
void WriteEluGrad(OpWriter& w) {
  OutWhere(w, w.Binary("GreaterOrEqual", w.in(1), Constant(w, 0)),
           w.Mul(w.in(0), w.Add(w.in(1), Constant(w, 1))));
}
void WriteSoftplusGrad(OpWriter& w) { w.out(0, w.Mul(w.in(0), w.Unary("Sigmoid", w.in(1)))); }
void WriteSoftsignGrad(OpWriter& w) {
  w.out(0, w.Div(w.in(0), Squared(w, w.Add(Constant(w, 1), w.Unary("Abs", w.in(1))))));
}

void WriteBiasAddGrad(OpWriter& w) {
  const int rank = w.Rank(w.in(0));
  const int channel = w.TextOfAttr("data_format") == "NCHW" ? 1 : rank - 1;
  std::vector<int64_t> axes;
  for (int d = 0; d < rank; ++d) {
    if (d != channel) axes.push_back(d);
  }
  w.out(0, w.Reduce("ReduceSum", w.in(0), Emitter::I64s(axes), false));
}

// The loss of each row, and its gradient by the logits; `labels` are probabilities.
void OutCrossEntropy(OpWriter& w, const ModelValue& labels) {
  const ModelValue logs = w.Op("LogSoftmax", {w.in(0)}, {IntAttr("axis", -1)});
  const ModelValue sum = w.Reduce("ReduceSum", w.Mul(labels, logs), Emitter::I64s({-1}), false);
  w.out(0, w.Unary("Neg", sum));
  w.out(1, w.Sub(w.Op("Softmax", {w.in(0)}, {IntAttr("axis", -1)}), labels));
}
void WriteCrossEntropy(OpWriter& w) { OutCrossEntropy(w, w.in(1)); }
void WriteSparseCrossEntropy(OpWriter& w) {
  const ModelValue classes = w.Iota(w.DimOf(w.in(0), 1));
  const ModelValue is_label =
      w.Binary("Equal", w.Unsqueeze(w.AsInt64(w.in(1)), {1}), w.Unsqueeze(classes, {0}));
  OutCrossEntropy(w, w.Cast(is_label, w.dtype(0)));
}

}  // namespace

void AddGradientWriters(WriteTable& t) {
  t.Add("BiasAddGrad", WriteBiasAddGrad);
  t.Add("EluGrad", WriteEluGrad);
  t.Add("InvGrad", WriteReciprocalGrad);
  t.Add("LeakyReluGrad", WriteLeakyReluGrad);
  t.Add("ReciprocalGrad", WriteReciprocalGrad);
  t.Add("Relu6Grad", WriteRelu6Grad);
  t.Add("ReluGrad", WriteReluGrad);
  t.Add("RsqrtGrad", WriteRsqrtGrad);
  t.Add("SigmoidGrad", WriteSigmoidGrad);
  t.Add("SoftmaxCrossEntropyWithLogits", WriteCrossEntropy);
  t.Add("SoftplusGrad", WriteSoftplusGrad);
  t.Add("SoftsignGrad", WriteSoftsignGrad);
  t.Add("SparseSoftmaxCrossEntropyWithLogits", WriteSparseCrossEntropy);
  t.Add("SqrtGrad", WriteSqrtGrad);
  t.Add("TanhGrad", WriteTanhGrad);
}

}  // namespace gyre::onnx
