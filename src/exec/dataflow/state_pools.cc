#include "exec/dataflow/state_pools.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace gyre::dataflow {
namespace {

// What the heap adds to a block, about.
constexpr size_t kHeapBytes = 32;
// Above this much the vectors of a frame or an activation are not kept.
constexpr size_t kKeptCapacity = 64;
// Giving back more than this takes longer than who has cancelled a run wants to wait.
constexpr size_t kFreedAtOnce = 1 << 20;

size_t BlockBytes(const FramePlan& plan) {
  return sizeof(Iteration) + plan.initial_counts.size() * sizeof(PendingCounts::Word) +
         plan.num_children * sizeof(std::atomic<Frame*>) + plan.num_inputs * sizeof(Tensor);
}

// The parts of a block, behind its header.
void LayOut(Iteration* iteration, const FramePlan& plan) {
  char* at = reinterpret_cast<char*>(iteration + 1);
  iteration->counts =
      IndexedSpan<CountIndex, PendingCounts::Word>(reinterpret_cast<PendingCounts::Word*>(at));
  at += plan.initial_counts.size() * sizeof(PendingCounts::Word);
  for (size_t i = 0; i < plan.initial_counts.size(); ++i)
    new (iteration->counts.data() + i) PendingCounts::Word(0);
  iteration->children = reinterpret_cast<std::atomic<Frame*>*>(at);
  at += plan.num_children * sizeof(std::atomic<Frame*>);
  for (int i = 0; i < plan.num_children; ++i)
    new (iteration->children + i) std::atomic<Frame*>(nullptr);
  iteration->inputs = IndexedSpan<InputSlot, Tensor>(reinterpret_cast<Tensor*>(at));
  std::uninitialized_default_construct_n(iteration->inputs.data(), plan.num_inputs);
}

// All that pools have made.
struct Made {
  Iteration* iterations;
  Frame* frames;
  Activation* activations;
};

void Free(Made made) {
  while (made.iterations != nullptr) {
    Iteration* const iteration = made.iterations;
    made.iterations = iteration->next_made;
    std::destroy_n(iteration->inputs.data(), iteration->num_inputs);
    iteration->~Iteration();
    ::operator delete(iteration);
  }
  while (made.frames != nullptr) {
    Frame* const frame = made.frames;
    made.frames = frame->next_made;
    delete frame;
  }
  while (made.activations != nullptr) {
    Activation* const activation = made.activations;
    made.activations = activation->next_made;
    delete activation;
  }
}

template <typename T>
void KeepSmall(std::vector<T>& v) {
  v.clear();
  if (v.capacity() > kKeptCapacity) v.shrink_to_fit();
}

}  // namespace

bool StatePools::Charge(size_t bytes) {
  if (!memory_.Charge(bytes + kHeapBytes)) return false;
  bytes_ += bytes + kHeapBytes;
  return true;
}

Iteration* StatePools::MakeIteration(Frame& frame) {
  const FramePlan& plan = *frame.plan;
  Iteration*& free = free_iterations_[plan.pool];
  Iteration* iteration = free;
  if (iteration != nullptr) {
    free = iteration->next_free;
  } else {
    const size_t bytes = BlockBytes(plan);
    if (!Charge(bytes)) return nullptr;
    iteration = new (::operator new(bytes)) Iteration;
    LayOut(iteration, plan);
    const FunctionPlan& function = *frame.activation->plan;
    iteration->nodes = IndexedSpan<NodeIndex, const PlanNode>(function.nodes.data());
    iteration->edges = function.edges.data();
    iteration->ranges = function.edge_ranges.data();
    iteration->num_inputs = plan.num_inputs;
    iteration->next_made = made_iterations_;
    made_iterations_ = iteration;
  }
  iteration->frame = &frame;
  iteration->next.store(nullptr, std::memory_order_relaxed);
  iteration->dead_exits.store(0, std::memory_order_relaxed);
  const std::vector<uint64_t>& counts =
      frame.is_resident ? plan.resident_counts : plan.initial_counts;
  for (size_t i = 0; i < counts.size(); ++i)
    iteration->counts.data()[i].store(counts[i], std::memory_order_relaxed);
  return iteration;
}

// Values may be left in nodes that never fired: those that still count arrivals, and those that a
// feed has filled in.
void StatePools::Recycle(Iteration* iteration) {
  const FramePlan& plan = *iteration->frame->plan;
  bool is_clean = plan.fed.empty();
  for (size_t i = 0; i < plan.initial_counts.size(); ++i)
    is_clean &= PendingCounts::HasFired(iteration->counts.data()[i]);
  for (uint32_t i = 0; !is_clean && i < iteration->num_inputs; ++i)
    DropValue(iteration->inputs.data()[i]);
  Iteration*& free = free_iterations_[iteration->frame->plan->pool];
  iteration->next_free = free;
  free = iteration;
}

Frame* StatePools::MakeFrame() {
  Frame* frame = free_frames_;
  if (frame != nullptr) {
    free_frames_ = frame->next_free;
  } else {
    if (!Charge(sizeof(Frame))) return nullptr;
    frame = new Frame;
    frame->next_made = made_frames_;
    made_frames_ = frame;
  }
  frame->parent = nullptr;
  frame->parent_iteration = nullptr;
  frame->first = frame->oldest = frame->newest = nullptr;
  frame->live = 0;
  frame->window = 1;
  frame->is_resident = false;
  frame->entered.store(false, std::memory_order_relaxed);
  for (KnownId& known : frame->known_ids)
    known.scope.store(KnownId::kNobody, std::memory_order_relaxed);
  return frame;
}

void StatePools::Recycle(Frame* frame) {
  KeepSmall(frame->waiting);
  KeepSmall(frame->invariants);
  KeepSmall(frame->resident);
  KeepSmall(frame->dead_exits);
  KeepSmall(frame->dead_variables);
  KeepSmall(frame->live_exits);
  frame->next_free = free_frames_;
  free_frames_ = frame;
}

Activation* StatePools::MakeActivation() {
  Activation* activation = free_activations_;
  if (activation != nullptr) {
    free_activations_ = activation->next_free;
  } else {
    if (!Charge(sizeof(Activation))) return nullptr;
    activation = new Activation;
    activation->next_made = made_activations_;
    made_activations_ = activation;
  }
  activation->in_use = true;
  return activation;
}

void StatePools::Recycle(Activation* activation) {
  if (activation->root->oldest != nullptr) Recycle(activation->root->oldest);
  Recycle(activation->root);
  KeepSmall(activation->args);
  KeepSmall(activation->results);
  activation->in_use = false;
  activation->next_free = free_activations_;
  free_activations_ = activation;
}

Activation* StatePools::InnermostOpen() const {
  Activation* innermost = nullptr;
  for (Activation* a = made_activations_; a != nullptr; a = a->next_made) {
    if (a->in_use && (innermost == nullptr || a->depth > innermost->depth)) innermost = a;
  }
  return innermost;
}

void StatePools::FreeAll(ThreadPool* later) {
  const Made made{std::exchange(made_iterations_, nullptr), std::exchange(made_frames_, nullptr),
                  std::exchange(made_activations_, nullptr)};
  if (later != nullptr && bytes_ > kFreedAtOnce) {
    try {
      later->Submit([made] { Free(made); }, 1);
    } catch (const std::bad_alloc&) {
      Free(made);
    }
  } else {
    Free(made);
  }
  std::fill(free_iterations_.begin(), free_iterations_.end(), nullptr);
  free_frames_ = nullptr;
  free_activations_ = nullptr;
  bytes_ = 0;
}

}  // namespace gyre::dataflow
