#include "grad/check_gradient.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "grad/gradients.h"
#include "gtest/gtest.h"
#include "ir/builder.h"
#include "ir/text/literal.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ops/registry.h"
#include "session/names.h"

namespace gyre::testing {
namespace {

using ProgramPtr = std::shared_ptr<const Program>;

// A difference over 2h is wrong by h²/6 times the third derivative, 1e-11, and by what rounding a
// value of size 1 makes of it, 2^-53 / h, 1e-11. That is multiplied by the size of third
// derivatives and values, up to some thousands here; a wrong rule is wrong by far more than what is
// allowed.
constexpr double kStep = 1.0 / (1 << 17);
constexpr double kRelative = 1e-6;
constexpr double kAbsolute = 1e-7;

bool IsNumber(DType dtype) { return dtype == DType::kDouble || dtype == DType::kComplex128; }

// The numbers of a tensor; of complex ones both parts. The product of two tensors, taken so, is the
// real part of that of one and the conjugate of the other.
absl::Span<const double> Coordinates(const Tensor& t) {
  const int parts = t.dtype() == DType::kComplex128 ? 2 : 1;
  return {static_cast<const double*>(t.raw_data()), static_cast<size_t>(t.num_elements() * parts)};
}

Tensor FromCoordinates(const std::vector<double>& coordinates, DType dtype, const Shape& shape) {
  if (dtype == DType::kDouble) return Tensor::FromValues<double>(coordinates, shape);
  std::vector<complex128> values;
  for (size_t i = 0; i < coordinates.size(); i += 2) {
    values.emplace_back(coordinates[i], coordinates[i + 1]);
  }
  return Tensor::FromValues<complex128>(values, shape);
}

Tensor Uniform(std::mt19937& generator, DType dtype, const Shape& shape, double low, double high) {
  std::uniform_real_distribution<double> uniform(low, high);
  const size_t parts = dtype == DType::kComplex128 ? 2 : 1;
  std::vector<double> coordinates(parts * static_cast<size_t>(shape.num_elements()));
  std::generate(coordinates.begin(), coordinates.end(), [&] { return uniform(generator); });
  return FromCoordinates(coordinates, dtype, shape);
}

absl::StatusOr<ProgramPtr> Parse(const std::string& text) { return ParseProgram(text, Ops()); }

absl::StatusOr<std::vector<Endpoint>> Find(const Program& program,
                                           const std::vector<std::string>& names) {
  GYRE_ASSIGN_OR_RETURN(RunSignature signature, MainNames(program).FindSignature({}, names));
  return std::move(signature.fetches);
}

// Values of a program as a function of what is fed.
class Evaluator {
 public:
  static absl::StatusOr<Evaluator> Make(const ProgramPtr& program, const Feeds& feeds,
                                        const std::vector<Endpoint>& outputs) {
    GYRE_ASSIGN_OR_RETURN(const auto session,
                          Session::Create(program, {.engine = EngineKind::kReference}));
    std::vector<std::string> fetches;
    for (const Endpoint& e : outputs) fetches.push_back(program->main().EndpointName(e));
    GYRE_ASSIGN_OR_RETURN(Session::Callable callable, session->Prepare(NamesOf(feeds), fetches));
    return Evaluator(std::move(callable));
  }

  absl::StatusOr<std::vector<Tensor>> At(const Feeds& feeds) const {
    std::vector<Tensor> values;
    for (const auto& [name, value] : feeds) values.push_back(value);
    return callable_.Run(values);
  }

 private:
  explicit Evaluator(Session::Callable callable) : callable_(std::move(callable)) {}
  Session::Callable callable_;
};

// What is checked at one order: the sum of outputs * weights.
struct Problem {
  ProgramPtr program;
  Feeds feeds;
  std::vector<std::string> x_names;
  std::vector<Endpoint> xs;
  std::vector<Endpoint> outputs;
  std::vector<Tensor> weights;

  FeedValue& Fed(Feeds& from, size_t x) const {
    return std::find_if(from.begin(), from.end(),
                        [&](const auto& feed) { return feed.first == x_names[x]; })
        ->second;
  }
};

// The change of the weighted sum when coordinate `k` of x is moved by a step to either side.
absl::StatusOr<double> Difference(const Problem& p, const Evaluator& f, size_t x, size_t k) {
  std::vector<std::vector<Tensor>> sides;
  Feeds feeds = p.feeds;
  FeedValue& fed = p.Fed(feeds, x);
  const Tensor at = fed;
  const auto from = Coordinates(at);
  const double step = kStep * std::max(1.0, std::abs(from[k]));
  for (const double moved : {from[k] + step, from[k] - step}) {
    std::vector<double> coordinates(from.begin(), from.end());
    coordinates[k] = moved;
    fed = FromCoordinates(coordinates, at.dtype(), at.shape());
    GYRE_ASSIGN_OR_RETURN(std::vector<Tensor> values, f.At(feeds));
    sides.push_back(std::move(values));
  }
  double change = 0;
  for (size_t i = 0; i < p.outputs.size(); ++i) {
    const auto up = Coordinates(sides[0][i]);
    const auto down = Coordinates(sides[1][i]);
    const auto weights = Coordinates(p.weights[i]);
    if (up.size() != weights.size() || down.size() != weights.size())
      return absl::InternalError("the shape of an output depends on an x");
    for (size_t j = 0; j < weights.size(); ++j) change += weights[j] * (up[j] - down[j]);
  }
  return change / (2 * step);
}

void ExpectClose(const Tensor& got, const Tensor& x, const std::vector<double>& want,
                 const std::string& what) {
  ASSERT_EQ(got.dtype(), x.dtype()) << what;
  ASSERT_EQ(got.shape(), x.shape()) << what;
  const auto coordinates = Coordinates(got);
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_NEAR(coordinates[k], want[k], kAbsolute + kRelative * std::abs(want[k]))
        << what << ", number " << k;
  }
}

// The program with its weights as constants.
ProgramPtr WithConstants(const Program& program, const std::vector<Tensor>& values,
                         std::vector<std::optional<Endpoint>>& constants) {
  FunctionBuilder main(Ops(), program.main());
  for (const Tensor& value : values) constants.push_back(main.Constant(value));
  return ProgramBuilder(program).SetMain(main.Build()).Build();
}

// Compares the gradients of the problem, and makes one of them; order by order.
absl::Status Check(Problem p, int order, int last_order) {
  GYRE_ASSIGN_OR_RETURN(const Evaluator f, Evaluator::Make(p.program, p.feeds, p.outputs));
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> values, f.At(p.feeds));
  std::mt19937 generator(static_cast<uint32_t>(order));
  for (const Tensor& value : values) {
    EXPECT_TRUE(IsNumber(value.dtype())) << DTypeName(value.dtype());
    p.weights.push_back(Uniform(generator, value.dtype(), value.shape(), -1, 1));
  }
  GradientRequest request{.ys = p.outputs, .xs = p.xs};
  p.program = WithConstants(*p.program, p.weights, request.grad_ys);
  GYRE_ASSIGN_OR_RETURN(const GradientResult result, DenseGradients(p.program, request));
  std::vector<Endpoint> gradients;
  for (const auto& gradient : result.gradients) {
    if (gradient) gradients.push_back(gradient->values);
  }
  GYRE_ASSIGN_OR_RETURN(const Evaluator g, Evaluator::Make(result.program, p.feeds, gradients));
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> got, g.At(p.feeds));
  auto next = got.begin();
  for (size_t x = 0; x < p.xs.size(); ++x) {
    const Tensor at = p.Fed(p.feeds, x);
    const std::string what = absl::StrCat("order ", order, ", by ", p.x_names[x]);
    EXPECT_TRUE(order > 1 || result.gradients[x]) << what << ": " << result.why_not[x];
    std::vector<double> want;
    for (size_t k = 0; k < Coordinates(at).size(); ++k) {
      GYRE_ASSIGN_OR_RETURN(const double difference, Difference(p, f, x, k));
      want.push_back(difference);
    }
    const std::vector<double> zeros(want.size());
    const Tensor found =
        result.gradients[x] ? *next++ : FromCoordinates(zeros, at.dtype(), at.shape());
    ExpectClose(found, at, want, what);
  }
  if (order == last_order || gradients.empty()) return absl::OkStatus();
  return Check({result.program, p.feeds, p.x_names, p.xs, gradients, {}}, order + 1, last_order);
}

absl::Status CheckText(const std::string& text, const Feeds& feeds,
                       const std::vector<std::string>& xs, const std::string& y, int order) {
  GYRE_ASSIGN_OR_RETURN(const ProgramPtr program, Parse(text));
  GYRE_ASSIGN_OR_RETURN(const std::vector<Endpoint> x_endpoints, Find(*program, xs));
  GYRE_ASSIGN_OR_RETURN(const Endpoint y_endpoint, MainNames(*program).FindEndpoint(y));
  return Check({program, feeds, xs, x_endpoints, {y_endpoint}, {}}, 1, order);
}

absl::StatusOr<GradientResult> PlainGradients(const std::string& text,
                                              const std::vector<std::string>& xs,
                                              const std::string& y) {
  GYRE_ASSIGN_OR_RETURN(const ProgramPtr program, Parse(text));
  GYRE_ASSIGN_OR_RETURN(const std::vector<Endpoint> x_endpoints, Find(*program, xs));
  GYRE_ASSIGN_OR_RETURN(const Endpoint y_endpoint, MainNames(*program).FindEndpoint(y));
  return DenseGradients(program, {.ys = {y_endpoint}, .xs = x_endpoints});
}

absl::StatusOr<std::vector<Tensor>> RunGradients(const std::string& text, const Feeds& feeds,
                                                 const std::vector<std::string>& xs,
                                                 const std::string& y) {
  GYRE_ASSIGN_OR_RETURN(const GradientResult result, PlainGradients(text, xs, y));
  std::vector<Endpoint> connected;
  for (const auto& gradient : result.gradients) {
    if (gradient) connected.push_back(gradient->values);
  }
  GYRE_ASSIGN_OR_RETURN(const Evaluator g, Evaluator::Make(result.program, feeds, connected));
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> values, g.At(feeds));
  auto next = values.begin();
  std::vector<Tensor> gradients;
  gradients.reserve(result.gradients.size());
  for (const auto& gradient : result.gradients) gradients.push_back(gradient ? *next++ : Tensor());
  return gradients;
}

bool IsX(const OpCase& c, size_t i) {
  return IsNumber(c.inputs[i].dtype()) &&
         std::find(c.fixed.begin(), c.fixed.end(), static_cast<int>(i)) == c.fixed.end();
}

bool IsConstant(const OpCase& c, size_t i, Known known) {
  return known == Known::kAll && !IsX(c, i);
}

PartialShape ShapeAs(Known known, const Shape& shape) {
  if (known == Known::kAll) return shape;
  if (known == Known::kRanks) return PartialShape::UnknownOfRank(shape.rank());
  return PartialShape::Unknown();
}

constexpr Known kAllKnown[] = {Known::kAll, Known::kRanks, Known::kNothing};

}  // namespace

void ExpectGradient(const std::string& text, const Feeds& feeds, const std::vector<std::string>& xs,
                    const std::string& y, int order) {
  SCOPED_TRACE(text);
  const absl::Status status = CheckText(text, feeds, xs, y, order);
  EXPECT_TRUE(status.ok()) << status;
}

std::vector<Tensor> GradientsAt(const std::string& text, const Feeds& feeds,
                                const std::vector<std::string>& xs, const std::string& y) {
  const auto gradients = RunGradients(text, feeds, xs, y);
  EXPECT_TRUE(gradients.ok()) << gradients.status() << "\nin " << text;
  return gradients.ok() ? *gradients : std::vector<Tensor>(xs.size());
}

std::vector<std::string> GradientOps(const std::string& text, const std::vector<std::string>& xs,
                                     const std::string& y) {
  const auto result = PlainGradients(text, xs, y);
  EXPECT_TRUE(result.ok()) << result.status() << "\nin " << text;
  std::vector<std::string> ops;
  if (!result.ok()) return ops;
  const size_t before = (*Parse(text))->main().nodes.size();
  const std::vector<Node>& nodes = result->program->main().nodes;
  for (size_t i = before; i < nodes.size(); ++i) {
    if (nodes[i].op_name != "Const") ops.push_back(nodes[i].op_name);
  }
  return ops;
}

std::string OpText(const OpCase& c, Known known) {
  std::string text = "graph {\n";
  std::vector<std::string> names;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor& x = c.inputs[i];
    names.push_back(absl::StrCat("%x", i));
    absl::StrAppend(&text, "  ", names.back());
    if (IsConstant(c, i, known)) {
      absl::StrAppend(&text, " = Const() value=", WriteAttrValue(x));
    } else {
      absl::StrAppend(&text, " = Placeholder() shape=", WriteAttrValue(ShapeAs(known, x.shape())));
    }
    absl::StrAppend(&text, " : ", WriteDType(x.dtype()), "\n");
  }
  return absl::StrCat(text, "  %y = ", c.op, "(", absl::StrJoin(names, ", "), ") ", c.attrs,
                      "\n}\n");
}

Feeds OpFeeds(const OpCase& c, Known known) {
  Feeds feeds;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!IsConstant(c, i, known)) feeds.emplace_back(absl::StrCat("x", i), c.inputs[i]);
  }
  return feeds;
}

std::vector<std::string> OpXs(const OpCase& c) {
  std::vector<std::string> xs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (IsX(c, i)) xs.push_back(absl::StrCat("x", i));
  }
  return xs;
}

void ExpectOpGradient(const OpCase& c) {
  for (const Known known : kAllKnown) {
    ExpectGradient(OpText(c, known), OpFeeds(c, known), OpXs(c), c.y, c.order);
  }
}

std::vector<Tensor> OpGradients(const OpCase& c) {
  std::vector<Tensor> first;
  for (const Known known : kAllKnown) {
    std::vector<Tensor> got = GradientsAt(OpText(c, known), OpFeeds(c, known), OpXs(c), c.y);
    if (first.empty()) first = got;
    for (size_t i = 0; i < got.size(); ++i) {
      const bool same = got[i].has_value() == first[i].has_value() &&
                        (!got[i].has_value() || AttrEquals(got[i], first[i]));
      EXPECT_TRUE(same) << OpText(c, known);
    }
  }
  return first;
}

Tensor Draw::operator()(const Dims& dims, double low, double high) {
  return Uniform(generator_, DType::kDouble, Shape::Trusted(dims), low, high);
}

Tensor Draw::Complex(const Dims& dims, double low, double high) {
  return Uniform(generator_, DType::kComplex128, Shape::Trusted(dims), low, high);
}

}  // namespace gyre::testing
