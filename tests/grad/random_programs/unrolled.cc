#include "grad/random_programs/unrolled.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/status.h"
#include "ops/evaluate.h"

namespace gyre::testing {
namespace {

constexpr int64_t kMaxElements = 100;
constexpr int kMaxNesting = 40;

struct Value {
  Tensor tensor;
  Endpoint endpoint;
  bool fed = false;  // depends on what is fed
  bool x = false;    // … on an x
};
using Values = std::vector<Value>;
using Env = std::map<Id, Value>;

bool IsDouble(const Tensor& t) { return t.dtype() == DType::kDouble; }

// How far the elements of two operands are from being equal: of any two where one is broadcast.
double Distance(const Tensor& a, const Tensor& b) {
  const auto x = a.values<double>();
  const auto y = b.values<double>();
  const bool one_by_one = a.shape() == b.shape();
  double distance = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = one_by_one ? i : 0; j < (one_by_one ? i + 1 : y.size()); ++j)
      distance = std::min(distance, std::abs(x[i] - y[j]));
  }
  return distance;
}

double DistanceFromInteger(const Tensor& t) {
  double distance = 1;
  for (const double x : t.values<double>())
    distance = std::min(distance, std::abs(x - std::round(x)));
  return distance;
}

double MarginOf(const std::string& op, const Values& inputs) {
  static const std::set<std::string>* const decide =
      new std::set<std::string>{"Less", "Greater", "Maximum", "Minimum"};
  if (inputs.empty() || !IsDouble(inputs[0].tensor)) return 1;
  if (decide->contains(op)) return Distance(inputs[0].tensor, inputs[1].tensor);
  return op == "Cast" ? DistanceFromInteger(inputs[0].tensor) : 1;
}

class Interpreter {
 public:
  Interpreter(const RandomProgram& tree, int max_ops)
      : tree_(tree), max_ops_(max_ops), main_(Ops(), "") {
    env_.cancellation = &cancellation_;
    env_.resources = &resources_;
    env_.rendezvous = &rendezvous_;
  }

  absl::StatusOr<Unrolled> Run(const std::vector<Tensor>& feeds) {
    Unrolled unrolled;
    unrolled.written.feeds = WriteFeeds(tree_, main_);
    Values args;
    for (size_t i = 0; i < feeds.size(); ++i)
      args.push_back(
          {feeds[i], unrolled.written.feeds[i], true, static_cast<int>(i) < tree_.num_xs});
    GYRE_ASSIGN_OR_RETURN(const Values results, RunBlock(tree_.main, args, {}));
    for (const Value& result : results) {
      unrolled.written.ys.push_back(result.endpoint);
      unrolled.values.push_back(result.tensor);
      unrolled.depends.push_back(result.x);
    }
    ProgramBuilder program(Ops());
    program.SetMain(main_.Build());
    unrolled.written.program = program.Build();
    unrolled.trace = std::move(trace_);
    return unrolled;
  }

 private:
  absl::StatusOr<Values> RunBlock(const Block& block, const Values& args, Env env) {
    if (++depth_ > kMaxNesting) return absl::ResourceExhaustedError("too deep a recursion");
    trace_.deepest = std::max(trace_.deepest, depth_ - 1);
    for (size_t i = 0; i < args.size(); ++i) env[block.params[i]] = args[i];
    for (const Statement& statement : block.statements) {
      GYRE_ASSIGN_OR_RETURN(const Values outputs, RunStatement(statement, env));
      for (size_t i = 0; i < outputs.size(); ++i) env[statement.outputs[i]] = outputs[i];
    }
    --depth_;
    return At(block.results, env);
  }

  static Values At(const std::vector<Id>& ids, const Env& env) {
    Values values;
    for (const Id id : ids) values.push_back(env.at(id));
    return values;
  }

  absl::StatusOr<Values> RunStatement(const Statement& statement, const Env& env) {
    trace_.ops.insert(statement.op);
    Values inputs = At(statement.inputs, env);
    switch (statement.kind) {
      case OpKind::kIf:
        return RunBranch(statement, inputs[0].tensor.scalar<bool>() ? 0 : 1, env);
      case OpKind::kCase: {
        const int last = static_cast<int>(statement.blocks.size()) - 1;
        const int choice = inputs[0].tensor.scalar<int32_t>();
        return RunBranch(statement, choice < 0 || choice > last ? last : choice, env);
      }
      case OpKind::kWhile:
        return RunWhile(statement, std::move(inputs), env);
      case OpKind::kFor:
        return RunFor(statement, std::move(inputs), env);
      case OpKind::kCall:
        return RunBlock(tree_.functions[statement.function], inputs, {});
      default:
        return RunOp(statement, std::move(inputs));
    }
  }

  absl::StatusOr<Values> RunBranch(const Statement& statement, int branch, const Env& env) {
    trace_.path.push_back(branch);
    return RunBlock(statement.blocks[branch], {}, env);
  }

  absl::StatusOr<Values> RunWhile(const Statement& statement, Values vars, const Env& env) {
    bool depends = false;
    for (int iterations = 0;; ++iterations) {
      GYRE_ASSIGN_OR_RETURN(const Values goes_on, RunBlock(statement.blocks[0], vars, env));
      depends |= goes_on[0].fed;
      if (!goes_on[0].tensor.scalar<bool>()) return EndLoop(iterations, depends, std::move(vars));
      GYRE_ASSIGN_OR_RETURN(vars, RunBlock(statement.blocks[1], vars, env));
    }
  }

  absl::StatusOr<Values> RunFor(const Statement& statement, const Values& inputs, const Env& env) {
    const int32_t limit = inputs[1].tensor.scalar<int32_t>();
    const int32_t step = inputs[2].tensor.scalar<int32_t>();
    Values vars(inputs.begin() + 3, inputs.end());
    int iterations = 0;
    for (int32_t i = inputs[0].tensor.scalar<int32_t>(); step > 0 ? i < limit : i > limit;
         i += step) {
      const Value index{Tensor::Scalar(i), main_.Constant(Tensor::Scalar(i)), inputs[0].fed};
      vars.insert(vars.begin(), index);
      GYRE_ASSIGN_OR_RETURN(vars, RunBlock(statement.blocks[0], vars, env));
      ++iterations;
    }
    return EndLoop(iterations, inputs[0].fed || inputs[1].fed, std::move(vars));
  }

  Values EndLoop(int iterations, bool depends, Values vars) {
    trace_.path.push_back(iterations);
    trace_.iterations.push_back(iterations);
    if (depends) ++trace_.data_dependent_loops;
    return vars;
  }

  absl::StatusOr<Values> RunOp(const Statement& statement, Values inputs) {
    if (++trace_.num_ops > max_ops_) return absl::ResourceExhaustedError("too many ops");
    trace_.margin = std::min(trace_.margin, MarginOf(statement.op, inputs));
    Value common;
    std::vector<Tensor> tensors;
    std::vector<Endpoint> endpoints;
    for (Value& input : inputs) {
      tensors.push_back(std::move(input.tensor));
      endpoints.push_back(input.endpoint);
      common.fed |= input.fed;
      common.x |= input.x;
    }
    GYRE_ASSIGN_OR_RETURN(const NodeId id, main_.Add(statement.op, endpoints, statement.attrs));
    std::vector<Tensor> results;
    if (const Tensor* const value = statement.attrs.Get<Tensor>("value")) {
      results.push_back(*value);
    } else {
      GYRE_ASSIGN_OR_RETURN(results, EvaluateNode(Ops(), main_.node(id), std::move(tensors), env_));
    }
    Values outputs;
    for (size_t i = 0; i < results.size(); ++i) {
      GYRE_RETURN_IF_ERROR(Watch(results[i]));
      outputs.push_back(
          {std::move(results[i]), {id, static_cast<int32_t>(i)}, common.fed, common.x});
    }
    return outputs;
  }

  absl::Status Watch(const Tensor& t) {
    if (t.num_elements() > kMaxElements) return absl::ResourceExhaustedError("too large a tensor");
    if (!IsDouble(t)) return absl::OkStatus();
    for (const double x : t.values<double>()) {
      // What is no number is larger than all.
      if (!(std::abs(x) <= trace_.largest))
        trace_.largest = std::isfinite(x) ? std::abs(x) : HUGE_VAL;
    }
    return absl::OkStatus();
  }

  const RandomProgram& tree_;
  const int max_ops_;
  FunctionBuilder main_;
  Cancellation cancellation_;
  ResourceStore resources_;
  LocalRendezvous rendezvous_;
  RunEnv env_;
  int depth_ = 0;
  Trace trace_;
};

}  // namespace

absl::StatusOr<Unrolled> Unroll(const RandomProgram& program, const std::vector<Tensor>& feeds,
                                int max_ops) {
  return Interpreter(program, max_ops).Run(feeds);
}

}  // namespace gyre::testing
