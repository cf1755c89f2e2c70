// Tensors out of bytes: the Examples were serialized by TensorFlow, as were the tensors.
#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "ops/resource_run.h"

namespace gyre::test {
namespace {

using ::testing::ElementsAre;

Tensor Texts(std::vector<std::string> values) {
  return Tensor::FromValues<std::string>(values, ShapeOf({static_cast<int64_t>(values.size())}));
}

// a: [1, 2], b: [3, -4, 5], s: ["x", "yy"]; and a: [7, 8], b: [9].
std::string First() {
  return absl::HexStringToBytes(
      "0a3a0a110a0161120c120a0a080000803f000000400a0e0a017312090a070a01780a0279790a150a016212101a0e"
      "0a0c03fcffffffffffffffff0105");
}
std::string Second() {
  return absl::HexStringToBytes(
      "0a1f0a110a0161120c120a0a080000e040000000410a0a0a016212051a030a0109");
}

struct Wanted {
  std::vector<std::string> sparse, dense, ragged;
  std::vector<DType> sparse_types, dense_types, ragged_types;
  std::vector<PartialShape> shapes;
  std::vector<Tensor> defaults;
};

absl::StatusOr<std::vector<Tensor>> Parse(Tensor serialized, const Wanted& wanted) {
  ResourceRun run;
  std::vector<Tensor> inputs = {std::move(serialized), Texts({}), Texts(wanted.sparse),
                                Texts(wanted.dense), Texts(wanted.ragged)};
  inputs.insert(inputs.end(), wanted.defaults.begin(), wanted.defaults.end());
  return run.Try(
      "ParseExampleV2", std::move(inputs),
      Attrs({{"Tdense", wanted.dense_types},
             {"num_sparse", static_cast<int64_t>(wanted.sparse.size())},
             {"sparse_types", wanted.sparse_types},
             {"ragged_value_types", wanted.ragged_types},
             {"ragged_split_types", std::vector<DType>(wanted.ragged.size(), DType::kInt64)},
             {"dense_shapes", wanted.shapes}}));
}

TEST(ParseExample, MakesSparseDenseAndRaggedTensors) {
  const auto parsed =
      Parse(Texts({First(), Second()}),
            {{"b"},
             {"a", "s"},
             {"b2"},
             {DType::kInt64},
             {DType::kFloat, DType::kString},
             {DType::kInt64},
             {Partial({2}), Partial({-1})},
             {Tensor::FromValues<float>({}, ShapeOf({0})), Tensor::Scalar<std::string>("?")}});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(Values<int64_t>((*parsed)[0]), ElementsAre(0, 0, 0, 1, 0, 2, 1, 0));
  EXPECT_THAT(Values<int64_t>((*parsed)[1]), ElementsAre(3, -4, 5, 9));
  EXPECT_THAT(Values<int64_t>((*parsed)[2]), ElementsAre(2, 3));
  EXPECT_THAT(Values<float>((*parsed)[3]), ElementsAre(1, 2, 7, 8));
  EXPECT_THAT(Values<std::string>((*parsed)[4]), ElementsAre("x", "yy", "?", "?"));
  EXPECT_THAT(Values<int64_t>((*parsed)[6]), ElementsAre(0, 0, 0));
}

TEST(ParseExample, SaysWhatDoesNotFit) {
  const auto dense = [](const std::string& key, DType dtype, PartialShape shape) {
    const Tensor empty = *Tensor::Make(dtype, ShapeOf({0}));
    return Parse(Texts({Second()}), {{}, {key}, {}, {}, {dtype}, {}, {std::move(shape)}, {empty}})
        .status();
  };
  EXPECT_TRUE(IsInvalid(dense("s", DType::kString, Partial({})), "required"));
  EXPECT_TRUE(IsInvalid(dense("a", DType::kInt64, Partial({2})), "don't match"));
  EXPECT_TRUE(IsInvalid(dense("a", DType::kFloat, Partial({3})), "!= expected"));
  EXPECT_TRUE(IsInvalid(
      Parse(Texts({"\x0a\xff"}), {{"a"}, {}, {}, {DType::kFloat}, {}, {}, {}, {}}).status(),
      "could not parse"));
}

TEST(ParseExample, OfOne) {
  ResourceRun run;
  const auto parsed =
      run.All("ParseSingleExample",
              {Tensor::Scalar<std::string>(First()), Tensor::FromValues<float>({}, ShapeOf({0}))},
              Attrs({{"num_sparse", int64_t{1}},
                     {"sparse_keys", std::vector<std::string>{"b"}},
                     {"dense_keys", std::vector<std::string>{"a"}},
                     {"sparse_types", std::vector<DType>{DType::kInt64}},
                     {"Tdense", std::vector<DType>{DType::kFloat}},
                     {"dense_shapes", std::vector<PartialShape>{Partial({2})}}}));
  EXPECT_THAT(Values<int64_t>(parsed[0]), ElementsAre(0, 1, 2));
  EXPECT_THAT(Values<int64_t>(parsed[2]), ElementsAre(3));
  EXPECT_THAT(Values<float>(parsed[3]), ElementsAre(1, 2));
}

TEST(DecodeRaw, TurnsBytesRound) {
  const Tensor bytes = Texts({std::string("\1\2\3\4")});
  const AttrMap little = Attrs({{"out_type", DType::kUint16}});
  EXPECT_THAT(Values<uint16_t>(Eval("DecodeRaw", {bytes}, little)), ElementsAre(513, 1027));
  AttrMap big = little;
  big.Set("little_endian", false);
  EXPECT_THAT(Values<uint16_t>(Eval("DecodeRaw", {bytes}, big)), ElementsAre(258, 772));
  EXPECT_THAT(
      Values<uint8_t>(Eval("DecodePaddedRaw", {Texts({"\1\2\3", "\4"}), Tensor::Scalar<int32_t>(2)},
                           Attrs({{"out_type", DType::kUint8}}))),
      ElementsAre(1, 2, 4, 0));
  EXPECT_TRUE(IsInvalid(EvalError("DecodeRaw", {Texts({"a", "bc"})}, little), "same size"));
}

TEST(DecodeCsv, KnowsQuotesAndDefaults) {
  ResourceRun run;
  const Tensor required = Tensor::FromValues<std::string>({}, ShapeOf({0}));
  const std::vector<Tensor> inputs = {Texts({"1,a b,\"x,\"\"y\"\"\"", "2,,z"}),
                                      Tensor::Vector<int32_t>({0}), Texts({"d"}), required};
  const auto fields = run.All("DecodeCSV", inputs);
  EXPECT_THAT(Values<int32_t>(fields[0]), ElementsAre(1, 2));
  EXPECT_THAT(Values<std::string>(fields[1]), ElementsAre("a b", "d"));
  EXPECT_THAT(Values<std::string>(fields[2]), ElementsAre("x,\"y\"", "z"));
  const auto selected =
      run.All("DecodeCSV",
              {Texts({"1,2,3", "4,5,6"}), Tensor::Vector<float>({0}), Tensor::Vector<int32_t>({0})},
              Attrs({{"select_cols", std::vector<int64_t>{0, 2}}}));
  EXPECT_THAT(Values<float>(selected[0]), ElementsAre(1, 4));
  EXPECT_THAT(Values<int32_t>(selected[1]), ElementsAre(3, 6));
  EXPECT_TRUE(IsInvalid(run.Error("DecodeCSV", {Texts({"1,2"}), Tensor::Vector<int32_t>({0})}),
                        "expect 1 fields"));
  EXPECT_TRUE(IsInvalid(run.Error("DecodeCSV", {Texts({""}), required}), "required but missing"));
}

TEST(SerializeTensor, WritesWhatItReads) {
  const Tensor matrix = Tensor::FromValues<int32_t>({1, 2, 3, 4}, ShapeOf({2, 2}));
  const Tensor bytes = Eval("SerializeTensor", {matrix});
  EXPECT_EQ(bytes.scalar<std::string>(),
            std::string("\x08\x03\x12\x08\x12\x02\x08\x02\x12\x02\x08\x02\"\x10\x01\0\0\0\x02\0\0\0"
                        "\x03\0\0\0\x04\0\0\0",
                        30));
  const AttrMap ints = Attrs({{"out_type", DType::kInt32}});
  const Tensor again = Eval("ParseTensor", {bytes}, ints);
  EXPECT_EQ(again.shape(), matrix.shape());
  EXPECT_THAT(Values<int32_t>(again), ElementsAre(1, 2, 3, 4));
  const Tensor texts = Eval("SerializeTensor", {Texts({"a", "bc"})});
  EXPECT_EQ(texts.scalar<std::string>(),
            "\x08\x07\x12\x04\x12\x02\x08\x02"
            "B\x01"
            "aB\x02"
            "bc");
  EXPECT_THAT(
      Values<std::string>(Eval("ParseTensor", {texts}, Attrs({{"out_type", DType::kString}}))),
      ElementsAre("a", "bc"));
  EXPECT_TRUE(IsInvalid(EvalError("ParseTensor", {texts}, ints), "type mismatch"));
  // float_val: 1.5, for all of three elements.
  const Tensor filled = Tensor::Scalar<std::string>(
      std::string("\x08\x01\x12\x04\x12\x02\x08\x03\x2d\0\0\xc0\x3f", 13));
  EXPECT_THAT(Values<float>(Eval("ParseTensor", {filled}, Attrs({{"out_type", DType::kFloat}}))),
              ElementsAre(1.5F, 1.5F, 1.5F));
}

}  // namespace
}  // namespace gyre::test
