// Products of matrices, and what is added to them.
#include "absl/strings/str_cat.h"
#include "onnx/write/op_writer.h"

namespace gyre::onnx {
namespace {

ModelValue Turned(OpWriter& w, const ModelValue& x, bool turns, int rank) {
  if (!turns || w.failed()) return x;
  if (rank < 2) {
    w.Invalid("it takes matrices");
    return x;
  }
  std::vector<int64_t> permutation;
  for (int d = 0; d < rank - 2; ++d) permutation.push_back(d);
  permutation.push_back(rank - 1);
  permutation.push_back(rank - 2);
  return w.Transpose(x, permutation);
}

void OutProduct(OpWriter& w, const ModelValue& x, const ModelValue& y) {
  const DType dtype = x.dtype;
  const bool is_narrow = IsInteger(dtype) && DTypeSize(dtype) < 4;
  if (IsComplex(dtype)) w.Unsupported(absl::StrCat("ONNX has no MatMul of ", DTypeName(dtype)));
  const DType wide = is_narrow ? DType::kInt32 : dtype;
  w.out(0, w.Cast(w.Op("MatMul", {w.Cast(x, wide), w.Cast(y, wide)}, {}, wide), dtype));
}

void WriteMatMul(OpWriter& w) {
  const ModelValue x = Turned(w, w.in(0), w.Flag("transpose_a"), 2);
  OutProduct(w, x, Turned(w, w.in(1), w.Flag("transpose_b"), 2));
}

void WriteBatchMatMul(OpWriter& w) {
  const bool turns_x = w.Flag("adj_x"), turns_y = w.Flag("adj_y");
  const ModelValue x = Turned(w, w.in(0), turns_x, turns_x ? w.Rank(w.in(0)) : 2);
  OutProduct(w, x, Turned(w, w.in(1), turns_y, turns_y ? w.Rank(w.in(1)) : 2));
}

void WriteEinsum(OpWriter& w) {
  w.out(0, w.Op("Einsum", w.ins(), {TextAttr("equation", w.TextOfAttr("equation"))}));
}

void WriteBiasAdd(OpWriter& w) {
  if (w.TextOfAttr("data_format") != "NCHW") return w.out(0, w.Add(w.in(0), w.in(1)));
  std::vector<int64_t> axes;
  for (int d = 1; d < w.Rank(w.in(0)) - 1; ++d) axes.push_back(d);
  w.out(0, w.Add(w.in(0), w.Unsqueeze(w.in(1), axes)));
}

}  // namespace

void AddMatrixWriters(WriteTable& t) {
  t.Add("BatchMatMul", WriteBatchMatMul);
  t.Add("BatchMatMulV2", WriteBatchMatMul);
  t.Add("BiasAdd", WriteBiasAdd);
  t.Add("Einsum", WriteEinsum);
  t.Add("MatMul", WriteMatMul);
}

}  // namespace gyre::onnx
