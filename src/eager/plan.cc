#include "eager/plan.h"

#include <algorithm>
#include <map>

#include "base/fork.h"
#include "base/status.h"
#include "eager/context.h"
#include "eager/tape.h"
#include "front/error.h"
#include "front/op_call.h"

namespace gyre::eager {
namespace {

using gyre::internal::OpCall;
using gyre::internal::Throw;
using gyre::internal::ValueOrThrow;

const std::source_location kNowhere;

// Gradients that a tape computed, as a step of the tapes around it.
class GradientStep final : public OwnStep {
 public:
  GradientStep(Context& context, std::shared_ptr<const Plan> plan, std::vector<EagerTensor> memory)
      : context_(context), plan_(std::move(plan)), memory_(std::move(memory)) {}

  bool GoesBack() const override { return false; }
  std::vector<Adjoint> Backward(absl::Span<const EagerTensor>, absl::Span<const EagerTensor>,
                                std::vector<Adjoint>) const override {
    Throw(BugError("a gradient does not go back by itself"));
  }
  Key key() const override { return {plan_.get(), 0}; }
  std::shared_ptr<const OwnStep> WithoutMemory() const override {
    return std::make_shared<const GradientStep>(context_, plan_, std::vector<EagerTensor>());
  }
  absl::Span<const EagerTensor> memory() const override { return memory_; }
  std::vector<Value> Replay(PlanGraph& graph, const std::vector<Value>& inputs,
                            std::vector<Value>& known) const override {
    const auto all = absl::MakeConstSpan(inputs);
    std::vector<Value> flat;
    for (const SparseGradient& gradient :
         plan_->Build(context_, graph, all.first(plan_->num_leaves()),
                      all.subspan(plan_->num_leaves()), known)) {
      if (!gradient.values.has_value()) continue;
      flat.push_back(gradient.values);
      if (!gradient.is_sparse()) continue;
      flat.push_back(gradient.indices);
      flat.push_back(gradient.shape);
    }
    return flat;
  }

 private:
  Context& context_;
  const std::shared_ptr<const Plan> plan_;
  const std::vector<EagerTensor> memory_;
};

// How many of the inputs belong to a formal one.
size_t SizeOf(const ArgDef& arg, const AttrMap& attrs) {
  if (!arg.number_attr.empty())
    return static_cast<size_t>(attrs.GetOr<int64_t>(arg.number_attr, 1));
  if (arg.type_list_attr.empty()) return 1;
  const auto* types = attrs.Get<std::vector<DType>>(arg.type_list_attr);
  return types == nullptr ? 1 : types->size();
}

std::vector<Value> AddOp(const PlanStep& step, const std::vector<Value>& values) {
  OpCall call(step.op->name, kNowhere);
  size_t next = 0;
  for (const ArgDef& arg : step.op->inputs) {
    std::vector<Operand> operands;
    for (size_t count = SizeOf(arg, *step.attrs); count > 0; --count) {
      const PlanStep::Input& input = step.inputs.at(next++);
      if (input.number < 0) {
        operands.emplace_back(input.literal, kNowhere);
      } else {
        operands.emplace_back(values[input.number], kNowhere);
      }
    }
    call.In(operands);
  }
  for (const auto& [attr, value] : *step.attrs) call.Attr(attr, value);
  return call.All();
}

std::vector<EagerTensor> MemoryOf(const Segment& segment) {
  std::vector<EagerTensor> memory;
  for (const Segment::Numbered& known : segment.known()) memory.push_back(known.tensor);
  memory.insert(memory.end(), segment.memories().begin(), segment.memories().end());
  return memory;
}

}  // namespace

Plan::Plan(Context& context, const Segment& segment, bool is_weighted) : is_weighted_(is_weighted) {
  for (PlanStep step : segment.steps()) {
    if (step.own != nullptr) step.own = step.own->WithoutMemory();
    steps_.push_back(std::move(step));
  }
  const auto leaf_of = [](const Segment::Numbered& value) {
    const bool is_handle = value.tensor.dtype() == DType::kResource;
    return Leaf{.number = value.number,
                .dtype = value.tensor.dtype(),
                .shape = PartialShape(value.tensor.value.shape()),
                .handle = is_handle ? value.tensor : EagerTensor()};
  };
  for (const Segment::Numbered& leaf : segment.leaves()) leaves_.push_back(leaf_of(leaf));
  for (const Segment::Numbered& y : segment.ys()) {
    ys_.push_back(leaf_of(y));
    ys_.back().handle = {};
  }
  for (const Segment::Numbered& x : segment.xs()) xs_.push_back(x.number);
  for (const Segment::Numbered& known : segment.known()) known_.push_back(known.number);
  Trace(context);
}

std::vector<SparseGradient> Plan::Build(Context& context, PlanGraph& graph,
                                        absl::Span<const Value> leaves, absl::Span<const Value> dys,
                                        std::vector<Value>& known) const {
  std::vector<Value> values;
  const auto set = [&](int number, const Value& value) {
    if (static_cast<size_t>(number) >= values.size()) values.resize(number + 1);
    if (!values[number].has_value()) values[number] = value;
  };
  for (size_t i = 0; i < leaves_.size(); ++i) set(leaves_[i].number, leaves[i]);
  std::vector<Value> nested;
  for (const PlanStep& step : steps_) {
    std::vector<Value> results;
    if (step.op != nullptr) {
      results = AddOp(step, values);
    } else {
      std::vector<Value> inputs;
      for (const PlanStep::Input& input : step.inputs) inputs.push_back(values[input.number]);
      results = step.own->Replay(graph, inputs, nested);
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) set(step.outputs[i], results.at(i));
  }
  std::vector<Value> ys;
  std::vector<Source> xs;
  for (const Leaf& y : ys_) ys.push_back(values[y.number]);
  for (const int x : xs_) xs.emplace_back(values[x]);
  GradientOptions options{.unconnected = Unconnected::kNothing};
  if (is_weighted_) options.grad_ys = {dys.begin(), dys.end()};
  std::vector<SparseGradient> found;
  if (!xs.empty())
    context.host().Prepare([&] { found = sparse_gradients(ys, xs, options, kNowhere); });
  for (const int number : known_) known.push_back(values[number]);
  known.insert(known.end(), nested.begin(), nested.end());
  return found;
}

void Plan::Trace(Context& context) {
  const std::unique_ptr<PlanGraph> graph = context.host().NewPlanGraph();
  std::vector<Value> leaves, dys, known, feeds;
  for (const Leaf& leaf : leaves_) {
    if (leaf.handle.has_value()) {
      leaves.push_back(graph->HandleOf(leaf.handle));
    } else {
      leaves.push_back(graph->graph().placeholder(leaf.dtype, leaf.shape, "", kNowhere));
      feeds.push_back(leaves.back());
    }
  }
  for (const Leaf& y : ys_) {
    if (!is_weighted_) break;
    dys.push_back(graph->graph().placeholder(y.dtype, y.shape, "", kNowhere));
  }
  const std::vector<SparseGradient> found = Build(context, *graph, leaves, dys, known);
  for (const SparseGradient& gradient : found) {
    forms_.push_back(!gradient.values.has_value() ? Form::kNone
                     : gradient.is_sparse()       ? Form::kRows
                                                  : Form::kDense);
    for (const Value& value : {gradient.values, gradient.indices, gradient.shape}) {
      if (value.has_value()) fetches_.push_back(value.name());
    }
  }
  feeds.insert(feeds.end(), dys.begin(), dys.end());
  feeds.insert(feeds.end(), known.begin(), known.end());
  for (const PlanGraph::Capture& capture : graph->Captures()) {
    feeds.push_back(capture.inner);
    captured_.push_back(capture.outer);
  }
  handles_ = graph->Handles();
  // Nested gradients may know one tensor twice.
  HashSet<std::string> fed;
  for (size_t i = 0; i < feeds.size(); ++i) {
    std::string name = feeds[i].name();
    if (!fed.insert(name).second) continue;
    order_.push_back(i);
    feeds_.push_back(std::move(name));
  }
  program_ = graph->graph().program();
}

std::shared_ptr<const Session::Callable> Plan::Compiled(Context& context) const {
  {
    const NoFork no_fork;
    const std::lock_guard lock(mutex_);
    if (callable_ != nullptr && version_ == context.version()) return callable_;
  }
  const uint64_t version = context.version();
  const auto compile = [&]() -> absl::StatusOr<Session::Callable> {
    GYRE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                          context.session()->WithProgram(program_));
    return session->Prepare(feeds_, fetches_);
  };
  std::shared_ptr<const Session::Callable> made;
  context.host().Prepare(
      [&] { made = std::make_shared<const Session::Callable>(ValueOrThrow(compile())); });
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  callable_ = made;
  version_ = version;
  return made;
}

std::vector<Tensor> Plan::Feeds(const Segment& segment, const EagerTensors& dys) const {
  std::vector<const Tensor*> all;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (!leaves_[i].handle.has_value()) all.push_back(&segment.leaves()[i].tensor.value);
  }
  for (const EagerTensor& dy : dys) all.push_back(&dy.value);
  for (const Segment::Numbered& known : segment.known()) all.push_back(&known.tensor.value);
  for (const EagerTensor& memory : segment.memories()) all.push_back(&memory.value);
  for (const EagerTensor& captured : captured_) all.push_back(&captured.value);
  std::vector<Tensor> feeds;
  feeds.reserve(order_.size());
  for (const size_t i : order_) feeds.push_back(*all.at(i));
  return feeds;
}

std::vector<Adjoint> Plan::Packed(const std::vector<EagerTensor>& found) const {
  std::vector<Adjoint> adjoints(forms_.size());
  auto next = found.begin();
  for (size_t i = 0; i < forms_.size(); ++i) {
    if (forms_[i] == Form::kNone) continue;
    adjoints[i].values = *next++;
    if (forms_[i] == Form::kDense) continue;
    adjoints[i].indices = *next++;
    adjoints[i].shape = *next++;
  }
  return adjoints;
}

std::vector<Adjoint> Plan::Run(Context& context, const Segment& segment,
                               const EagerTensors& dys) const {
  const std::shared_ptr<const Session::Callable> callable = Compiled(context);
  const std::vector<Tensor> feeds = Feeds(segment, dys);
  Cancellation cancellation;
  const RunOptions options{.cancellation = &cancellation, .observer = TheNanTrap()};
  absl::StatusOr<std::vector<Tensor>> results = absl::UnknownError("has not run");
  context.host().RunProgram(cancellation, [&] {
    results = callable->Run(feeds, options);
    return results.status();
  });
  std::vector<EagerTensor> found;
  for (Tensor& result : ValueOrThrow(std::move(results))) {
    if (!result.has_value()) {
      Throw(absl::FailedPreconditionError("a result was not computed: its branch was not taken"));
    }
    found.emplace_back(std::move(result));
  }
  if (Recording::IsOn()) {
    EagerTensors inputs;
    for (const Segment::Numbered& leaf : segment.leaves()) inputs.push_back(leaf.tensor);
    inputs.insert(inputs.end(), dys.begin(), dys.end());
    Recording::Tell(
        std::make_shared<const GradientStep>(context, shared_from_this(), MemoryOf(segment)),
        inputs, found);
  }
  return Packed(found);
}

std::shared_ptr<const Plan> PlanCache::Find(Context& context, const Segment& segment,
                                            bool is_weighted) {
  PlanKey key = segment.key(is_weighted);
  {
    const NoFork no_fork;
    const std::lock_guard lock(mutex_);
    if (const auto it = by_key_.find(key); it != by_key_.end()) {
      ++hits_;
      plans_.splice(plans_.begin(), plans_, it->second);
      return it->second->second;
    }
  }
  auto plan = std::make_shared<const Plan>(context, segment, is_weighted);
  std::list<Entry> gone;  // destroyed without the lock: a host's steps may run anything then
  const NoFork no_fork;
  const std::lock_guard lock(mutex_);
  ++misses_;
  if (const auto it = by_key_.find(key); it != by_key_.end())  // another thread was quicker
    return it->second->second;
  plans_.emplace_front(key, plan);
  by_key_.emplace(std::move(key), plans_.begin());
  if (plans_.size() > kMost) {
    by_key_.erase(plans_.back().first);
    gone.splice(gone.begin(), plans_, std::prev(plans_.end()));
  }
  return plan;
}

size_t PlanCache::size() const {
  const std::lock_guard lock(mutex_);
  return plans_.size();
}

int64_t PlanCache::hits() const {
  const std::lock_guard lock(mutex_);
  return hits_;
}

int64_t PlanCache::misses() const {
  const std::lock_guard lock(mutex_);
  return misses_;
}

}  // namespace gyre::eager
