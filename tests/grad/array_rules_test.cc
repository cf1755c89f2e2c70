// Rules of the ops that move elements: each against differences, at first and second order.
#include "absl/strings/str_cat.h"
#include "grad/check_gradient.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

Tensor Int(int32_t value) { return Tensor::Scalar(value); }
Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Tensor Longs(std::initializer_list<int64_t> values) { return Tensor::Vector<int64_t>(values); }
Tensor Matrix(std::initializer_list<int32_t> values, int64_t columns) {
  const int64_t rows = static_cast<int64_t>(values.size()) / columns;
  return Tensor::FromValues<int32_t>(values, Shape::Trusted(Dims{rows, columns}));
}

// The square of what each op gives: so the second derivatives depend on those of what rules write.
void ExpectAll(const std::vector<OpCase>& cases) {
  for (const OpCase& c : cases) {
    for (const Known known : {Known::kAll, Known::kRanks, Known::kNothing}) {
      std::string text = OpText(c, known);
      const std::string square = absl::StrCat("  %square = Mul(%", c.y, ", %", c.y, ")\n}\n");
      text.replace(text.rfind("}\n"), 2, square);
      ExpectGradient(text, OpFeeds(c, known), OpXs(c), "square", c.order);
    }
  }
}

TEST(ArrayRules, JoiningAndCutting) {
  Draw draw;
  ExpectAll({
      {"Pack", {draw({2, 3}), draw({2, 3})}, "axis=1"},
      {"Unpack", {draw({2, 3})}, "num=3 axis=-1", "y:1"},
      {"ConcatV2", {draw({2, 1}), draw({2, 3}), Int(1)}},
      {"ConcatV2", {draw({2, 3}), draw({2, 3}), draw({0, 3}), Tensor::Scalar<int64_t>(-2)}},
      {"ConcatV2", {draw({2, 3}), draw({2, 2}), Int(-1)}, "", "y", 2, {1}},
      {"Concat", {Int(0), draw({2, 3}), draw({1, 3})}},
      {"Split", {Int(1), draw({2, 4})}, "num_split=2", "y:1"},
      {"Split", {Int(1), draw({2, 4})}, "num_split=1"},
      {"SplitV", {draw({5}), Longs({1, 4}), Int(0)}, "num_split=2", "y:1"},
      {"Slice", {draw({3, 4}), Ints({1, 0}), Ints({2, -1})}},
      {"Slice", {draw({3, 4}), Longs({1, 2}), Longs({1, 1})}},
      {"Slice", {draw({}), Ints({}), Ints({})}},
  });
}

TEST(ArrayRules, SlicesAsPythonWritesThem) {
  Draw draw;
  const Tensor x = draw({3, 4, 2});
  ExpectAll({
      {"StridedSlice", {x, Ints({2, 3}), Ints({0, 0}), Ints({-1, -2})}, "begin_mask=0 end_mask=1"},
      {"StridedSlice", {x, Ints({1}), Ints({2}), Ints({1})}, "shrink_axis_mask=1"},
      {"StridedSlice", {x, Ints({-1}), Ints({0}), Ints({1})}, "shrink_axis_mask=1"},
      {"StridedSlice",
       {x, Longs({0, 0, 1}), Longs({0, 0, 2}), Longs({1, 1, 1})},
       "ellipsis_mask=1 new_axis_mask=2 shrink_axis_mask=4"},
      {"StridedSlice", {x, Ints({1, 0}), Ints({3, 0}), Ints({1, 1})}, "begin_mask=2 end_mask=2"},
      {"StridedSliceGrad", {Ints({3, 4}), Ints({0, 1}), Ints({2, 4}), Ints({1, 2}), draw({2, 2})}},
  });
}

// An index or a beginning that is only known when the program runs: what is read lies in rows.
std::string RowsText(const std::string& shape, const std::string& masks, bool is_range) {
  return absl::StrCat(
      "graph {\n"
      "  %x = Placeholder() shape=",
      shape,
      " : float64\n"
      "  %i = Placeholder() shape=() : int32\n"
      "  %zero = Const() value=int32{0} : int32\n"
      "  %one = Const() value=int32{1} : int32\n"
      "  %two = Const() value=int32{2} : int32\n"
      "  %j = AddV2(%i, ",
      is_range ? "%two" : "%one",
      ")\n"
      "  %begin = Pack(%i, %zero)\n"
      "  %end = Pack(%j, %zero)\n"
      "  %steps = Pack(%one, %one)\n"
      "  %row = StridedSlice(%x, %begin, %end, %steps) begin_mask=2 end_mask=2 ",
      masks,
      "\n"
      "  %y = Mul(%row, %row)\n"
      "}\n");
}

TEST(ArrayRules, RowsByAnIndexOfTheRun) {
  Draw draw;
  const Tensor x = draw({4, 2});
  for (const std::string shape : {"(4,2)", "(?,2)", "?"}) {
    for (const int32_t i : {0, 2, -1, -4}) {
      ExpectGradient(RowsText(shape, "shrink_axis_mask=1", false), {{"x", x}, {"i", Int(i)}}, {"x"},
                     "y");
    }
    for (const int32_t i : {0, 3, -3, -5}) {
      ExpectGradient(RowsText(shape, "", true), {{"x", x}, {"i", Int(i)}}, {"x"}, "y");
    }
  }
}

TEST(ArrayRules, RowsAreGivenAsRows) {
  const auto ops = [](const std::string& text) { return GradientOps(text, {"x"}, "y"); };
  for (const bool is_range : {false, true}) {
    const std::string masks = is_range ? "" : "shrink_axis_mask=1";
    for (const std::string& op : ops(RowsText("(4,2)", masks, is_range)))
      EXPECT_NE(op, "StridedSliceGrad");
  }
}

TEST(ArrayRules, SlicesOfRowsFromABeginningOfTheRun) {
  Draw draw;
  for (const std::string size : {"int32[2]{2, -1}", "int32[2]{2, 3}"}) {
    const std::string text = absl::StrCat(
        "graph {\n"
        "  %x = Placeholder() shape=(?,3) : float64\n"
        "  %i = Placeholder() shape=() : int32\n"
        "  %zero = Const() value=int32{0} : int32\n"
        "  %begin = Pack(%i, %zero)\n"
        "  %size = Const() value=",
        size,
        " : int32\n"
        "  %rows = Slice(%x, %begin, %size)\n"
        "  %y = Mul(%rows, %rows)\n"
        "}\n");
    ExpectGradient(text, {{"x", draw({4, 3})}, {"i", Int(1)}}, {"x"}, "y");
    for (const std::string& op : GradientOps(text, {"x"}, "y")) EXPECT_NE(op, "Pad");
  }
}

TEST(ArrayRules, Gathering) {
  Draw draw;
  const Tensor x = draw({3, 2, 4});
  ExpectAll({
      {"Gather", {x, Ints({2, 0, 2})}},
      {"Gather", {x, Int(1)}},
      {"Gather", {draw({3, 0}), Matrix({2, 0, 1, 1}, 2)}},
      {"GatherV2", {x, Matrix({2, 0, 1, 1}, 2), Int(0)}},
      {"GatherV2", {draw({4}), Ints({3, 3}), Int(-1)}},
      {"GatherV2", {x, Ints({3, 1, 3}), Int(2)}},
      {"GatherV2", {x, Ints({3, 1, 3}), Int(-1)}},
      {"GatherV2", {x, Int(1), Int(1)}},
      {"GatherV2", {x, Matrix({1, 0, 1, 1, 0, 0}, 2), Int(1)}, "batch_dims=1"},
      {"GatherV2", {x, Matrix({1, 3, 0, 0, 2, 2}, 2), Int(2)}, "batch_dims=1"},
      {"GatherV2", {x, Matrix({1, 3, 0, 0, 2, 2}, 2), Int(2)}, "batch_dims=2"},
      {"GatherNd", {x, Matrix({2, 1, 0, 0, 2, 1}, 2)}},
      {"GatherNd", {x, Matrix({2, 1, 1}, 1)}},
      {"GatherNd", {x, Matrix({2, 1, 9, 0}, 2)}, "bad_indices_policy=\"IGNORE\""},
  });
  ExpectGradient(OpText({"GatherV2", {x, Matrix({1, 0, 1, 1, 0, 0}, 2), Int(1)}, "batch_dims=-1"},
                        Known::kAll),
                 {{"x0", x}}, {"x0"}, "y");
}

TEST(ArrayRules, Scattering) {
  Draw draw;
  const Tensor at = Matrix({3, 0, 2}, 1);
  ExpectAll({
      {"ScatterNd", {Matrix({3, 0, 3}, 1), draw({3, 2}), Ints({4, 2})}},
      {"TensorScatterUpdate", {draw({4, 2}), at, draw({3, 2})}},
      {"TensorScatterAdd", {draw({4}), Matrix({3, 0, 3}, 1), draw({3})}},
      {"TensorScatterSub", {draw({4}), Matrix({3, 0, 3}, 1), draw({3})}},
      {"TensorScatterMin", {draw({4}), at, draw({3})}},
      {"TensorScatterMax", {draw({4}), Matrix({1, 1, 1}, 1), draw({3})}},
      {"DynamicStitch", {Ints({0, 3}), Matrix({1, 2}, 1), draw({2, 2}), draw({2, 1, 2})}},
      {"DynamicPartition", {draw({4, 2}), Ints({1, 0, 1, 1})}, "num_partitions=3", "y:1"},
  });
}

TEST(ArrayRules, EqualExtremaShareTheGradient) {
  const OpCase c = {
      "TensorScatterMax",
      {Tensor::Vector<double>({1, 2}), Matrix({0, 1}, 1), Tensor::Vector<double>({1, 5})}};
  const std::vector<Tensor> got = OpGradients(c);
  EXPECT_EQ(got[0].values<double>(), (std::vector<double>{0.5, 0}));
  EXPECT_EQ(got[1].values<double>(), (std::vector<double>{0.5, 1}));
}

TEST(ArrayRules, Shaping) {
  Draw draw;
  ExpectAll({
      {"Reshape", {draw({2, 3}), Ints({3, -1})}},
      {"Squeeze", {draw({1, 3, 1})}},
      {"Squeeze", {draw({1, 3, 1})}, "squeeze_dims=[-1]"},
      {"ExpandDims", {draw({2, 3}), Int(-2)}},
      {"EnsureShape", {draw({2, 3})}, "shape=(2,?)"},
      {"Transpose", {draw({2, 3, 1}), Ints({2, 0, 1})}},
      {"ReverseV2", {draw({2, 3}), Ints({-1})}},
      {"ReverseSequence", {draw({2, 3}), Longs({2, 3})}, "seq_dim=1 batch_dim=0"},
      {"Tile", {draw({2, 1}), Ints({2, 3})}},
      {"Tile", {draw({2}), Ints({0})}},
      {"Tile", {draw({}), Ints({})}},
      {"BroadcastTo", {draw({2, 1}), Ints({4, 2, 3})}},
      {"Fill", {Ints({2, 3}), draw({})}},
      {"Fill", {Ints({0}), draw({})}},
      {"Pad", {draw({2, 3}), Matrix({1, 0, 2, 1}, 2)}},
      {"PadV2", {draw({2, 3}), Matrix({1, 0, 2, 1}, 2), draw({})}},
      {"MirrorPad", {draw({2, 3}), Matrix({1, 0, 2, 1}, 2)}, "mode=\"REFLECT\""},
      {"MirrorPad", {draw({2, 3}), Matrix({2, 0, 3, 1}, 2)}, "mode=\"SYMMETRIC\""},
      {"MirrorPadGrad", {draw({3, 6}), Matrix({1, 0, 2, 1}, 2)}, "mode=\"REFLECT\""},
      {"MirrorPadGrad", {draw({4, 7}), Matrix({2, 0, 3, 1}, 2)}, "mode=\"SYMMETRIC\""},
      {"LinSpace", {draw({}), draw({}), Int(4)}},
      {"LinSpace", {draw({}), draw({}), Int(1)}},
      {"TopKV2", {draw({2, 2, 5}), Int(3)}},
      {"TopKV2", {draw({4}), Int(2)}},
  });
}

TEST(ArrayRules, ComplexNumbersMoveLikeOthers) {
  Draw draw;
  ExpectAll({
      {"GatherV2", {draw.Complex({3, 2}), Ints({1, 1}), Int(1)}},
      {"ConcatV2", {draw.Complex({1}), draw.Complex({2}), Int(0)}},
      {"PadV2", {draw.Complex({2}), Matrix({1, 0}, 2), draw.Complex({})}},
      {"Transpose", {draw.Complex({2, 1}), Ints({1, 0})}},
  });
}

// Several outputs used at once, one of them not at all.
TEST(ArrayRules, OutputsThatNobodyReadsHaveNoGradient) {
  Draw draw;
  for (const std::string op : {"Unpack(%x) num=3 axis=0", "Split(%zero, %x) num_split=3",
                               "DynamicPartition(%x, %parts) num_partitions=3"}) {
    for (const std::string shape : {"(3,2)", "?"}) {
      const std::string text =
          absl::StrCat("graph {\n  %x = Placeholder() shape=", shape, " : float64\n",
                       "  %zero = Const() value=int32{0} : int32\n  %parts = Const() "
                       "value=int32[3]{2, 0, 1} : int32\n",
                       "  %a = ", op, "\n  %y = Mul(%a, %a:2)\n}\n");
      ExpectGradient(text, {{"x", draw({3, 2})}}, {"x"}, "y");
    }
  }
}

TEST(ArrayRules, OfTheOpsThatHandOn) {
  Draw draw;
  ExpectAll({
      {"Identity", {draw({2})}},
      {"IdentityN", {draw({2}), draw({3})}, "", "y:1", 2, {0}},
      {"PlaceholderWithDefault", {draw({2})}, "shape=?"},
      {"Print", {draw({2}), draw({1})}, "first_n=0", "y", 2, {1}},
      {"_ListToArray", {draw({2})}, "T=float64 N=1"},
      {"_ArrayToList", {draw({2})}, "out_types=[float64]"},
  });
}

}  // namespace
}  // namespace gyre::testing
