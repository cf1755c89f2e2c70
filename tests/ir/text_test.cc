#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/parse.h"
#include "ir/text/literal.h"
#include "ir/text/printer.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

// What is printed after reading `text`.
std::string Reprinted(absl::string_view text) { return PrintProgram(*Parse(text)); }

TEST(Text, PrintsWhatItRead) {
  const std::string text =
      R"(program producer=2474 min_consumer=12

gradient @step = @step_grad

graph {
  %x = Placeholder() shape=(2,?) : float32
  %n = Const() value=int32{10} : int32
  %loop = While(%n, %x, ^%x) body=@step cond=@more parallel_iterations=32 : (int32, float32)
  %y = Identity(%loop:1) _note="a\"b\n" : float32 on "/cpu:0" at "model.py:12"
  %"odd name" = NoOp(^%y)
}

func @more(%i: int32[], %x: float32[2,?]) -> (go: bool) {
  %zero = Const() value=int32{0} : int32
  %go = Greater(%i, %zero) : bool
  return %go
}

func @step(%i: int32[], %x: float32[2,?] {_note="y"}) -> (i: int32, x: float32) {
  doc "One iteration."
  stateful
  attr _noinline=true
  %one = Const() value=int32{1} : int32
  %next = Sub(%i, %one) : int32
  %say = NoOp(^%next)
  return %next, %x, ^%say, ^%next as "done at last"
}
)";
  EXPECT_EQ(Reprinted(text), text);
}

TEST(Text, NamesBeyondAsciiAreWords) {
  const std::string text = R"(graph {
  %größe = Const() value=float32{1} : float32
  %"大き さ" = Identity(%größe) _注="é" : float32
  %"bad\xff" = Identity(%"大き さ") : float32
}
)";
  EXPECT_EQ(Reprinted(text), text);
}

TEST(Text, TypesAndNumbersAreToldFromTheInputs) {
  const auto program = Parse(R"(
    graph {
      %x = Const() value=float32[2]{1, 2}   // types may be left out where they follow
      %y = AddN(%x, %x, %x)
      %m = Merge(%y, %n) : (float32, int32)
      %n = NextIteration(%m)
      %v = VariableV2() shape=(2) dtype=float32
      %a = Assign(%v, %x)
    })");
  const Function& f = program->main();
  const Node& sum = f.node(Id(f, "y"));
  EXPECT_EQ(*sum.attrs.Get<int64_t>("N"), 3);
  EXPECT_EQ(*sum.attrs.Get<DType>("T"), DType::kFloat);
  EXPECT_EQ(f.node(Id(f, "n")).signature.outputs[0].dtype, DType::kFloat);
  EXPECT_TRUE(f.node(Id(f, "v")).signature.outputs[0].is_ref);
  EXPECT_THAT(PrintProgram(*program), HasSubstr("%v = VariableV2() shape=(2) : float32&\n"));
}

TEST(Text, UnknownOpsKeepEverything) {
  const std::string text =
      "graph {\n  %x = \"Custom>Op\"() k=[1, 2] name=\"n\" on \"/gpu:0\" wire \"\\x01\"\n}\n";
  EXPECT_EQ(Reprinted(text), text);
}

TEST(Text, GenericFunctionsKeepTheirPlaceholders) {
  const std::string text =
      R"(graph {
}

func @twice(x: ? = %x) -> (y: ?) {
  %x = _Arg() T=$T index=0
  %y = AddV2(%x, %x) T=$T
  return %y
}
)";
  EXPECT_EQ(Reprinted(text), text);
}

// A value that is written, read and written again.
std::string Rewritten(const AttrValue& value) {
  const std::string text = WriteAttrValue(value);
  TextReader reader(text);
  const absl::StatusOr<AttrValue> read = ReadAttrValue(reader);
  EXPECT_TRUE(read.ok()) << text << ": " << read.status();
  if (!read.ok()) return "";
  EXPECT_TRUE(reader.AtEnd()) << text;
  EXPECT_TRUE(AttrEquals(value, *read)) << text;
  return text;
}

TEST(Literals, Scalars) {
  EXPECT_EQ(Rewritten(AttrValue()), "none");
  EXPECT_EQ(Rewritten(std::string("a\"\\\n\xff"
                                  "1")),
            R"("a\"\\\n\xff\x31")");
  EXPECT_EQ(Rewritten(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(Rewritten(1.0f), "1.0");
  EXPECT_EQ(Rewritten(0.1f), "0.1");
  EXPECT_EQ(Rewritten(-0.0f), "-0.0");
  EXPECT_EQ(Rewritten(1e20f), "1e+20");
  EXPECT_EQ(Rewritten(std::numeric_limits<float>::denorm_min()), "1e-45");
  EXPECT_EQ(Rewritten(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(Rewritten(std::numeric_limits<float>::quiet_NaN()), "nan");
  EXPECT_EQ(Rewritten(-std::numeric_limits<float>::quiet_NaN()), "nan(ffc00000)");
  EXPECT_EQ(Rewritten(true), "true");
  EXPECT_EQ(Rewritten(DType::kHalf), "float16");
  EXPECT_EQ(Rewritten(DType::kInvalid), "invalid");
  EXPECT_EQ(Rewritten(PartialShape(Dims{2, -1})), "(2,?)");
  EXPECT_EQ(Rewritten(PartialShape::Scalar()), "()");
  EXPECT_EQ(Rewritten(PartialShape::Unknown()), "?");
  EXPECT_EQ(Rewritten(AttrPlaceholder{"T"}), "$T");
  AttrMap attrs;
  attrs.Set("T", DType::kInt32);
  attrs.Set("odd name", int64_t{1});
  EXPECT_EQ(Rewritten(FunctionRef{"f", std::make_shared<const AttrMap>(attrs)}),
            "@f{T=int32, \"odd name\"=1}");
}

TEST(Literals, Lists) {
  EXPECT_EQ(Rewritten(EmptyList()), "[]");
  EXPECT_EQ(Rewritten(std::vector<int64_t>()), "[:int]");
  EXPECT_EQ(Rewritten(std::vector<Tensor>()), "[:tensor]");
  EXPECT_EQ(Rewritten(std::vector<int64_t>{1, -2}), "[1, -2]");
  EXPECT_EQ(Rewritten(std::vector<float>{1, 2.5f}), "[1.0, 2.5]");
  EXPECT_EQ(Rewritten(std::vector<bool>{true, false}), "[true, false]");
  EXPECT_EQ(Rewritten(std::vector<std::string>{"", "a"}), R"(["", "a"])");
  EXPECT_EQ(Rewritten(std::vector<DType>{DType::kFloat, DType::kString}), "[float32, string]");
  EXPECT_EQ(Rewritten(std::vector<PartialShape>{PartialShape::Unknown(), PartialShape::Scalar()}),
            "[?, ()]");
  EXPECT_EQ(Rewritten(std::vector<Tensor>{Tensor::Scalar(1.0f)}), "[float32{1}]");
  EXPECT_EQ(Rewritten(std::vector<FunctionRef>{{"f", nullptr}, {"g h", nullptr}}),
            "[@f, @\"g h\"]");
}

TEST(Literals, Tensors) {
  EXPECT_EQ(Rewritten(Tensor::Scalar<int32_t>(3)), "int32{3}");
  EXPECT_EQ(Rewritten(Tensor::Vector<double>({0.1, 1e300, -0.0})), "float64[3]{0.1, 1e+300, -0}");
  EXPECT_EQ(Rewritten(Tensor::Vector<float>({1, std::numeric_limits<float>::quiet_NaN()})),
            "float32[2]{1, nan}");
  EXPECT_EQ(Rewritten(*Tensor::Zeros(DType::kFloat, *Shape::Make({64, 64}), {})),
            "float32[64,64]{0 ...}");
  EXPECT_EQ(Rewritten(*Tensor::Zeros(DType::kFloat, *Shape::Make({0, 3}), {})), "float32[0,3]{}");
  EXPECT_EQ(Rewritten(Tensor::Vector<complex64>({{1, -2}, {0.5, 0}})),
            "complex64[2]{(1,-2), (0.5,0)}");
  EXPECT_EQ(Rewritten(Tensor::Vector<std::string>({"a", std::string("\0b", 2)})),
            R"(string[2]{"a", "\x00\x62"})");
  EXPECT_EQ(Rewritten(Tensor::Vector<bool>({true, false})), "bool[2]{true, false}");
  EXPECT_EQ(Rewritten(Tensor::Vector<uint64_t>({~uint64_t{0}, 1})),
            "uint64[2]{18446744073709551615, 1}");
  EXPECT_EQ(Rewritten(Tensor::Vector<Half>({Half(0.5f), Half(65504)})), "float16[2]{0.5, 65504}");
  BFloat16 odd_nan;
  odd_nan.bits = 0xffc1;
  EXPECT_EQ(Rewritten(Tensor::Vector<BFloat16>({BFloat16(1), odd_nan})),
            "bfloat16[2]{1, nan(ffc1)}");
  EXPECT_EQ(Rewritten(Tensor::FromObject(DType::kVariant, nullptr)), "variant{null}");
  EXPECT_EQ(Rewritten(Tensor()), "tensor{}");
}

TEST(Literals, AllHalvesSurvive) {
  Tensor all = *Tensor::Make(DType::kHalf, Shape::Vector(65536));
  for (int i = 0; i < 65536; ++i) all.mutable_values<Half>()[i].bits = static_cast<uint16_t>(i);
  Rewritten(all);
  Rewritten(all.Bitcast(DType::kBfloat16));
  Rewritten(all.Bitcast(DType::kQint16));
}

TEST(Literals, CutShort) {
  const LiteralOptions options{.max_elements = 2};
  EXPECT_EQ(WriteAttrValue(Tensor::Vector<int32_t>({1, 2, 3, 4}), options),
            "int32[4]{1, 2, <2 more>}");
  EXPECT_EQ(WriteAttrValue(std::string(20, 'x'), options), "\"xxxxxxxxxxxxxxxx\"<4 more>");
  TextReader reader("int32[4]{1, 2, <2 more>}");
  EXPECT_THAT(ReadAttrValue(reader).status().message(), HasSubstr("cannot be read back"));
}

std::string ErrorOf(absl::string_view text) {
  const auto program = ParseProgram(text, Ops());
  EXPECT_EQ(program.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(program.status().message());
}

TEST(TextMalformed, SaysWhereAndWhatWasExpected) {
  EXPECT_EQ(ErrorOf("grph {}"),
            "line 1, column 1: expected 'graph', 'func' or 'gradient', but found 'grph'");
  EXPECT_EQ(ErrorOf("graph {\n  %x = Const( value=1\n}"),
            "line 2, column 15: expected a value (%name), but found 'value'");
  EXPECT_EQ(ErrorOf("graph {\n  %x = NoOp()"),
            "line 2, column 14: expected a node (%name = Op(...)), 'return' or '}', but found the "
            "end of the text");
  EXPECT_EQ(ErrorOf("graph {\n  %y = Identity(%ghost)\n}"),
            "line 2, column 17: %ghost is not defined");
  EXPECT_EQ(ErrorOf("graph { %x = NoOp() %x = NoOp() }"), "line 1, column 21: %x is defined twice");
  EXPECT_EQ(ErrorOf("graph { %größe = Identity(%é) }"), "line 1, column 27: %é is not defined");
  EXPECT_EQ(ErrorOf("größe {}"),
            "line 1, column 1: expected 'graph', 'func' or 'gradient', but found 'größe'");
  EXPECT_EQ(ErrorOf("graph {} graph {}"), "line 1, column 10: there is a graph already");
  EXPECT_EQ(ErrorOf("func @f() -> (y: int32) { }"),
            "line 1, column 27: function f has 1 results, but 0 values are returned");
  EXPECT_EQ(ErrorOf("graph { %x = Const() value=int32{1} %y = Neg(%x) : float32 }"),
            "line 1, column 37: %y is said to be (float32), but Neg makes (int32)");
  EXPECT_THAT(ErrorOf("graph { %x = Placeholder() }"),
              HasSubstr("attribute dtype of op Placeholder is missing"));
  EXPECT_THAT(ErrorOf("graph { %x = NoOp() on cpu }"),
              HasSubstr("column 24: expected a device in quotes"));
  EXPECT_THAT(ErrorOf("graph { %x = NoOp(^%x, %x) }"),
              HasSubstr("control inputs (^%name) must stand after"));
}

TEST(TextMalformed, Values) {
  const auto error = [](absl::string_view value) {
    return ErrorOf(absl::StrCat("graph { %x = NoOp() a=", value, " }"));
  };
  EXPECT_THAT(error("\"abc"), HasSubstr("this text in quotes has no end"));
  EXPECT_THAT(error("\"\\q\""), HasSubstr("bad escape"));
  EXPECT_THAT(error("99999999999999999999"), HasSubstr("is out of range"));
  EXPECT_THAT(error("int8{300}"), HasSubstr("is out of range"));
  EXPECT_THAT(error("int32[3]{1, 2}"),
              HasSubstr("a tensor of shape [3] has 3 elements, but here are 2"));
  EXPECT_THAT(error("int32[4611686018427387904,4]{0 ...}"),
              HasSubstr("line 1, column 28: the number of elements"));
  EXPECT_THAT(error("int32[1099511627776]{0 ...}"), HasSubstr("of at most 1073741824 bytes"));
  EXPECT_THAT(error("[1, 2.0]"), HasSubstr("the elements of a list must be of one kind"));
  EXPECT_THAT(error("[[1]]"), HasSubstr("there are no lists of such values"));
  EXPECT_THAT(error("(2,-3)"), HasSubstr("write ? for an unknown one"));
  EXPECT_THAT(error("resource{7}"), HasSubstr("expected null"));
  EXPECT_THAT(error(std::string(100000, '[')), HasSubstr("nested too deeply"));
}

TEST(TextMalformed, EveryPrefixIsAnErrorOrAProgram) {
  const std::string text = PrintProgram(*Parse(R"(
    graph { %x = Const() value=float32[2]{1, nan} %y = Identity(%x) on "d" }
    func @f(%a: int32[2] {k=[1]}) -> (b: int32) { doc "d" %b = Neg(%a) return %b, ^%b as c })"));
  for (size_t n = 0; n < text.size(); ++n) {
    (void)ParseProgram(absl::string_view(text).substr(0, n), Ops());
    std::string changed = text;
    changed[n] = '{';
    (void)ParseProgram(changed, Ops());
  }
}

}  // namespace
}  // namespace gyre
