// Products of matrices.
#include "onnx/ops/matrix.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {

// As numpy's: a vector is a row on the left, a column on the right.
Expr Product(NodeContext& c, Expr x, Expr y) {
  const int x_rank = c.Rank(x), y_rank = c.Rank(y);
  if (c.failed()) return x;
  if (x_rank == 0 || y_rank == 0) {
    c.Invalid("it takes no scalars");
    return x;
  }
  std::vector<int64_t> gone;
  if (x_rank == 1) x = Unsqueezed(c, x, 0);
  if (y_rank == 1) y = Unsqueezed(c, y, 1);
  const bool is_plain = x_rank <= 2 && y_rank <= 2;
  if (x_rank == 1) gone.push_back(-2);
  if (y_rank == 1) gone.push_back(-1);
  const DType dtype = x.dtype();
  const bool is_narrow = dtype == DType::kInt16 || dtype == DType::kInt8;
  if (is_narrow) x = Cast(x, DType::kInt32), y = Cast(y, DType::kInt32);
  const Expr product = Cast(c.op(is_plain ? "MatMul" : "BatchMatMulV2", {x, y}), dtype);
  return Squeezed(c, product, gone);
}

namespace {

void MatMul(NodeContext& c) { c.out(0, Product(c, c.in(0), c.in(1))); }

// Of 8-bit integers less their zero points, in 32 bits. A vector of zero points goes with the rows
// of the first and the columns of the second.
void MatMulInteger(NodeContext& c) {
  const auto centered = [&](int i) {
    const Expr x = Cast(c.in(i), DType::kInt32);
    if (!c.has(i + 2) || c.failed()) return x;
    Expr zero = Cast(c.in(i + 2), DType::kInt32);
    if (i == 0 && c.scope().RankOf(zero) == 1) zero = Unsqueezed(c, zero, 1);
    return x - zero;
  };
  const Expr x = centered(0), y = centered(1);
  if (!c.failed()) c.out(0, Product(c, x, y));
}

void Gemm(NodeContext& c) {
  const Expr a = c.in(0), b = c.in(1);
  const double alpha = c.Float("alpha", 1), beta = c.Float("beta", 1);
  Expr y =
      c.op("MatMul", {a, b},
           {{"transpose_a", c.Int("transA", 0) != 0}, {"transpose_b", c.Int("transB", 0) != 0}});
  if (alpha != 1) y = alpha * y;
  if (c.has(2)) y = y + (beta == 1 ? c.in(2) : beta * c.in(2));
  c.out(0, y);
}

void Einsum(NodeContext& c) {
  std::string equation = c.Text("equation", "");
  equation.erase(std::remove_if(equation.begin(), equation.end(),
                                [](char ch) { return absl::ascii_isspace(ch); }),
                 equation.end());
  if (equation.find("->") == std::string::npos) {
    // The letters that stand once, in alphabetical order, behind what the ellipses stand for.
    std::string output = equation.find("...") == std::string::npos ? "" : "...";
    std::map<char, int64_t> counts;
    for (const char ch : equation) ++counts[ch];
    for (const auto& [ch, count] : counts) {
      if (absl::ascii_isalpha(ch) && count == 1) output.push_back(ch);
    }
    equation += "->" + output;
  }
  c.out(0, c.op("Einsum", c.ins(), {{"equation", equation}}));
}

}  // namespace

void AddMatrixOps(OpTable& t) {
  t.Add("Einsum", Einsum);
  t.Add("Gemm", Gemm);
  t.Add("MatMul", MatMul);
  t.Add("MatMulInteger", MatMulInteger);
}

}  // namespace gyre::onnx
