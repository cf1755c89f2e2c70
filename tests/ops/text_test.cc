// Strings, printing, assertions, host functions. Expected texts are those of TensorFlow 2.21.
#include <numeric>

#include "gmock/gmock.h"
#include "ops/math_values.h"
#include "ops/text/host_functions.h"

namespace gyre::test {
namespace {

using ::testing::HasSubstr;

template <typename T>
std::string AsText(T value, std::vector<std::pair<std::string, AttrValue>> attrs = {}) {
  const Tensor text = Eval("AsString", {Tensor::Scalar(value)}, Attrs(std::move(attrs)));
  return text.has_value() ? text.scalar<std::string>() : "";
}

AttrValue Int(int64_t value) { return value; }
AttrValue Text(std::string value) { return value; }

TEST(AsString, NumbersAsPrintfWritesThem) {
  EXPECT_EQ(AsText(1.5f), "1.500000");
  EXPECT_EQ(AsText(0.1), "0.100000");
  EXPECT_EQ(AsText(1e20f), "100000002004087734272.000000");
  EXPECT_EQ(AsText(std::numeric_limits<float>::quiet_NaN()), "nan");
  EXPECT_EQ(AsText(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(AsText(int8_t{-7}), "-7");
  EXPECT_EQ(AsText(uint64_t{9223372036854775809u}), "9223372036854775809");
  EXPECT_EQ(AsText(Half(0.1f)), "0.099976");
  EXPECT_EQ(AsText(BFloat16(0.1f)), "0.100098");
  EXPECT_EQ(AsText(complex64(1, 2)), "(1.000000,2.000000)");
  EXPECT_EQ(AsText(true), "true");
}

TEST(AsString, PrecisionAndNotation) {
  EXPECT_EQ(AsText(3.14159265, {{"precision", Int(3)}}), "3.142");
  EXPECT_EQ(AsText(3.5, {{"precision", Int(0)}}), "4");
  EXPECT_EQ(AsText(3.5, {{"precision", Int(-2)}}), "3.500000");
  EXPECT_EQ(AsText(3.14159265, {{"scientific", true}}), "3.141593e+00");
  EXPECT_EQ(AsText(3.14159265, {{"shortest", true}}), "3.14159");
  EXPECT_EQ(AsText(complex128(1, 2), {{"precision", Int(2)}, {"width", Int(7)}}),
            "(   1.00,   2.00)");
}

TEST(AsString, WidthAndFill) {
  const auto text = [](int32_t value, std::string fill) {
    return AsText(value, {{"width", Int(4)}, {"fill", Text(std::move(fill))}});
  };
  EXPECT_EQ(text(5, ""), "   5");
  EXPECT_EQ(text(5, "0"), "0005");
  EXPECT_EQ(text(-5, "0"), "-005");
  EXPECT_EQ(text(5, "-"), "5   ");
  EXPECT_EQ(text(5, "+"), "  +5");
  EXPECT_EQ(text(5, " "), "   5");
  EXPECT_EQ(text(5, "#"), "   5");
  EXPECT_EQ(AsText(int32_t{5}, {{"fill", Text("+")}}), "+5");
  EXPECT_EQ(AsText(5.0f, {{"fill", Text("+")}}), "+5.000000");
  EXPECT_EQ(
      AsText(std::numeric_limits<double>::quiet_NaN(), {{"width", Int(6)}, {"fill", Text("0")}}),
      "   nan");
  EXPECT_EQ(AsText(true, {{"width", Int(8)}}), "true");
  EXPECT_EQ(AsText(std::string("ab"), {{"width", Int(5)}}), "   ab");
  EXPECT_EQ(AsText(std::string("ab"), {{"width", Int(5)}, {"fill", Text("-")}}), "ab   ");
}

TEST(AsString, RefusesWhatMakesNoSense) {
  const auto error = [](std::vector<std::pair<std::string, AttrValue>> attrs) {
    return Message(EvalError("AsString", {Tensor::Scalar(int32_t{5})}, Attrs(std::move(attrs))));
  };
  EXPECT_THAT(error({{"scientific", true}, {"shortest", true}}), HasSubstr("cannot select both"));
  EXPECT_THAT(error({{"precision", Int(3)}}), HasSubstr("precision is not supported for int32"));
  EXPECT_THAT(error({{"shortest", true}}), HasSubstr("not supported for int32"));
  EXPECT_THAT(error({{"fill", Text("x")}}), HasSubstr("fill 'x' is not supported"));
  EXPECT_THAT(error({{"fill", Text("00")}}), HasSubstr("one character"));
  EXPECT_THAT(error({{"width", Int(int64_t{1} << 40)}}), HasSubstr("at most"));
}

TEST(StringJoin, ScalarsGoWithEveryElement) {
  const Tensor joined =
      Eval("StringJoin",
           {Tensor::Scalar(std::string("a")), Tensor::Vector<std::string>({"b", "c"}),
            Tensor::Scalar(std::string("d"))},
           Attrs({{"separator", Text("-")}}));
  EXPECT_EQ(Values<std::string>(joined), (std::vector<std::string>{"a-b-d", "a-c-d"}));
  EXPECT_EQ(Eval("StringJoin", {}).scalar<std::string>(), "");
  EXPECT_THAT(Message(EvalError("StringJoin", {Tensor::Vector<std::string>({"a"}),
                                               Tensor::Vector<std::string>({"b", "c"})})),
              HasSubstr("do not match: [1] and [2]"));
}

TEST(StringJoin, StaysWithinTheBudget) {
  const Tensor text = Tensor::Scalar(std::string(1000, 'x'));
  const Node node = *MakeNode(Ops(), "StringJoin", {text, text});
  const RefPtr<MemoryBudget> budget = MakeRef<MemoryBudget>(1500);
  RunEnv env;
  env.budget = budget.get();
  EXPECT_TRUE(absl::IsResourceExhausted(EvaluateNode(Ops(), node, {text, text}, env).status()));
}

TEST(StringFormat, FillsPlaceholders) {
  const Tensor x = Tensor::FromValues<int32_t>({1, 2, 3, 4}, ShapeOf({2, 2}));
  const Tensor name = Tensor::Scalar(std::string("x"));
  EXPECT_EQ(Eval("StringFormat", {name, x},
                 Attrs({{"template", Text("{} = {}!")}, {"placeholder", Text("{}")}}))
                .scalar<std::string>(),
            "\"x\" = [[1 2]\n [3 4]]!");
  EXPECT_THAT(Message(EvalError("StringFormat", {x}, Attrs({{"template", Text("%s%s")}}))),
              HasSubstr("2 placeholders for 1 inputs"));
}

TEST(StringFormat, ShowsBothEndsOfEveryDimension) {
  const auto format = [](const Tensor& x, int64_t summarize) {
    return Eval("StringFormat", {x}, Attrs({{"summarize", Int(summarize)}})).scalar<std::string>();
  };
  std::vector<int32_t> counted(40);
  std::iota(counted.begin(), counted.end(), 0);
  const Tensor ten = Tensor::FromValues<int32_t>(absl::MakeSpan(counted).first(10), ShapeOf({10}));
  EXPECT_EQ(format(ten, 3), "[0 1 2 ... 7 8 9]");
  EXPECT_EQ(format(ten, 2), "[0 1 ... 8 9]");
  EXPECT_EQ(format(ten, 5), "[0 1 2 3 4 5 6 7 8 9]");
  EXPECT_EQ(format(ten, -1), "[0 1 2 3 4 5 6 7 8 9]");
  EXPECT_EQ(format(Tensor::FromValues<int32_t>(counted, ShapeOf({10, 4})), 1),
            "[[0 ... 3]\n ...\n [36 ... 39]]");
  EXPECT_EQ(
      format(Tensor::FromValues<int32_t>(absl::MakeSpan(counted).first(8), ShapeOf({2, 2, 2})), 3),
      "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]");
  EXPECT_EQ(format(Tensor::Vector<float>({}), 3), "[]");
  EXPECT_EQ(format(Tensor::Vector<float>({1e10f, 0.1f}), 3), "[1e+10 0.1]");
  EXPECT_EQ(format(Tensor::Vector<bool>({true, false}), 3), "[1 0]");
  EXPECT_EQ(format(Tensor::Vector<std::string>({"a", "b\n\""}), 3), "[\"a\" \"b\\n\\\"\"]");
}

TEST(StringFormat, TakesAnyNumberOfInputsAndStaysWithinTheBudget) {
  EXPECT_EQ(Eval("StringFormat", {}, Attrs({{"template", Text("abc")}})).scalar<std::string>(),
            "abc");
  EXPECT_EQ(Eval("StringFormat", {Tensor::Scalar(1), Tensor::Scalar(2)},
                 Attrs({{"template", Text("%s%s")}}))
                .scalar<std::string>(),
            "12");
  EXPECT_THAT(Message(EvalError("StringFormat", {}, Attrs({{"placeholder", Text("")}}))),
              HasSubstr("placeholder must not be empty"));
  const Tensor text = Tensor::Scalar(std::string(1000, 'x'));
  const Node node =
      *MakeNode(Ops(), "StringFormat", {text, text}, Attrs({{"template", Text("%s%s")}}));
  const RefPtr<MemoryBudget> budget = MakeRef<MemoryBudget>(1500);
  RunEnv env;
  env.budget = budget.get();
  EXPECT_TRUE(absl::IsResourceExhausted(EvaluateNode(Ops(), node, {text, text}, env).status()));
  EXPECT_EQ(budget->used(), 0);
}

TEST(StringCase, LettersOfAscii) {
  const Tensor text = Tensor::Scalar(std::string("Gr\xc3\x9f 1 z"));
  EXPECT_EQ(Eval("StringUpper", {text}).scalar<std::string>(), "GR\xc3\x9f 1 Z");
  EXPECT_EQ(Eval("StringLower", {text}).scalar<std::string>(), "gr\xc3\x9f 1 z");
  EXPECT_EQ(Eval("StringUpper", {Tensor::Scalar(std::string("abc"))},
                 Attrs({{"encoding", Text("utf-8")}}))
                .scalar<std::string>(),
            "ABC");
  const AttrMap utf8 = Attrs({{"encoding", Text("utf-8")}});
  const Tensor words = Tensor::Scalar(std::string("stra\u00dfe \u00e9 \ufb01 \u0149"));
  EXPECT_EQ(Eval("StringUpper", {words}, utf8).scalar<std::string>(), "STRASSE \u00c9 FI \u02bcN");
  const Tensor greek = Tensor::Scalar(std::string("\u00c9\u0130\u03a3 \u0391\u03a3 \u03a3\u0391"));
  EXPECT_EQ(Eval("StringLower", {greek}, utf8).scalar<std::string>(),
            "\u00e9i\u0307\u03c2 \u03b1\u03c2 \u03c3\u03b1");
  EXPECT_THAT(
      std::string(
          EvalError("StringLower", {text}, Attrs({{"encoding", Text("latin-1")}})).message()),
      HasSubstr("not 'latin-1'"));
}

TEST(StringLength, BytesAndCharacters) {
  const Tensor text = Tensor::Scalar(std::string("\xc3\xa9t\xc3\xa9"));
  EXPECT_EQ(Eval("StringLength", {text}).scalar<int32_t>(), 5);
  EXPECT_EQ(Eval("StringLength", {text}, Attrs({{"unit", Text("UTF8_CHAR")}})).scalar<int32_t>(),
            3);
}

TEST(StringToNumber, ReadsWholeStrings) {
  const auto read = [](std::string text, DType dtype) {
    return Eval("StringToNumber", {Tensor::Scalar(std::move(text))}, Attrs({{"out_type", dtype}}));
  };
  EXPECT_EQ(read("1.5", DType::kFloat).scalar<float>(), 1.5f);
  EXPECT_EQ(read(" 7 ", DType::kInt32).scalar<int32_t>(), 7);
  EXPECT_EQ(read("1e3", DType::kDouble).scalar<double>(), 1000);
  EXPECT_EQ(read("-12", DType::kInt64).scalar<int64_t>(), -12);
  const AttrMap as_int = Attrs({{"out_type", DType::kInt32}});
  EXPECT_THAT(Message(EvalError("StringToNumber", {Tensor::Scalar(std::string("x1"))}, as_int)),
              HasSubstr("'x1'"));
  EXPECT_FALSE(
      EvalError("StringToNumber", {Tensor::Scalar(std::string("99999999999"))}, as_int).ok());
}

TEST(Assert, ShowsTheDataWhenItFails) {
  const Tensor no = Tensor::Scalar(false);
  const Tensor data = Tensor::Vector<int32_t>({0, 1, 2, 3});
  const absl::Status status = EvalError("Assert", {no, Tensor::Scalar(std::string("msg")), data});
  EXPECT_EQ(status, absl::InvalidArgumentError("assertion failed: [msg] [0 1 2...]"));
  EXPECT_TRUE(EvaluateOp("Assert", {Tensor::Scalar(true), data}).ok());
  EXPECT_THAT(Message(EvalError("Assert", {Tensor::Vector<bool>({true}), data})),
              HasSubstr("must be a scalar"));
}

TEST(Assert, ShowsAsMuchOfTheDataAsAsked) {
  const Tensor no = Tensor::Scalar(false);
  const Tensor data = Tensor::Vector<int32_t>({0, 1, 2, 3});
  const auto shown = [&](int64_t summarize) {
    return Message(EvalError("Assert", {no, data}, Attrs({{"summarize", Int(summarize)}})));
  };
  EXPECT_EQ(shown(1), "assertion failed: [0...]");
  EXPECT_EQ(shown(4), "assertion failed: [0 1 2 3]");
  EXPECT_EQ(shown(-1), "assertion failed: [0 1 2 3]");
}

// Collects what a node prints.
struct Printed {
  std::vector<std::string> lines;
  ResourceStore resources;
  RunEnv env;
  Printed() {
    env.resources = &resources;
    env.print = [this](absl::string_view stream, absl::string_view text) {
      lines.push_back(absl::StrCat(stream, ": ", text));
    };
  }
  absl::StatusOr<std::vector<Tensor>> Run(absl::string_view op, std::vector<Tensor> inputs,
                                          AttrMap attrs = {}) {
    GYRE_ASSIGN_OR_RETURN(const Node node, MakeNode(Ops(), op, inputs, std::move(attrs)));
    return EvaluateNode(Ops(), node, std::move(inputs), env);
  }
};

TEST(Print, WritesDataAndPassesItsInputOn) {
  Printed printed;
  const absl::StatusOr<std::vector<Tensor>> out =
      printed.Run("Print",
                  {Tensor::Scalar(1.0f), Tensor::Vector<int32_t>({0, 1, 2, 3}),
                   Tensor::Scalar(std::string("abc"))},
                  Attrs({{"message", Text("msg: ")}}));
  EXPECT_EQ((*out)[0].scalar<float>(), 1.0f);
  EXPECT_THAT(printed.lines, ::testing::ElementsAre("stderr: msg: [0 1 2...][abc]\n"));
}

TEST(Print, StopsAfterFirstN) {
  Printed printed;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(printed.Run("Print", {Tensor::Scalar(1.0f)}, Attrs({{"first_n", Int(2)}})).ok());
  }
  EXPECT_EQ(printed.lines.size(), 2u);
}

TEST(PrintV2, WritesToItsStream) {
  Printed printed;
  const Tensor hello = Tensor::Scalar(std::string("hello"));
  ASSERT_TRUE(printed.Run("PrintV2", {hello}).ok());
  ASSERT_TRUE(
      printed.Run("PrintV2", {hello}, Attrs({{"output_stream", Text("stdout")}, {"end", Text("")}}))
          .ok());
  EXPECT_THAT(printed.lines, ::testing::ElementsAre("stderr: hello\n", "stdout: hello"));
  for (const char* stream : {"log(info)", "log(warning)", "log(error)"}) {
    ASSERT_TRUE(printed.Run("PrintV2", {hello}, Attrs({{"output_stream", Text(stream)}})).ok());
    EXPECT_EQ(printed.lines.back(), absl::StrCat(stream, ": hello\n"));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(
      printed.Run("PrintV2", {hello}, Attrs({{"output_stream", Text("file:///etc/x")}})).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      printed.Run("PrintV2", {Tensor::Vector<std::string>({"a"})}).status()));
}

TEST(Abort, FailsTheRunOnly) {
  EXPECT_EQ(EvalError("Abort", {}, Attrs({{"error_msg", Text("stop here")}})),
            absl::AbortedError("stop here"));
  EXPECT_TRUE(EvaluateOp("Abort", {}, Attrs({{"exit_without_error", true}})).ok());
}

TEST(PyFunc, CallsRegisteredFunctions) {
  HostFunctions& functions = HostFunctions::Global();
  functions.Set("text_test/twice",
                [](absl::Span<const Tensor> args) -> absl::StatusOr<std::vector<Tensor>> {
                  return std::vector<Tensor>{Tensor::Scalar(2 * args[0].scalar<float>())};
                });
  const AttrMap attrs =
      Attrs({{"token", Text("text_test/twice")}, {"Tout", std::vector<DType>{DType::kFloat}}});
  for (const char* op : {"PyFunc", "PyFuncStateless", "EagerPyFunc"}) {
    EXPECT_EQ(Eval(op, {Tensor::Scalar(4.0f)}, attrs).scalar<float>(), 8.0f);
  }
  const AttrMap wrong =
      Attrs({{"token", Text("text_test/twice")}, {"Tout", std::vector<DType>{DType::kInt32}}});
  EXPECT_THAT(Message(EvalError("PyFunc", {Tensor::Scalar(4.0f)}, wrong)),
              HasSubstr("returned float32 as result 0"));
  EXPECT_TRUE(functions.Erase("text_test/twice"));
  const absl::Status gone = EvalError("PyFunc", {Tensor::Scalar(4.0f)}, attrs);
  EXPECT_TRUE(absl::IsUnimplemented(gone));
  EXPECT_THAT(Message(gone), HasSubstr("text_test/twice"));
}

// Registers a function under a token of its own for the length of a test.
struct HostFunction {
  HostFunction(std::string name, HostFunctions::Function function) : token(std::move(name)) {
    HostFunctions::Global().Set(token, std::move(function));
  }
  ~HostFunction() { HostFunctions::Global().Erase(token); }
  HostFunction(const HostFunction&) = delete;
  AttrMap Returning(std::vector<DType> types) const {
    return Attrs({{"token", token}, {"Tout", std::move(types)}});
  }
  const std::string token;
};

TEST(PyFunc, PassesErrorsOfTheFunctionOn) {
  const HostFunction fails("text_test/fails", [](absl::Span<const Tensor>) {
    return absl::StatusOr<std::vector<Tensor>>(absl::OutOfRangeError("no more rows"));
  });
  EXPECT_EQ(EvalError("PyFunc", {}, fails.Returning({DType::kFloat})),
            absl::OutOfRangeError("no more rows"));
}

TEST(PyFunc, TakesAndReturnsAnyNumberOfValues) {
  const HostFunction reversed("text_test/reversed", [](absl::Span<const Tensor> args) {
    return absl::StatusOr<std::vector<Tensor>>(std::vector<Tensor>(args.rbegin(), args.rend()));
  });
  const auto two = EvaluateOp("PyFunc", {Tensor::Scalar(1.5f), Tensor::Scalar(std::string("a"))},
                              reversed.Returning({DType::kString, DType::kFloat}));
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ((*two)[0].scalar<std::string>(), "a");
  EXPECT_EQ((*two)[1].scalar<float>(), 1.5f);
  EXPECT_TRUE(EvaluateOp("PyFunc", {}, reversed.Returning({})).ok());
  EXPECT_THAT(Message(EvalError("PyFunc", {Tensor::Scalar(1.5f)}, reversed.Returning({}))),
              HasSubstr("host function 'text_test/reversed' returned 1 values instead of 0"));
  const HostFunction nothing("text_test/nothing", [](absl::Span<const Tensor>) {
    return absl::StatusOr<std::vector<Tensor>>(std::vector<Tensor>(1));
  });
  EXPECT_THAT(Message(EvalError("PyFunc", {}, nothing.Returning({DType::kFloat}))),
              HasSubstr("no value"));
}

TEST(PyFunc, FindsTheFunctionThatWasRegisteredLast) {
  const auto constant = [](float value) {
    return [value](absl::Span<const Tensor>) {
      return absl::StatusOr<std::vector<Tensor>>(std::vector<Tensor>{Tensor::Scalar(value)});
    };
  };
  const HostFunction one("text_test/constant", constant(1));
  EXPECT_EQ(Eval("PyFunc", {}, one.Returning({DType::kFloat})).scalar<float>(), 1);
  HostFunctions::Global().Set(one.token, constant(2));
  EXPECT_EQ(Eval("PyFunc", {}, one.Returning({DType::kFloat})).scalar<float>(), 2);
  EXPECT_TRUE(HostFunctions::Global().Erase(one.token));
  EXPECT_FALSE(HostFunctions::Global().Erase(one.token));
}

}  // namespace
}  // namespace gyre::test
