#include "grad/random_programs/check_program.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "grad/gradients.h"
#include "grad/random_programs/tree_writer.h"
#include "gyre/core/session.h"
#include "ops/registry.h"
#include "support/transcript.h"
#include "tensor/format.h"

namespace gyre::testing {
namespace {

// A difference over 2h is wrong by c h² and higher powers, by which that over 4h is wrong four and
// more times: (4 D(h) - D(2h)) / 3 has no c h², and |D(h) - D(2h)| = 3 |c| h² is far more than what
// is left, as long as it is small itself. Rounding adds some 2^-53 / h of the size of the values,
// 1e-12, times what the program makes of a small error, up to some thousands.
constexpr double kStep = 1e-4;
constexpr double kRounding = 1e-7;
constexpr double kMaxDoubt = 1e-3;
// Inputs move by 2 kStep; no decision may be that close, times how steep the program is. That it
// decides alike at the ends of each difference is looked after, too.
constexpr double kMargin = 2e-3;
constexpr double kLargest = 1e3;
// Sums over iterations are in another order where a program is unrolled, and sums of sums.
constexpr double kSameSum = 1e-12;
constexpr int kDirections = 2;
// Nothing takes more than a fraction of that: what waits for ever is wrong.
constexpr int64_t kMostMilliseconds = 60'000;

using Tensors = std::vector<Tensor>;

// A program's outputs as a function of what is fed. An output that is not there is zero, of the
// shape of the x that it is the gradient of.
struct Graph {
  std::shared_ptr<const Program> program;
  std::vector<Endpoint> feeds;
  std::vector<std::optional<Endpoint>> outputs;
};

std::vector<std::string> Names(const Graph& g, const std::vector<Endpoint>& endpoints) {
  std::vector<std::string> names;
  for (const Endpoint& e : endpoints) names.push_back(g.program->main().EndpointName(e));
  return names;
}

std::vector<Endpoint> Present(const Graph& g) {
  std::vector<Endpoint> present;
  for (const auto& e : g.outputs) {
    if (e) present.push_back(*e);
  }
  return present;
}

class Function {
 public:
  static absl::StatusOr<Function> Make(const Graph& graph, const SessionOptions& options) {
    GYRE_ASSIGN_OR_RETURN(const auto session, Session::Create(graph.program, options));
    GYRE_ASSIGN_OR_RETURN(
        Session::Callable callable,
        session->Prepare(Names(graph, graph.feeds), Names(graph, Present(graph))));
    return Function(graph, std::move(callable));
  }

  // By output.
  absl::StatusOr<Tensors> At(const Tensors& feeds) const {
    GYRE_ASSIGN_OR_RETURN(const Tensors values,
                          callable_.Run(feeds, {.timeout_ms = kMostMilliseconds}));
    Tensors outputs;
    size_t next = 0;
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (graph_.outputs[i]) {
        outputs.push_back(values[next++]);
      } else {
        GYRE_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Zeros(DType::kDouble, feeds[i].shape(), {}));
        outputs.push_back(std::move(zeros));
      }
    }
    return outputs;
  }

 private:
  Function(const Graph& graph, Session::Callable callable)
      : graph_(graph), callable_(std::move(callable)) {}
  Graph graph_;
  Session::Callable callable_;
};

// The gradients, by x, of the sum of outputs * weights.
absl::StatusOr<Graph> Differentiate(const Graph& g, int num_xs, const Tensors& weights) {
  FunctionBuilder main(Ops(), g.program->main());
  GradientRequest request;
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    if (!g.outputs[i]) continue;
    request.ys.push_back(*g.outputs[i]);
    request.grad_ys.push_back(main.Constant(weights[i]));
  }
  request.xs.assign(g.feeds.begin(), g.feeds.begin() + num_xs);
  const auto program = ProgramBuilder(*g.program).SetMain(main.Build()).Build();
  GYRE_ASSIGN_OR_RETURN(const GradientResult result, DenseGradients(program, request));
  Graph gradients{result.program, g.feeds, {}};
  for (const auto& gradient : result.gradients) {
    gradients.outputs.push_back(gradient ? std::optional(gradient->values) : std::nullopt);
  }
  return gradients;
}

double Dot(const Tensors& a, const Tensors& b) {
  double sum = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    for (int64_t k = 0; k < b[i].num_elements(); ++k)
      sum += a[i].values<double>()[k] * b[i].values<double>()[k];
  }
  return sum;
}

// The first tensors moved by `by` times the direction.
Tensors Moved(const Tensors& feeds, const Tensors& direction, double by) {
  Tensors moved = feeds;
  for (size_t i = 0; i < direction.size(); ++i) {
    std::vector<double> values;
    for (int64_t k = 0; k < feeds[i].num_elements(); ++k)
      values.push_back(feeds[i].values<double>()[k] + by * direction[i].values<double>()[k]);
    moved[i] = Tensor::FromValues<double>(values, feeds[i].shape());
  }
  return moved;
}

Tensors RandomLike(const Tensors& tensors, Dice& dice) {
  Tensors random;
  for (const Tensor& t : tensors) random.push_back(dice.Numbers(t.shape(), -1, 1));
  return random;
}

// Nothing if they are the same but for the order of sums.
std::optional<std::string> Compare(const Tensors& got, const Tensors& want) {
  double scale = 1;
  for (const Tensor& t : want) {
    for (const double x : t.values<double>()) scale = std::max(scale, std::abs(x));
  }
  for (size_t i = 0; i < want.size(); ++i) {
    if (got[i].shape() != want[i].shape()) {
      return absl::StrCat("by x", i, ": shape ", got[i].shape().ToString(), ", not ",
                          want[i].shape().ToString());
    }
    for (int64_t k = 0; k < want[i].num_elements(); ++k) {
      const double a = got[i].values<double>()[k], b = want[i].values<double>()[k];
      if (std::abs(a - b) <= kSameSum * scale) continue;
      return absl::StrCat("by x", i, ", number ", k, ": ", FormatDouble(a), ", not ",
                          FormatDouble(b));
    }
  }
  return std::nullopt;
}

// Says what went wrong at which step.
absl::Status Wrong(absl::string_view step, absl::string_view what) {
  return absl::InternalError(absl::StrCat(step, ": ", what));
}

// Of a program that says nothing about gradients.
absl::Status Unfit(absl::string_view why) { return absl::AbortedError(why); }
bool IsUnfit(const absl::Status& status) { return absl::IsAborted(status); }

class Checker {
 public:
  Checker(const RandomProgram& tree, const CheckOptions& options)
      : tree_(tree), options_(options), dice_(static_cast<uint64_t>(tree.types.size())) {
    const Tensors xs(tree.feeds.begin(), tree.feeds.begin() + tree.num_xs);
    for (int i = 0; i < kDirections; ++i) directions_.push_back(RandomLike(xs, dice_));
  }

  absl::Status Run() {
    auto unrolled = Unroll(tree_, tree_.feeds, options_.max_ops);
    if (absl::IsResourceExhausted(unrolled.status())) return Unfit("too large");
    GYRE_RETURN_IF_ERROR(Annotate(unrolled.status(), "unrolling"));
    trace_ = unrolled->trace;
    GYRE_RETURN_IF_ERROR(CheckFitness(*unrolled));
    auto structured = WriteStructured(tree_);
    GYRE_RETURN_IF_ERROR(Annotate(structured.status(), "writing"));
    const Graph a = GraphOf(*structured), b = GraphOf(unrolled->written);
    for (const EngineKind engine : {EngineKind::kReference, EngineKind::kDataflow}) {
      for (const Graph* const graph : {&a, &b}) {
        GYRE_RETURN_IF_ERROR(ExpectBits(*graph, {.engine = engine}, unrolled->values,
                                        graph == &a ? "structured" : "unrolled"));
      }
    }
    GYRE_RETURN_IF_ERROR(CheckDevices("structured", a, unrolled->values));
    return CheckOrder(1, a, b, unrolled->values);
  }

  const Trace& trace() const { return trace_; }

 private:
  static Graph GraphOf(const Written& written) {
    return {written.program, written.feeds, {written.ys.begin(), written.ys.end()}};
  }

  absl::Status CheckFitness(const Unrolled& unrolled) const {
    if (trace_.margin < kMargin) return Unfit("a decision is too close");
    if (trace_.largest > kLargest) return Unfit("large numbers");
    const auto& depends = unrolled.depends;
    if (std::find(depends.begin(), depends.end(), true) == depends.end())
      return Unfit("depends on no x");
    for (const Tensors& direction : directions_) {
      for (const double by : {-2 * kStep, 2 * kStep}) {
        const auto moved = Unroll(tree_, Moved(tree_.feeds, direction, by), options_.max_ops);
        if (!moved.ok() || moved->trace.path != trace_.path) return Unfit("takes another path");
      }
    }
    return absl::OkStatus();
  }

  absl::Status ExpectBits(const Graph& graph, const SessionOptions& options, const Tensors& want,
                          absl::string_view what) const {
    const std::string step =
        absl::StrCat(what, ", ", to_string(options.engine), " window ", options.parallel.window,
                     " threads ", options.parallel.threads, " ", options.devices);
    const auto function = Function::Make(graph, options);
    GYRE_RETURN_IF_ERROR(Annotate(function.status(), step));
    const auto difference = BitDifference(function->At(tree_.feeds), want);
    return difference ? Wrong(step, *difference) : absl::OkStatus();
  }
  // `values`: of the graphs' outputs.
  absl::Status CheckOrder(int order, const Graph& structured, const Graph& unrolled,
                          const Tensors& values) {
    const std::string step = absl::StrCat("order ", order);
    const Tensors weights = RandomLike(values, dice_);
    std::vector<Graph> gradients;
    std::vector<Tensors> got;
    for (const Graph* const graph : {&structured, &unrolled}) {
      const std::string what =
          absl::StrCat(step, graph == &structured ? " structured" : " unrolled");
      auto gradient = Differentiate(*graph, tree_.num_xs, weights);
      GYRE_RETURN_IF_ERROR(Annotate(gradient.status(), what));
      const auto function = Function::Make(*gradient, {.engine = EngineKind::kReference});
      GYRE_RETURN_IF_ERROR(Annotate(function.status(), what));
      auto numbers = function->At(tree_.feeds);
      GYRE_RETURN_IF_ERROR(Annotate(numbers.status(), what));
      gradients.push_back(*std::move(gradient));
      got.push_back(*std::move(numbers));
    }
    GYRE_RETURN_IF_ERROR(CheckDifferences(step, unrolled, weights, got[1]));
    if (const auto difference = Compare(got[0], got[1]))
      return Wrong(absl::StrCat(step, ", structured and unrolled"), *difference);
    GYRE_RETURN_IF_ERROR(CheckEngines(step, gradients[0], got[0]));
    if (order == 2 || Present(gradients[0]).empty()) return absl::OkStatus();
    return CheckOrder(order + 1, gradients[0], gradients[1], got[0]);
  }

  absl::Status CheckDifferences(const std::string& step, const Graph& graph, const Tensors& weights,
                                const Tensors& gradients) const {
    GYRE_ASSIGN_OR_RETURN(const Function f,
                          Function::Make(graph, {.engine = EngineKind::kReference}));
    for (const Tensors& direction : directions_) {
      double largest = 1, d[2];
      for (const int k : {0, 1}) {
        const double h = kStep * (k + 1);
        GYRE_ASSIGN_OR_RETURN(const Tensors up, f.At(Moved(tree_.feeds, direction, h)));
        GYRE_ASSIGN_OR_RETURN(const Tensors down, f.At(Moved(tree_.feeds, direction, -h)));
        const double a = Dot(up, weights), b = Dot(down, weights);
        d[k] = (a - b) / (2 * h);
        largest = std::max({largest, std::abs(a), std::abs(d[k])});
      }
      const double want = (4 * d[0] - d[1]) / 3, doubt = std::abs(d[0] - d[1]);
      if (!(doubt < kMaxDoubt * largest)) return Unfit("too curved for differences");
      const double found = Dot(gradients, direction);
      if (std::abs(found - want) <= kRounding * largest + doubt) continue;
      return Wrong(absl::StrCat(step, ", unrolled and differences"),
                   absl::StrCat(FormatDouble(found), ", not ", FormatDouble(want), " ± ",
                                FormatDouble(doubt)));
    }
    return absl::OkStatus();
  }

  absl::Status CheckEngines(const std::string& step, const Graph& gradient,
                            const Tensors& want) const {
    if (!options_.on_all_engines) return absl::OkStatus();
    for (const int window : {1, 32}) {
      for (const int threads : {1, 2}) {
        const SessionOptions options{.engine = EngineKind::kDataflow,
                                     .parallel = {.window = window, .threads = threads}};
        GYRE_RETURN_IF_ERROR(ExpectBits(gradient, options, want, step));
      }
    }
    return CheckDevices(step, gradient, want);
  }

  // Nodes on devices drawn at random.
  absl::Status CheckDevices(const std::string& step, const Graph& graph,
                            const Tensors& want) const {
    if (!options_.on_all_engines) return absl::OkStatus();
    for (const char* const devices : {"cpu:2", "cpu:3", "cpu:1,null:2"}) {
      for (const int window : {1, 0}) {
        SessionOptions options{
            .engine = EngineKind::kDataflow, .parallel = {.window = window}, .devices = devices};
        options.testing.spread_seed =
            1 + static_cast<uint64_t>(trace_.num_ops) * tree_.types.size();
        options.soft_placement = true;
        GYRE_RETURN_IF_ERROR(ExpectBits(graph, options, want, step));
      }
    }
    return absl::OkStatus();
  }

  const RandomProgram& tree_;
  const CheckOptions& options_;
  Dice dice_;
  std::vector<Tensors> directions_;
  Trace trace_;
};

}  // namespace

Verdict CheckProgram(const RandomProgram& program, const CheckOptions& options) {
  Checker checker(program, options);
  const absl::Status status = checker.Run();
  const Verdict::Kind kind = status.ok()       ? Verdict::Kind::kGood
                             : IsUnfit(status) ? Verdict::Kind::kUnfit
                                               : Verdict::Kind::kWrong;
  return {kind, std::string(status.message()), checker.trace()};
}

}  // namespace gyre::testing
