// Transpose, Reverse, Where, Unique, TopK, Range, LinSpace, and how large moves are split.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "ops/array_testing.h"

namespace gyre::array_testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TransposeTest, PermutesEveryType) {
  const Shape in = MakeShape({2, 3, 4});
  for (const DType dtype : AllDTypes()) {
    const Tensor y = Call("Transpose", {Count(dtype, in), Int32s({2, 0, -2})});
    EXPECT_EQ(y.shape(), MakeShape({4, 2, 3}));
    EXPECT_EQ(Numbers(y),
              Moved(y.shape(), in, [](const Index& i) { return Index{i[1], i[2], i[0]}; }))
        << DTypeName(dtype);
  }
}

Tensor Iota(const Shape& shape) {
  Tensor t = *Tensor::Make(DType::kInt32, shape);
  int32_t next = 0;
  for (int32_t& v : t.mutable_values<int32_t>()) v = next++;
  return t;
}

// Larger than a tile in each direction, with edges.
TEST(TransposeTest, PermutesLargeTensors) {
  std::mt19937 random(3);
  const Shape in = MakeShape({3, 70, 2, 45});
  std::vector<int32_t> perm = {0, 1, 2, 3};
  const Tensor x = Iota(in);
  for (int trial = 0; trial < 24; ++trial, std::next_permutation(perm.begin(), perm.end())) {
    const Tensor y = Call("Transpose", {x, Tensor::FromValues<int32_t>(perm, MakeShape({4}))});
    std::vector<int32_t> expected;
    ForEachIndex(y.shape().dims(), [&](const Index& i) {
      Index from(4);
      for (int d = 0; d < 4; ++d) from[perm[d]] = i[d];
      expected.push_back(static_cast<int32_t>(RowMajor(from, in)));
    });
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), y.values<int32_t>().begin()))
        << "permutation " << trial;
  }
}

TEST(TransposeTest, WithoutAMoveSharesTheBuffer) {
  const Tensor x = Iota(MakeShape({1, 8, 1, 4}));
  const Tensor y = Call("Transpose", {x, Int32s({1, 2, 3, 0})});
  EXPECT_EQ(y.shape(), MakeShape({8, 1, 4, 1}));
  EXPECT_EQ(y.raw_data(), x.raw_data());
}

TEST(TransposeTest, ChecksItsPermutation) {
  const Tensor x = Iota(MakeShape({2, 3}));
  EXPECT_THAT(
      Fails("Transpose", {x, Int32s({0, 1, 2})}),
      IsInvalid("transpose expects a vector of size 2. But input(1) is a vector of size 3"));
  EXPECT_THAT(Fails("Transpose", {x, Int32s({1, 1})}), IsInvalid("0 is missing from [1,1]"));
  EXPECT_THAT(Fails("Transpose", {x, Int32s({0, 2})}), IsInvalid("2 is out of range [0 .. 2)"));
  const auto known = Known::Of(DType::kFloat, Partial({2, -1, 4}));
  EXPECT_EQ(Inferred("Transpose", {known, Known::Constant(Int32s({2, 0, 1}))}), "[4,2,?]");
  EXPECT_EQ(Inferred("Transpose", {known, Known::Of(DType::kInt32, Partial({3}))}), "[?,?,?]");
}

TEST(InvertPermutationTest, UndoesAPermutation) {
  EXPECT_THAT(Call("InvertPermutation", {Int32s({3, 0, 2, 1})}).values<int32_t>(),
              ElementsAre(1, 3, 2, 0));
  EXPECT_THAT(Fails("InvertPermutation", {Int32s({0, 0})}), IsInvalid("0 is duplicated"));
  EXPECT_THAT(Fails("InvertPermutation", {Int32s({0, 2})}), IsInvalid("2 is not between 0 and 2"));
}

TEST(ReverseTest, WalksDimensionsBackwards) {
  const Shape in = MakeShape({2, 3, 2});
  for (const DType dtype : AllDTypes()) {
    if (DTypeSize(dtype) == 0 && dtype != DType::kString) continue;  // not in the schema
    if (IsQuantized(dtype)) continue;
    const Tensor y = Call("ReverseV2", {Count(dtype, in), Int32s({-1, 0})});
    EXPECT_EQ(Numbers(y),
              Moved(in, in, [](const Index& i) { return Index{1 - i[0], i[1], 1 - i[2]}; }))
        << DTypeName(dtype);
  }
  EXPECT_THAT(Fails("ReverseV2", {Int32s({1}), Int32s({0, -1})}),
              IsInvalid("axis 0 specified more than once."));
  EXPECT_THAT(Fails("ReverseV2", {Int32s({1}), Int32s({1})}),
              IsInvalid("'axis'[0] = 1 is out of valid range"));
  EXPECT_EQ(InferredList("ReverseV2", {Known::List({3, -1}), Known::Constant(Int32s({0}))}),
            "[?,3]");
}

TEST(ReverseTest, SequencesByTheirLengths) {
  const Tensor lengths = Int32s({2, 0, 3});
  const AttrMap attrs = Attrs({{"seq_dim", int64_t{0}}, {"batch_dim", int64_t{1}}});
  for (const DType dtype : AllDTypes()) {
    // Columns are sequences: 1 4 7, 2 5 8, 3 6 9.
    const Tensor y = Call("ReverseSequence", {Count(dtype, MakeShape({3, 3})), lengths}, attrs);
    EXPECT_THAT(Numbers(y), ElementsAre(4, 2, 9, 1, 5, 6, 7, 8, 3)) << DTypeName(dtype);
  }
  const Tensor x = Iota(MakeShape({3, 3}));
  EXPECT_THAT(Fails("ReverseSequence", {x, Int32s({1, 4, 0})}, attrs),
              IsInvalid("seq_lens(1) > input.dims(0)"));
  EXPECT_THAT(Fails("ReverseSequence", {x, Int32s({1, -4, 0})}, attrs),
              IsInvalid("seq_lens(1) < 0"));
  EXPECT_THAT(Fails("ReverseSequence", {x, Int32s({1})}, attrs), IsInvalid("(1 vs. 3)"));
  EXPECT_THAT(Fails("ReverseSequence", {x, lengths}, Attrs({{"seq_dim", int64_t{0}}})),
              IsInvalid("batch_dim == seq_dim == 0"));
}

TEST(WhereTest, ListsCoordinates) {
  const Tensor x = Tensor::FromValues<float>({0, -0.0f, 2, std::nanf(""), 0, 1}, MakeShape({2, 3}));
  const Tensor y = Call("Where", {x});
  EXPECT_EQ(y.shape(), MakeShape({3, 2}));
  EXPECT_THAT(y.values<int64_t>(), ElementsAre(0, 2, 1, 0, 1, 2));
  EXPECT_EQ(Call("Where", {Tensor::Scalar(true)}).shape(), MakeShape({1, 0}));
  EXPECT_THAT(Call("Where", {Tensor::Vector<Half>({Half(-0.0f), Half(1)})}).values<int64_t>(),
              ElementsAre(1));
  EXPECT_EQ(Inferred("Where", {Known::Of(DType::kBool, Partial({-1, 3}))}), "[?,2]");
}

TEST(WhereTest, CountsAcrossBlocks) {
  Tensor x = *Tensor::Zeros(DType::kBool, MakeShape({100'000}), {});
  std::vector<int64_t> expected;
  for (int64_t i = 0; i < 100'000; i += 1 + i % 977) {
    x.mutable_values<bool>()[i] = true;
    expected.push_back(i);
  }
  const Tensor y = Call("Where", {x});
  EXPECT_THAT(y.values<int64_t>(), ::testing::ElementsAreArray(expected));
}

TEST(UniqueTest, KeepsTheOrderOfFirstAppearance) {
  const auto y = EvaluateOp("Unique", {Tensor::Vector<std::string>({"b", "a", "b", "", "a"})});
  ASSERT_TRUE(y.ok());
  EXPECT_THAT((*y)[0].values<std::string>(), ElementsAre("b", "a", ""));
  EXPECT_THAT((*y)[1].values<int32_t>(), ElementsAre(0, 1, 0, 2, 1));
  EXPECT_THAT(Fails("Unique", {Int32(1)}), IsInvalid("unique expects a 1D vector"));
}

TEST(UniqueTest, ZerosAreOneAndEachNanIsItsOwn) {
  const float nan = std::nanf("");
  const auto y = EvaluateOp("Unique", {Tensor::Vector<float>({0.0f, nan, -0.0f, nan})},
                            Attrs({{"out_idx", DType::kInt64}}));
  ASSERT_TRUE(y.ok());
  EXPECT_THAT((*y)[1].values<int64_t>(), ElementsAre(0, 1, 0, 2));
}

TEST(UniqueTest, ManyNansTakeLinearTime) {
  const std::vector<double> nans(200'000, std::nan(""));
  const auto y = EvaluateOp("Unique", {Tensor::FromValues<double>(nans, MakeShape({200'000}))});
  ASSERT_TRUE(y.ok());
  EXPECT_EQ((*y)[0].num_elements(), 200'000);
}

TEST(TopKTest, TakesTheLargestAndTheFirstOfEquals) {
  const Tensor x = Tensor::FromValues<int32_t>({3, 9, 3, 9, 1, -5, 7, 0, 7, 7}, MakeShape({2, 5}));
  const auto y = EvaluateOp("TopKV2", {x, Int32(3)});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].values<int32_t>(), ElementsAre(9, 9, 3, 7, 7, 7));
  EXPECT_THAT((*y)[1].values<int32_t>(), ElementsAre(1, 3, 0, 1, 3, 4));
}

TEST(TopKTest, OrdersSpecialValues) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = Tensor::Vector<double>({-0.0, -inf, 0.0, inf, std::nan(""), -1e-300});
  const auto y = EvaluateOp("TopKV2", {x, Int32(6)}, Attrs({{"index_type", DType::kInt16}}));
  ASSERT_TRUE(y.ok());
  EXPECT_THAT((*y)[1].values<int16_t>(), ElementsAre(4, 3, 0, 2, 5, 1));
  EXPECT_TRUE(std::signbit((*y)[0].values<double>()[2]));
  const int64_t low = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(Call("TopKV2", {Tensor::Vector<int64_t>({low, 0, -1}), Int32(3)}).values<int64_t>(),
              ElementsAre(0, -1, low));
}

TEST(TopKTest, IsASortedPrefixForAnyK) {
  std::mt19937 random(11);
  std::vector<float> row(300);
  for (float& v : row) v = static_cast<float>(std::uniform_int_distribution<int>(-40, 40)(random));
  std::vector<int32_t> order(row.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return row[a] > row[b]; });
  for (const int k : {1, 2, 17, 299, 300}) {
    const auto y =
        EvaluateOp("TopKV2", {Tensor::FromValues<float>(row, MakeShape({1, 300})), Int32(k)});
    ASSERT_TRUE(y.ok());
    EXPECT_TRUE(std::equal(order.begin(), order.begin() + k, (*y)[1].values<int32_t>().begin()));
  }
}

TEST(TopKTest, ChecksK) {
  EXPECT_THAT(Fails("TopKV2", {Int32s({1, 2}), Int32(3)}),
              IsInvalid("input must have at least k columns. Had 2, needed 3"));
  EXPECT_THAT(Fails("TopKV2", {Int32s({1, 2}), Int32(-1)}), IsInvalid("Need k >= 0, got -1"));
  EXPECT_THAT(Fails("TopKV2", {Int32(1), Int32(0)}), IsInvalid("input must be >= 1-D"));
  EXPECT_EQ(
      Inferred("TopKV2", {Known::Of(DType::kFloat, Partial({-1, 9})), Known::Constant(Int32(4))}),
      "[?,4]");
}

TEST(RangeTest, CountsUpAndDown) {
  EXPECT_THAT(Call("Range", {Int32(2), Int32(9), Int32(3)}).values<int32_t>(),
              ElementsAre(2, 5, 8));
  EXPECT_THAT(Call("Range", {Int32(2), Int32(-3), Int32(-2)}).values<int32_t>(),
              ElementsAre(2, 0, -2));
  EXPECT_THAT(Call("Range", {Int32(2), Int32(2), Int32(1)}).values<int32_t>(), IsEmpty());
  const int64_t low = std::numeric_limits<int64_t>::min();
  const int64_t high = std::numeric_limits<int64_t>::max();
  const auto i64 = [](int64_t v) { return Tensor::Scalar<int64_t>(v); };
  EXPECT_THAT(Call("Range", {i64(low), i64(high), i64(high)}).values<int64_t>(),
              ElementsAre(low, -1, high - 1));
  EXPECT_THAT(Call("Range", {i64(high), i64(low), i64(low)}).values<int64_t>(),
              ElementsAre(high, -1));
}

TEST(RangeTest, MultipliesTheStepInsteadOfAddingItUp) {
  const auto f = [](float v) { return Tensor::Scalar<float>(v); };
  const Tensor y = Call("Range", {f(-10), f(-3), f(0.1f)});
  ASSERT_EQ(y.num_elements(), 70);
  for (int i = 0; i < 70; ++i) EXPECT_EQ(y.values<float>()[i], -10 + static_cast<float>(i) * 0.1f);
  const auto h = [](float v) { return Tensor::Scalar<Half>(Half(v)); };
  const Tensor z = Call("Range", {h(0), h(-7.5f), h(-0.1f)});
  ASSERT_EQ(z.num_elements(), 75);
  for (int i = 0; i < 75; ++i) {
    EXPECT_EQ(static_cast<float>(z.values<Half>()[i]),
              static_cast<float>(Half(static_cast<float>(i) * static_cast<float>(Half(-0.1f)))));
  }
}

TEST(RangeTest, RefusesWhatNeverEnds) {
  const auto d = [](double v) { return Tensor::Scalar<double>(v); };
  EXPECT_THAT(Fails("Range", {Int32(0), Int32(3), Int32(0)}), IsInvalid("Requires delta != 0"));
  EXPECT_THAT(Fails("Range", {Int32(5), Int32(0), Int32(1)}),
              IsInvalid("Requires start <= limit when delta > 0: 5/0"));
  EXPECT_THAT(Fails("Range", {Int32(0), Int32(5), Int32(-1)}),
              IsInvalid("Requires start >= limit when delta < 0: 0/5"));
  EXPECT_THAT(Fails("Range", {d(0), d(1), d(1e-300)}), IsInvalid("too many elements"));
  EXPECT_TRUE(absl::IsInvalidArgument(Fails("Range", {d(0), d(std::nan("")), d(1)})));
  EXPECT_TRUE(absl::IsInvalidArgument(Fails("Range", {d(0), d(1), d(std::nan(""))})));
  EXPECT_THAT(Fails("Range", {Int32s({0}), Int32(1), Int32(1)}), IsInvalid("must be a scalar"));
  EXPECT_EQ(Inferred("Range", {Known::Constant(Int32(0)), Known::Constant(Int32(7)),
                               Known::Constant(Int32(2))}),
            "[4]");
  EXPECT_EQ(Inferred("Range", {Known::Constant(Int32(0)), Known::Of(DType::kInt32, Partial({})),
                               Known::Constant(Int32(2))}),
            "[?]");
}

TEST(LinSpaceTest, IncludesBothEnds) {
  const auto f = [](float v) { return Tensor::Scalar<float>(v); };
  EXPECT_THAT(Call("LinSpace", {f(1), f(2), Int32(5)}).values<float>(),
              ElementsAre(1, 1.25f, 1.5f, 1.75f, 2));
  EXPECT_THAT(Call("LinSpace", {f(1), f(2), Int32(1)}).values<float>(), ElementsAre(1));
  EXPECT_THAT(Fails("LinSpace", {f(1), f(2), Int32(0)}), IsInvalid("Requires num > 0: 0"));
}

// Runs pieces last to first: what comes out may not depend on their order.
class BackwardsParallelFor : public ParallelFor {
 public:
  void Run(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body) override {
    for (int64_t begin = (n - 1) / grain * grain; begin >= 0; begin -= grain) {
      body(begin, std::min(n, begin + grain));
      ++pieces;
    }
  }
  int pieces = 0;
};

TEST(LargeMoveTest, IsTheSameInPieces) {
  const Tensor x = Iota(MakeShape({300, 5, 200}));
  const std::vector<std::pair<std::string, std::vector<Tensor>>> calls = {
      {"Transpose", {x, Int32s({2, 1, 0})}},
      {"StridedSlice", {x, Int32s({299, 0, 1}), Int32s({-301, 5, 200}), Int32s({-1, 1, 2})}},
      {"Tile", {x, Int32s({1, 2, 2})}},
      {"GatherV2", {x, Int32s({4, 0, 2, 2}), Int32(1)}},
      {"ConcatV2", {x, x, Int32(2)}},
      {"Where", {x}},
  };
  for (const auto& [op, inputs] : calls) {
    const auto whole = EvaluateOp(op, inputs);
    ASSERT_TRUE(whole.ok()) << op << ": " << whole.status();
    const auto node = MakeNode(Ops(), op, inputs);
    BackwardsParallelFor parallel;
    RunEnv env;
    env.parallel = &parallel;
    const auto pieces = EvaluateNode(Ops(), *node, inputs, env);
    ASSERT_TRUE(pieces.ok()) << op << ": " << pieces.status();
    EXPECT_GT(parallel.pieces, 1) << op;
    ASSERT_EQ((*pieces)[0].bytes(), (*whole)[0].bytes());
    EXPECT_EQ(std::memcmp((*pieces)[0].raw_data(), (*whole)[0].raw_data(), (*whole)[0].bytes()), 0)
        << op;
  }
}

TEST(LargeMoveTest, StopsWhenCancelled) {
  const Tensor x = Iota(MakeShape({300, 200}));
  for (const auto& [op, second] : std::vector<std::pair<std::string, Tensor>>{
           {"Transpose", Int32s({1, 0})}, {"Tile", Int32s({10, 10})}}) {
    const auto node = MakeNode(Ops(), op, {x, second});
    Cancellation cancellation;
    cancellation.Cancel(absl::CancelledError("enough"));
    RunEnv env;
    env.cancellation = &cancellation;
    EXPECT_TRUE(absl::IsCancelled(EvaluateNode(Ops(), *node, {x, second}, env).status())) << op;
  }
}

}  // namespace
}  // namespace gyre::array_testing
