#include "eager/tape.h"

#include <algorithm>
#include <utility>

#include "eager/backward.h"
#include "eager/variable.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "front/scope.h"

namespace gyre::eager {
namespace {

using gyre::internal::BuildClock;
using gyre::internal::Throw;

std::vector<Tape*>& Active() {
  static constinit thread_local std::vector<Tape*>* known = nullptr;
  if (known == nullptr) [[unlikely]] {
    static thread_local std::vector<Tape*> active;
    known = &active;
  }
  return *known;
}

// Innermost last.
std::vector<Recording::Pause*>& Pauses() {
  static thread_local std::vector<Recording::Pause*> pauses;
  return pauses;
}

bool CarriesGradient(DType dtype) {
  return IsFloating(dtype) || IsComplex(dtype) || dtype == DType::kVariant ||
         dtype == DType::kResource;
}

bool ReadsVariable(Role role) {
  return role == Role::kReadsAll || role == Role::kReadsRows || role == Role::kReadsElements;
}

bool IsOf(const Value& value, const gyre::internal::GraphState& graph) {
  const gyre::internal::Scope* scope = value.scope().get();
  while (scope->parent() != nullptr) scope = scope->parent().get();
  return scope == graph.main().get();
}

}  // namespace

Tape::~Tape() {
  if (is_recording_) std::erase(Active(), this);
}

void Tape::Start() {
  if (is_recording_) Throw(absl::FailedPreconditionError("This tape is recording already."));
  spans_.push_back({BuildClock(), UINT64_MAX});
  Active().push_back(this);
  is_recording_ = true;
}

void Tape::Stop() {
  auto& active = Active();
  const auto it = std::find(active.begin(), active.end(), this);
  if (it == active.end())
    Throw(absl::FailedPreconditionError("this recorder is not active on this thread"));
  spans_.back().end = BuildClock();
  active.erase(it);
  is_recording_ = false;
}

void Tape::Reset() {
  steps_.clear();
  watched_.clear();
  variables_.clear();
  known_variables_.clear();
  watches_.clear();
  spans_.clear();
  is_used_ = false;
  if (is_recording_) spans_.push_back({BuildClock(), UINT64_MAX});
}

void Tape::Watch(uint64_t id, const Value& symbolic) {
  watched_.insert(id);
  watches_.push_back({id, symbolic, BuildClock()});
}

bool Tape::Access(const EagerTensor& handle) { return watches_accessed_ && WatchVariable(handle); }

bool Tape::WatchVariable(const EagerTensor& handle) {
  if (!known_variables_.insert(handle.id).second) return false;
  variables_.push_back(handle);
  Watch(handle);
  return true;
}

void Tape::Use() {
  if (is_used_ && !is_persistent_) {
    Throw(absl::FailedPreconditionError(
        "A tape that is not persistent gives gradients once; make it with persistent=True."));
  }
  if (is_recording_ && !is_persistent_) Stop();
  is_used_ = true;
}

std::vector<Adjoint> Tape::Gradient(Context& context, absl::Span<const Target> targets,
                                    absl::Span<const EagerTensor> sources) {
  Use();
  return GradientOnceMore(context, targets, sources);
}

std::vector<Adjoint> Tape::GradientOnceMore(Context& context, absl::Span<const Target> targets,
                                            absl::Span<const EagerTensor> sources) const {
  HashSet<uint64_t> watched;
  for (const EagerTensor& source : sources) {
    if (IsWatched(source.id)) watched.insert(source.id);
  }
  return Backward(context, steps_, targets, sources, watched);
}

gyre::internal::TapeRecord Tape::RecordOf(const gyre::internal::GraphState& graph,
                                          absl::FunctionRef<Value(uint64_t id)> find) const {
  gyre::internal::TapeRecord record{spans_, {}};
  for (const SymbolicWatch& watch : watches_) {
    const bool is_here = watch.value.has_value() && IsOf(watch.value, graph);
    const Value value = is_here ? watch.value : find(watch.id);
    if (value.has_value()) record.watched.push_back({value, watch.since});
  }
  return record;
}

const std::vector<Tape*>& Recording::Tapes() { return Active(); }

template <typename MakeStep>
void Recording::TellThoseThatWatch(absl::Span<const EagerTensor> inputs,
                                   absl::Span<const EagerTensor> outputs, MakeStep make) {
  if (IsOn()) {
    for (Pause* const pause : Pauses()) pause->Look(inputs);
  }
  std::shared_ptr<const Step> step;
  for (Tape* tape : Active()) {
    const bool watches = std::any_of(inputs.begin(), inputs.end(), [&](const EagerTensor& input) {
      return tape->IsWatched(input.id);
    });
    if (!watches) continue;
    if (step == nullptr) step = std::make_shared<const Step>(make());
    tape->steps_.push_back(step);
    for (const EagerTensor& output : outputs) {
      if (CarriesGradient(output.dtype())) tape->watched_.insert(output.id);
    }
  }
}

void Recording::Tell(const std::shared_ptr<const EagerOp>& op, absl::Span<EagerTensor> inputs,
                     absl::Span<const EagerTensor> outputs) {
  if (ReadsVariable(op->def->traits.role) && inputs[0].owner != nullptr &&
      inputs[0].owner->is_watched()) {
    for (Tape* tape : Active()) tape->Access(inputs[0]);
  }
  if (std::none_of(outputs.begin(), outputs.end(),
                   [](const EagerTensor& output) { return CarriesGradient(output.dtype()); })) {
    return;
  }
  TellThoseThatWatch(inputs, outputs, [&] {
    for (EagerTensor& input : inputs) {
      if (input.id == 0) input.id = NewTensorId();
    }
    return Step{.op = op,
                .own = {},
                .inputs = {inputs.begin(), inputs.end()},
                .outputs = {outputs.begin(), outputs.end()}};
  });
}

void Recording::Tell(const std::shared_ptr<const OwnStep>& own,
                     absl::Span<const EagerTensor> inputs, absl::Span<const EagerTensor> outputs) {
  TellThoseThatWatch(inputs, outputs, [&] {
    return Step{.op = {},
                .own = own,
                .inputs = {inputs.begin(), inputs.end()},
                .outputs = {outputs.begin(), outputs.end()}};
  });
}

Recording::Pause::Pause() : tapes_(Active()) {
  Pauses().push_back(this);
  for (auto tape = tapes_.rbegin(); tape != tapes_.rend(); ++tape) (*tape)->Stop();
}

Recording::Pause::~Pause() {
  std::erase(Pauses(), this);
  for (Tape* tape : tapes_) {
    if (!tape->is_recording()) tape->Start();
  }
}

void Recording::Pause::Look(absl::Span<const EagerTensor> inputs) {
  for (const EagerTensor& input : inputs) {
    const bool is_watched = std::any_of(
        tapes_.begin(), tapes_.end(), [&](const Tape* tape) { return tape->IsWatched(input.id); });
    if (is_watched && seen_.insert(input.id).second) used_.push_back(input);
  }
}

}  // namespace gyre::eager
