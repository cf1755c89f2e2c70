// Constants: all their spellings, the rule of the last value, and what is refused.
#include "graphdef/tensor_proto.h"

#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "ir/attr.h"

namespace gyre {
namespace {

wire::TensorProto Proto(const std::string& text) {
  wire::TensorProto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto)) << text;
  return proto;
}

absl::StatusOr<Tensor> Decode(const std::string& text, int64_t limit = 1 << 20) {
  DecodeLimits limits{limit};
  return DecodeTensor(Proto(text), limits);
}

void ExpectSame(const absl::StatusOr<Tensor>& got, const Tensor& want) {
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(AttrEquals(AttrValue(*got), AttrValue(want)))
      << AttrToString(AttrValue(*got)) << " instead of " << AttrToString(AttrValue(want));
}

void ExpectRefused(const std::string& text, absl::string_view message) {
  const absl::StatusOr<Tensor> tensor = Decode(text);
  EXPECT_EQ(tensor.status().code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_TRUE(absl::StrContains(tensor.status().message(), message)) << tensor.status();
}

constexpr char kShape3[] = " tensor_shape { dim { size: 3 } }";

TEST(TensorProto, LastValueFillsTheRest) {
  const std::string shape = kShape3;
  ExpectSame(Decode("dtype: DT_FLOAT float_val: 1 float_val: 2.5" + shape),
             Tensor::Vector<float>({1, 2.5, 2.5}));
  ExpectSame(Decode("dtype: DT_STRING string_val: 'a' string_val: 'bc'" + shape),
             Tensor::Vector<std::string>({"a", "bc", "bc"}));
  ExpectSame(Decode("dtype: DT_COMPLEX64 scomplex_val: 1 scomplex_val: -2" + shape),
             Tensor::Vector<complex64>({{1, -2}, {1, -2}, {1, -2}}));
  ExpectSame(Decode("dtype: DT_COMPLEX128 dcomplex_val: [1, -2, 3, 4]" + shape),
             Tensor::Vector<complex128>({{1, -2}, {3, 4}, {3, 4}}));
  ExpectSame(Decode("dtype: DT_BOOL bool_val: true" + shape),
             Tensor::Vector<bool>({true, true, true}));
}

TEST(TensorProto, NoValuesMeanZeros) {
  ExpectSame(Decode(std::string("dtype: DT_INT64") + kShape3), Tensor::Vector<int64_t>({0, 0, 0}));
  ExpectSame(Decode("dtype: DT_STRING"), Tensor::Scalar<std::string>(""));
}

TEST(TensorProto, ValuesBeyondTheShapeAreRefused) {
  ExpectRefused(std::string("dtype: DT_INT32 int_val: [1, 2, 3, 4]") + kShape3,
                "it has 4 values, but its shape [3] holds 3");
  ExpectRefused("dtype: DT_STRING string_val: 'a' string_val: 'b'", "it has 2 values");
  ExpectRefused("dtype: DT_COMPLEX64 scomplex_val: [1, 2, 3, 4]", "it has 2 values");
  const std::string empty = " tensor_shape { dim { size: 0 } }";
  ExpectSame(Decode("dtype: DT_FLOAT" + empty), Tensor::Vector<float>({}));
  ExpectRefused("dtype: DT_FLOAT float_val: 1" + empty, "it has 1 values");
  ExpectRefused("dtype: DT_FLOAT tensor_content: '1234'" + empty, "4 bytes, which does not fit");
}

TEST(TensorProto, SmallIntegersTakeTheirLowBits) {
  const std::string values =
      " int_val: [-1, 130]" + std::string(" tensor_shape { dim { size: 2 } }");
  ExpectSame(Decode("dtype: DT_UINT8" + values), Tensor::Vector<uint8_t>({255, 130}));
  ExpectSame(Decode("dtype: DT_INT8" + values), Tensor::Vector<int8_t>({-1, -126}));
  ExpectSame(Decode("dtype: DT_UINT16" + values), Tensor::Vector<uint16_t>({65535, 130}));
  ExpectSame(Decode("dtype: DT_INT16" + values), Tensor::Vector<int16_t>({-1, 130}));
}

TEST(TensorProto, HalfValuesAreBits) {
  ExpectSame(Decode("dtype: DT_HALF half_val: 0x3e00"), Tensor::Scalar(Half(1.5f)));
  ExpectSame(Decode("dtype: DT_BFLOAT16 half_val: 0x3fc0"), Tensor::Scalar(BFloat16(1.5f)));
}

TEST(TensorProto, ContentIsLittleEndianBytes) {
  ExpectSame(Decode("dtype: DT_INT16 tensor_content: '\\001\\002\\377\\377' tensor_shape { dim { "
                    "size: 2 } }"),
             Tensor::Vector<int16_t>({0x0201, -1}));
  ExpectSame(Decode("dtype: DT_BOOL tensor_content: '\\000\\002\\001'" + std::string(kShape3)),
             Tensor::Vector<bool>({false, true, true}));
  ExpectSame(Decode("dtype: DT_STRING tensor_content: '\\001\\000\\002abc'" + std::string(kShape3)),
             Tensor::Vector<std::string>({"a", "", "bc"}));
}

TEST(TensorProto, RefusesWhatIsMalformed) {
  const std::string shape = kShape3;
  ExpectRefused("dtype: DT_FLOAT tensor_content: '1234'" + shape, "4 bytes, which does not fit");
  ExpectRefused("dtype: DT_STRING tensor_content: '\\001\\000\\002ab'" + shape,
                "not a list of strings");
  ExpectRefused("dtype: DT_STRING tensor_content: '\\001\\000\\002abcd'" + shape,
                "not a list of strings");
  ExpectRefused("dtype: DT_STRING tensor_content: '\\001'" + shape, "too few");
  ExpectRefused("float_val: 1", "type number 0 (DT_INVALID)");
  ExpectRefused("dtype: DT_FLOAT_REF float_val: 1", "DT_FLOAT_REF");
  ExpectRefused("dtype: DT_FLOAT8_E5M2 float8_val: 'a'", "DT_FLOAT8_E5M2");
  ExpectRefused("dtype: DT_FLOAT tensor_shape { unknown_rank: true }", "unknown rank");
  ExpectRefused("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }", "must be >= 0");
  ExpectRefused(
      "dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } dim { size: 4 } }",
      "64 bits");
  ExpectRefused("dtype: DT_RESOURCE resource_handle_val { name: 'v' }", "running session");
  ExpectRefused("dtype: DT_VARIANT variant_val { type_name: 'tensorflow::TensorList' }",
                "running session");
}

TEST(TensorProto, OneValueCannotAskForUnboundedMemory) {
  const std::string text = "dtype: DT_FLOAT float_val: 7 tensor_shape { dim { size: 101 } }";
  EXPECT_TRUE(Decode(text, 400).ok());
  const absl::Status refused = Decode(text, 399).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(refused.message(), "more memory")) << refused;
  ExpectRefused("dtype: DT_DOUBLE tensor_shape { dim { size: 4611686018427387904 } }",
                "more memory");
  // A long string weighs as much as it is long, each time.
  EXPECT_FALSE(Decode("dtype: DT_STRING string_val: '" + std::string(1000, 'x') +
                          "' tensor_shape { dim { size: 5 } }",
                      4000)
                   .ok());
}

TEST(TensorProto, EverySimpleTypeSurvives) {
  const std::vector<Tensor> tensors = {
      Tensor::Vector<float>({1, -0.0f, std::numeric_limits<float>::quiet_NaN()}),
      Tensor::Vector<double>({1, std::numeric_limits<double>::infinity()}),
      Tensor::Vector<Half>({Half(1), Half(2)}),
      Tensor::Vector<BFloat16>({BFloat16(1), BFloat16(2)}),
      Tensor::Vector<int8_t>({-128, 127}),
      Tensor::Vector<uint8_t>({0, 255}),
      Tensor::Vector<int16_t>({-32768, 1}),
      Tensor::Vector<uint16_t>({65535, 1}),
      Tensor::Vector<int32_t>({std::numeric_limits<int32_t>::min(), 1}),
      Tensor::Vector<uint32_t>({4294967295u, 1}),
      Tensor::Vector<int64_t>({std::numeric_limits<int64_t>::min(), 1}),
      Tensor::Vector<uint64_t>({std::numeric_limits<uint64_t>::max(), 1}),
      Tensor::Vector<bool>({true, false}),
      Tensor::Vector<complex64>({{1, 2}, {3, 4}}),
      Tensor::Vector<complex128>({{1, 2}, {3, 4}}),
      Tensor::Vector<std::string>({"", std::string("a\0\xff", 3)}),
      Tensor::Vector<int32_t>({1, 2}).Bitcast(DType::kQint32),
      Tensor::Vector<uint8_t>({1, 2}).Bitcast(DType::kQuint8),
  };
  for (const Tensor& tensor : tensors) {
    SCOPED_TRACE(DTypeName(tensor.dtype()));
    // The elements in full, the first of them alone, and none of them.
    for (const Tensor& part : {tensor, tensor.SliceRows(0, 1), tensor.SliceRows(0, 0)}) {
      wire::TensorProto proto;
      ASSERT_TRUE(EncodeTensor(part, &proto).ok());
      DecodeLimits nothing{0};
      ExpectSame(DecodeTensor(proto, nothing), part);
    }
  }
}

TEST(TensorProto, EqualElementsTakeTheSpaceOfOne) {
  const Tensor zeros = *Tensor::Zeros(DType::kDouble, Shape::Vector(100000), Tensor::Alloc());
  wire::TensorProto proto;
  ASSERT_TRUE(EncodeTensor(zeros, &proto).ok());
  EXPECT_LT(proto.ByteSizeLong(), 50u);
  DecodeLimits limits{800000};
  ExpectSame(DecodeTensor(proto, limits), zeros);
}

TEST(TensorProto, SessionValuesCannotBeWritten) {
  wire::TensorProto proto;
  const absl::Status status = EncodeTensor(Tensor::FromObject(DType::kVariant, nullptr), &proto);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

TEST(ShapeProto, KnowsPartialShapes) {
  PartialShape partial = PartialShape::UnknownOfRank(3);
  partial.set_dim(1, 0);
  for (const PartialShape& shape :
       {PartialShape::Unknown(), PartialShape::UnknownOfRank(0), partial}) {
    wire::TensorShapeProto proto;
    EncodeShape(shape, &proto);
    const absl::StatusOr<PartialShape> again = DecodeShape(proto);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->ToString(), shape.ToString());
  }
}

}  // namespace
}  // namespace gyre
