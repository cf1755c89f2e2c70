// Slice, StridedSlice and its gradient, against Python's rules written out.
#include <optional>
#include <random>

#include "ops/array_testing.h"

namespace gyre::array_testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SliceTest, TakesABoxOfEveryType) {
  const Shape in = MakeShape({3, 4, 2});
  for (const DType dtype : AllDTypes()) {
    const Tensor y = Call("Slice", {Count(dtype, in), Int32s({1, 1, 0}), Int32s({2, -1, 1})});
    EXPECT_EQ(y.shape(), MakeShape({2, 3, 1}));
    EXPECT_EQ(Numbers(y),
              Moved(y.shape(), in, [](const Index& i) { return Index{i[0] + 1, i[1] + 1, i[2]}; }))
        << DTypeName(dtype);
  }
}

TEST(SliceTest, ChecksItsBounds) {
  const Tensor x = Int32s({1, 2, 3});
  EXPECT_THAT(Call("Slice", {x, Int32s({3}), Int32s({-1})}).values<int32_t>(), IsEmpty());
  EXPECT_THAT(Fails("Slice", {x, Int32s({4}), Int32s({-1})}),
              IsInvalid("Expected begin[0] in [0, 3], but got 4"));
  EXPECT_THAT(Fails("Slice", {x, Int32s({1}), Int32s({3})}),
              IsInvalid("Expected size[0] in [0, 2], but got 3"));
  EXPECT_THAT(Fails("Slice", {x, Int32s({1}), Int32s({-2})}), IsInvalid("but got -2"));
  EXPECT_THAT(Fails("Slice", {x, Int32s({1, 1}), Int32s({1, 1})}),
              IsInvalid("Expected begin and size arguments to be 1-D tensors of size 1"));
}

TEST(SliceTest, LargeLeadingRowsShareTheBuffer) {
  const Tensor x = *Tensor::Zeros(DType::kFloat, MakeShape({4, 512}), {});
  const Tensor y = Call("Slice", {x, Int32s({1, 0}), Int32s({2, -1})});
  EXPECT_EQ(y.raw_data(), x.values<float>().data() + 512);
}

TEST(SliceTest, InfersSizesAndLists) {
  const auto x = Known::Of(DType::kFloat, Partial({5, -1}));
  EXPECT_EQ(
      Inferred("Slice", {x, Known::Constant(Int32s({1, 0})), Known::Constant(Int32s({-1, 2}))}),
      "[4,2]");
  EXPECT_EQ(Inferred("Slice",
                     {x, Known::Of(DType::kInt32, Partial({2})), Known::Constant(Int32s({-1, 2}))}),
            "[?,2]");
  EXPECT_EQ(InferredList("Slice", {Known::List({7, -1, 9}), Known::Constant(Int32s({1})),
                                   Known::Constant(Int32s({2}))}),
            "[?,9]");
  EXPECT_THAT(Infer("Slice", {x, Known::Constant(Int32s({6, 0})), Known::Constant(Int32s({-1, 2}))})
                  .status(),
              IsInvalid("begin[0]"));
}

// x[begin:end:stride] for one dimension, as Python's slice.indices has it.
std::vector<int64_t> PythonRange(int64_t dim, std::optional<int64_t> begin,
                                 std::optional<int64_t> end, int64_t stride) {
  std::vector<int64_t> taken;
  const auto wrap = [&](int64_t v) { return v < 0 ? v + dim : v; };
  if (stride > 0) {
    const int64_t stop = end ? std::min(wrap(*end), dim) : dim;
    for (int64_t i = begin ? std::max<int64_t>(wrap(*begin), 0) : 0; i < stop; i += stride) {
      taken.push_back(i);
    }
  } else {
    const int64_t stop = end ? std::max<int64_t>(wrap(*end), -1) : -1;
    const int64_t start = begin ? std::min(wrap(*begin), dim - 1) : dim - 1;
    for (int64_t i = start; i > stop; i += stride) taken.push_back(i);
  }
  return taken;
}

struct RandomSlice {
  std::vector<int32_t> begin, end, strides;
  int64_t begin_mask = 0, end_mask = 0, shrink_mask = 0;
  std::vector<std::vector<int64_t>> taken;  // per dimension
  Dims result;
};

RandomSlice DrawSlice(std::mt19937& random, const Shape& shape) {
  RandomSlice s;
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int d = 0; d < shape.rank(); ++d) {
    const int dim = static_cast<int>(shape.dim(d));
    s.begin.push_back(pick(-dim - 2, dim + 2));
    s.end.push_back(pick(-dim - 2, dim + 2));
    s.strides.push_back(pick(0, 1) ? pick(1, 3) : -pick(1, 3));
    if (dim > 0 && pick(0, 4) == 0) {
      s.shrink_mask |= 1 << d;
      s.strides[d] = 1;
      s.begin[d] = pick(-dim, dim - 1);
      s.taken.push_back({s.begin[d] < 0 ? s.begin[d] + dim : s.begin[d]});
      continue;
    }
    const bool no_begin = pick(0, 3) == 0;
    const bool no_end = pick(0, 3) == 0;
    s.begin_mask |= no_begin << d;
    s.end_mask |= no_end << d;
    s.taken.push_back(PythonRange(dim, no_begin ? std::nullopt : std::optional(s.begin[d]),
                                  no_end ? std::nullopt : std::optional(s.end[d]), s.strides[d]));
    s.result.push_back(static_cast<int64_t>(s.taken[d].size()));
  }
  return s;
}

Tensor AsVector(const std::vector<int32_t>& v) {
  return Tensor::FromValues<int32_t>(v, Shape::Vector(static_cast<int64_t>(v.size())));
}

AttrMap SliceAttrs(const RandomSlice& s) {
  return Attrs({{"begin_mask", s.begin_mask},
                {"end_mask", s.end_mask},
                {"shrink_axis_mask", s.shrink_mask}});
}

TEST(StridedSliceTest, IsWhatPythonTakesAndTheGradientPutsItBack) {
  std::mt19937 random(5);
  const Shape in = MakeShape({3, 1, 5, 4});
  for (int trial = 0; trial < 500; ++trial) {
    const RandomSlice s = DrawSlice(random, in);
    const Tensor begin = AsVector(s.begin), end = AsVector(s.end), strides = AsVector(s.strides);
    const Tensor y =
        Call("StridedSlice", {Count(DType::kInt32, in), begin, end, strides}, SliceAttrs(s));
    ASSERT_TRUE(y.has_value());
    ASSERT_EQ(y.shape().dims(), absl::MakeConstSpan(s.result));
    std::vector<int> expected;
    std::vector<int> put_back(in.num_elements(), 0);
    Dims counts;
    for (const auto& taken : s.taken) counts.push_back(static_cast<int64_t>(taken.size()));
    ForEachIndex(counts, [&](const Index& i) {
      Index from(i.size());
      for (size_t d = 0; d < i.size(); ++d) from[d] = s.taken[d][i[d]];
      expected.push_back(static_cast<int>(RowMajor(from, in)) + 1);
      put_back[RowMajor(from, in)] = expected.back();
    });
    ASSERT_EQ(Numbers(y), expected);
    const Tensor dx =
        Call("StridedSliceGrad",
             {Call("Shape", {Count(DType::kInt32, in)}), begin, end, strides, y}, SliceAttrs(s));
    ASSERT_EQ(Numbers(dx), put_back);
  }
}

TEST(StridedSliceTest, MovesEveryType) {
  for (const DType dtype : AllDTypes()) {
    const Tensor y = Call("StridedSlice", {Count(dtype, MakeShape({2, 3})), Int32s({0, -1}),
                                           Int32s({2, -4}), Int32s({1, -2})});
    EXPECT_THAT(Numbers(y), ElementsAre(3, 1, 6, 4)) << DTypeName(dtype);
  }
}

TEST(StridedSliceTest, EllipsisAndNewAxes) {
  const Tensor x = Count(DType::kFloat, MakeShape({2, 3, 4}));
  // x[newaxis, ..., 1, newaxis]
  const Tensor y =
      Call("StridedSlice", {x, Int32s({0, 0, 1, 0}), Int32s({0, 0, 2, 0}), Int32s({1, 1, 1, 1})},
           Attrs({{"new_axis_mask", int64_t{9}},
                  {"ellipsis_mask", int64_t{2}},
                  {"shrink_axis_mask", int64_t{4}}}));
  EXPECT_EQ(y.shape(), MakeShape({1, 2, 3, 1}));
  EXPECT_THAT(Numbers(y), ElementsAre(2, 6, 10, 14, 18, 22));
}

TEST(StridedSliceTest, SaysWhatIsWrong) {
  const Tensor x = Int32s({1, 2, 3});
  const AttrMap index = Attrs({{"shrink_axis_mask", int64_t{1}}});
  EXPECT_THAT(Fails("StridedSlice", {x, Int32s({3}), Int32s({4}), Int32s({1})}, index),
              IsInvalid("slice index 3 of dimension 0 out of bounds."));
  EXPECT_THAT(Fails("StridedSlice", {x, Int32s({-4}), Int32s({4}), Int32s({1})}, index),
              IsInvalid("slice index -4 of dimension 0 out of bounds."));
  EXPECT_THAT(Fails("StridedSlice", {x, Int32s({0}), Int32s({4}), Int32s({-1})}, index),
              IsInvalid("only stride 1 allowed on non-range indexing."));
  EXPECT_THAT(Fails("StridedSlice", {x, Int32s({0}), Int32s({4}), Int32s({0})}),
              IsInvalid("strides[0] must be non-zero"));
  EXPECT_THAT(Fails("StridedSlice", {x, Int32s({0, 0}), Int32s({1, 1}), Int32s({1, 1})}),
              IsInvalid("input has only 1 dims"));
  EXPECT_THAT(Fails("StridedSlice", {x, Int32s({0, 0}), Int32s({1, 1}), Int32s({1, 1})},
                    Attrs({{"ellipsis_mask", int64_t{3}}})),
              IsInvalid("Multiple ellipses"));
  EXPECT_THAT(Fails("StridedSlice", {x, Int32s({0}), Int32s({1, 1}), Int32s({1})}),
              IsInvalid("1D equal size"));
  EXPECT_THAT(Fails("StridedSliceGrad",
                    {Int32s({3}), Int32s({0}), Int32s({2}), Int32s({1}), Int32s({1, 2, 3})}),
              IsInvalid("shape of dy was [3] instead of [2]"));
}

TEST(StridedSliceTest, TakesExtremeBoundsAndStrides) {
  const int64_t low = std::numeric_limits<int64_t>::min();
  const int64_t high = std::numeric_limits<int64_t>::max();
  const Tensor x = Int32s({1, 2, 3});
  const auto slice = [&](int64_t b, int64_t e, int64_t s) {
    return Numbers(
        Call("StridedSlice", {x, Tensor::Vector<int64_t>({b}), Tensor::Vector<int64_t>({e}),
                              Tensor::Vector<int64_t>({s})}));
  };
  EXPECT_THAT(slice(low, high, 1), ElementsAre(1, 2, 3));
  EXPECT_THAT(slice(high, low, -1), ElementsAre(3, 2, 1));
  EXPECT_THAT(slice(high, low, low), ElementsAre(3));
  EXPECT_THAT(slice(low, high, high), ElementsAre(1));
  EXPECT_THAT(slice(high, low, 1), IsEmpty());
}

TEST(StridedSliceTest, InfersThroughMasksAndLists) {
  const auto x = Known::Of(DType::kFloat, Partial({-1, 6}));
  const auto two = Known::Of(DType::kInt32, Partial({2}));
  const auto ones = Known::Constant(Int32s({1, 1}));
  // x[i, :] with an index that is not known yet
  EXPECT_EQ(Inferred("StridedSlice", {x, two, two, ones},
                     Attrs({{"shrink_axis_mask", int64_t{1}},
                            {"begin_mask", int64_t{2}},
                            {"end_mask", int64_t{2}}})),
            "[6]");
  EXPECT_EQ(Inferred("StridedSlice", {x, two, two, ones}), "[?,?]");
  const auto at = [](int32_t i) { return Known::Constant(Int32s({i})); };
  const auto list = Known::List({7, -1, 9});
  EXPECT_EQ(InferredList("StridedSlice", {list, at(2), at(-4), at(-1)}), "[9,?,7]");
  const auto element =
      Infer("StridedSlice", {list, at(2), at(3), at(1)}, Attrs({{"shrink_axis_mask", int64_t{1}}}));
  EXPECT_EQ((*element)[0].constant.scalar<int32_t>(), 9);
  const auto unknown =
      Infer("StridedSlice", {list, at(1), at(2), at(1)}, Attrs({{"shrink_axis_mask", int64_t{1}}}));
  EXPECT_FALSE((*unknown)[0].constant.has_value());
}

}  // namespace
}  // namespace gyre::array_testing
