// Gradient rules of sparse and ragged tensors, beside differences.
#include "gmock/gmock.h"
#include "grad/check_gradient.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

Tensor Longs(std::vector<int64_t> values, std::vector<int64_t> dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(values.size())};
  return Tensor::FromValues<int64_t>(values, Shape::Trusted(Dims(dims.begin(), dims.end())));
}
Tensor Ints(std::vector<int32_t> values) {
  return Tensor::FromValues<int32_t>(values, Shape::Vector(static_cast<int64_t>(values.size())));
}

// Values at three places of a matrix of shape [3, 4].
const Tensor& Indices() {
  static const Tensor* const t = new Tensor(Longs({0, 0, 0, 2, 2, 1}, {3, 2}));
  return *t;
}
const Tensor& Dense34() {
  static const Tensor* const t = new Tensor(Longs({3, 4}));
  return *t;
}

TEST(SparseRules, MatrixProducts) {
  Draw draw;
  for (const std::string attrs :
       {"", "adjoint_a=true", "adjoint_b=true", "adjoint_a=true adjoint_b=true"}) {
    SCOPED_TRACE(attrs);
    const int64_t rows = attrs.find("adjoint_a") == std::string::npos ? 4 : 3;
    const Dims dims = attrs.find("adjoint_b") == std::string::npos ? Dims{rows, 2} : Dims{2, rows};
    ExpectOpGradient(
        {"SparseTensorDenseMatMul", {Indices(), draw({3}), Dense34(), draw(dims)}, attrs});
    ExpectOpGradient({"SparseTensorDenseMatMul",
                      {Indices(), draw.Complex({3}), Dense34(), draw.Complex(dims)},
                      attrs});
  }
}

TEST(SparseRules, ToDense) {
  Draw draw;
  ExpectOpGradient({"SparseToDense", {Indices(), Dense34(), draw({3}), draw({})}});
  ExpectOpGradient({"SparseToDense", {Longs({1, 2}), Longs({4}), draw({}), draw({})}});
  ExpectOpGradient({"SparseTensorDenseAdd", {Indices(), draw({3}), Dense34(), draw({3, 4})}});
}

TEST(SparseRules, Parts) {
  Draw draw;
  ExpectOpGradient(
      OpCase{"SparseReorder", {Longs({2, 1, 0, 2, 0, 0}, {3, 2}), draw({3}), Dense34()}}.Y("y:1"));
  ExpectOpGradient(OpCase{"SparseConcat",
                          {Indices(), Indices(), draw({3}), draw({3}), Dense34(), Dense34()},
                          "N=2 concat_dim=1"}
                       .Y("y:1"));
  ExpectOpGradient(
      OpCase{"SparseSlice", {Indices(), draw({3}), Dense34(), Longs({0, 1}), Longs({3, 5})}}.Y(
          "y:1"));
  ExpectOpGradient(
      OpCase{"SparseFillEmptyRows", {Indices(), draw({3}), Dense34(), draw({})}}.Y("y:1"));
}

TEST(SparseRules, Reductions) {
  Draw draw;
  for (const Tensor& axes : {Ints({1}), Ints({0}), Ints({-1, 0}), Ints({}), Tensor::Scalar(1)}) {
    for (const std::string keep : {"", "keep_dims=true"}) {
      ExpectOpGradient({"SparseReduceSum", {Indices(), draw({3}), Dense34(), axes}, keep});
    }
  }
  ExpectOpGradient({"SparseSoftmax", {Indices(), draw({3}), Dense34()}});
}

TEST(SparseRules, WithDense) {
  Draw draw;
  for (const std::string op :
       {"SparseDenseCwiseAdd", "SparseDenseCwiseMul", "SparseDenseCwiseDiv"}) {
    SCOPED_TRACE(op);
    for (const Dims& dims : {Dims{3, 4}, Dims{4}, Dims{3, 1}, Dims{}}) {
      ExpectOpGradient({op, {Indices(), draw({3}), Dense34(), draw(dims, 1, 2)}});
    }
  }
}

TEST(SparseRules, Segments) {
  Draw draw;
  const Tensor indices = Ints({0, 2, 1, 2}), ids = Ints({0, 0, 2, 2});
  const Tensor count = Tensor::Scalar<int32_t>(4);
  for (const std::string op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {draw({3, 2}), indices, ids}});
    ExpectOpGradient({op + "WithNumSegments", {draw({3, 2}), indices, ids, count}});
    ExpectOpGradient({op + "Grad", {draw({3, 2}), indices, ids, count}});
  }
}

TEST(RaggedRules, Tensors) {
  Draw draw;
  const Tensor splits = Longs({0, 2, 2, 5});
  const std::string rows = "num_row_partition_tensors=1 row_partition_types=[\"ROW_SPLITS\"]";
  ExpectOpGradient(
      {"RaggedTensorToTensor", {Longs({-1, 2, 2}), draw({5, 2}), draw({}), splits}, rows});
  ExpectOpGradient(
      {"RaggedTensorToTensor", {Longs({4, 4, 2}), draw({5, 2}), draw({2}), splits}, rows});
  ExpectOpGradient(
      OpCase{"RaggedTensorToSparse", {splits, draw({5, 2})}, "RAGGED_RANK=1"}.Y("y:1"));
  ExpectOpGradient(OpCase{"RaggedGather",
                          {splits, draw({5, 2}), Ints({2, 0, 2})},
                          "PARAMS_RAGGED_RANK=1 OUTPUT_RAGGED_RANK=1"}
                       .Y("y:1"));
  ExpectOpGradient({"Roll", {draw({3, 2}), Ints({1, -1}), Ints({0, 1})}});
}

TEST(RaggedRules, RowsBehindVariants) {
  ExpectGradient(R"(graph {
    %x = Placeholder() : float64
    %splits = Const() value=int64[4]{0, 2, 2, 3} : int64
    %i = Const() value=int32{0} : int32
    %k = Const() value=int32{2} : int32
    %scalar = Const() value=int32[0]{} : int32
    %rows = RaggedTensorToVariant(%splits, %x) RAGGED_RANK=1 batched_input=true Tvalues=float64 Tsplits=int64
    %list = TensorListFromTensor(%rows, %scalar) element_dtype=variant
    %first = TensorListGetItem(%list, %i, %scalar) element_dtype=variant
    %last = TensorListGetItem(%list, %k, %scalar) element_dtype=variant
    %a = RaggedTensorFromVariant(%first) input_ragged_rank=0 output_ragged_rank=0 Tvalues=float64
    %b = RaggedTensorFromVariant(%last) input_ragged_rank=0 output_ragged_rank=0 Tvalues=float64
    %axis = Const() value=int32{0} : int32
    %s = Sum(%a, %axis)
    %y = Mul(%s, %b)
  })",
                 {{"x", Tensor::Vector<double>({0.3, -0.7, 1.1})}}, {"x"}, "y");
}

}  // namespace
}  // namespace gyre::testing
