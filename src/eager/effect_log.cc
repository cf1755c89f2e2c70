#include "eager/effect_log.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/effects.h"
#include "analysis/same_attrs.h"
#include "eager/variable.h"
#include "eager/variable_store.h"
#include "front/error.h"

namespace gyre::eager {
namespace {

// Inputs of up to so many bytes, such as shapes and seeds, must be equal to the bit.
constexpr size_t kKnownBytes = 256;

using Scopes = std::vector<EffectLog::Scope*>;

Scopes& Open() {
  static constinit thread_local Scopes* known = nullptr;
  if (known == nullptr) [[unlikely]] {
    static thread_local Scopes open;
    known = &open;
  }
  return *known;
}

bool HasBytes(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  return dtype != DType::kString && dtype != DType::kVariant && dtype != DType::kResource;
}

std::string Known(const Tensor& input) {
  std::string known = absl::StrCat(DTypeName(input.dtype()), input.shape().ToString());
  if (input.dtype() == DType::kResource) {
    absl::StrAppend(&known, absl::Hex(reinterpret_cast<uintptr_t>(input.object())));
  } else if (HasBytes(input) && input.bytes() <= kKnownBytes) {
    known.append(static_cast<const char*>(input.raw_data()), input.bytes());
  }
  return known;
}

bool IsSame(const Tensor& a, const Tensor& b) {
  if (!a.has_value() || !b.has_value()) return a.has_value() == b.has_value();
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() == DType::kVariant || a.dtype() == DType::kResource)
    return a.object() == b.object();
  if (a.raw_data() == b.raw_data() || a.bytes() == 0) return true;
  return HasBytes(a) && std::memcmp(a.raw_data(), b.raw_data(), a.bytes()) == 0;
}

}  // namespace

RunEffects EffectsOfRun(const Program& program) {
  const Effects effects(program);
  EffectSet all;
  for (const Node& node : program.main().nodes) all |= effects.Of(node);
  constexpr unsigned kMore =
      EffectSet::kWrite | EffectSet::kTalk | EffectSet::kRandom | EffectSet::kUnclear;
  if (all.Has(kMore)) return RunEffects::kMore;
  return all.Has(EffectSet::kRead) ? RunEffects::kReads : RunEffects::kNone;
}

EffectLog::Scope::Scope(EffectLog& log, Mode mode) : log_(log), mode_(mode) {
  if (mode == Mode::kRecord) {
    log.entries_.clear();
    log.new_variable_at_ = 0;
  }
  Open().push_back(this);
}

EffectLog::Scope::~Scope() { std::erase(Open(), this); }

bool EffectLog::IsOn() { return !Open().empty(); }

int EffectLog::OrdersAsked() {
  int orders = 0;
  const Scopes& open = Open();
  for (auto scope = open.rbegin(); scope != open.rend(); ++scope) {
    if ((*scope)->mode_ == Mode::kReplay) break;
    orders += (*scope)->log_.orders_;
  }
  return orders;
}

bool EffectLog::Key::operator==(const Key& other) const {
  return op == other.op && rest == other.rest && SameAttrs(attrs, other.attrs);
}

std::string EffectLog::NameOf(const Key& key) {
  return key.op != nullptr ? key.op->name : key.rest;
}

bool EffectLog::GaveTheSame(const Entry& a, const Entry& b) {
  return a.own == b.own &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), IsSame);
}

const EffectLog::Entry* EffectLog::Replayed(const Key& key) {
  const Scopes& open = Open();
  const auto found = std::find_if(open.rbegin(), open.rend(),
                                  [](const Scope* scope) { return scope->mode_ == Mode::kReplay; });
  if (found == open.rend()) return nullptr;
  Scope& scope = **found;
  const EffectLog& log = scope.log_;
  const auto find = [&](size_t from) {
    while (from < log.entries_.size() && !(log.entries_[from].key == key)) ++from;
    return from;
  };
  const size_t at = find(scope.next_);
  if (at == log.entries_.size()) {
    gyre::internal::Throw(absl::FailedPreconditionError(absl::StrCat(
        "recompute_grad: called again for its gradient, the function runs ", NameOf(key),
        " where it ran nothing of the kind before. It must run the same ops each time, whatever "
        "the "
        "state of Python is; what it makes only once, such as variables, make before")));
  }
  const size_t again = at < log.new_variable_at_ ? find(at + 1) : log.entries_.size();
  if (again < log.entries_.size() && !GaveTheSame(log.entries_[at], log.entries_[again])) {
    gyre::internal::Throw(absl::FailedPreconditionError(absl::StrCat(
        "recompute_grad: the function made a variable when it was first called, and ran ",
        NameOf(key),
        " alike before and after that, so that it is not known which of them it runs "
        "when it is called again for its gradient. Make the variable before")));
  }
  scope.next_ = at + 1;
  return &log.entries_[at];
}

void EffectLog::Record(const Entry& entry) {
  const Scopes& open = Open();
  for (auto scope = open.rbegin(); scope != open.rend(); ++scope) {
    if ((*scope)->mode_ == Mode::kReplay) return;
    (*scope)->log_.entries_.push_back(entry);
  }
}

void EffectLog::NoteNewVariable() {
  const Scopes& open = Open();
  for (auto scope = open.rbegin(); scope != open.rend(); ++scope) {
    if ((*scope)->mode_ == Mode::kReplay) return;
    (*scope)->log_.new_variable_at_ = (*scope)->log_.entries_.size();
  }
}

void EffectLog::RunOnce(const EagerOp& op, absl::Span<const Tensor> inputs,
                        absl::Span<Tensor> outputs, absl::FunctionRef<void()> run) {
  Entry entry{.key = {.op = op.def, .attrs = op.given, .rest = {}}, .outputs = {}, .own = {}};
  for (const Tensor& input : inputs) absl::StrAppend(&entry.key.rest, Known(input), ";");
  if (const Entry* const known = Replayed(entry.key); known != nullptr) {
    std::copy(known->outputs.begin(), known->outputs.end(), outputs.begin());
  } else {
    run();
  }
  entry.outputs.assign(outputs.begin(), outputs.end());
  Record(entry);
}

std::shared_ptr<const void> EffectLog::RunOnce(
    absl::string_view name, absl::FunctionRef<std::shared_ptr<const void>()> run) {
  Entry entry{
      .key = {.op = nullptr, .attrs = {}, .rest = std::string(name)}, .outputs = {}, .own = {}};
  const Entry* const known = Replayed(entry.key);
  entry.own = known != nullptr ? known->own : run();
  Record(entry);
  return entry.own;
}

void EffectLog::RequireUnchanged(absl::string_view name, absl::Span<const EagerTensor> variables) {
  Entry entry{
      .key = {.op = nullptr, .attrs = {}, .rest = std::string(name)}, .outputs = {}, .own = {}};
  for (const EagerTensor& variable : variables)
    entry.outputs.push_back(ValueBehind(variable.value));
  if (const Entry* const known = Replayed(entry.key); known != nullptr) {
    for (size_t i = 0; i < variables.size() && i < known->outputs.size(); ++i) {
      if (IsSame(entry.outputs[i], known->outputs[i])) continue;
      const VariableOwner* const owner = variables[i].owner.get();
      gyre::internal::Throw(absl::FailedPreconditionError(absl::StrCat(
          "recompute_grad: ", name, ", which runs again for a gradient, reads the variable ",
          owner == nullptr ? "" : owner->name(),
          ", which has been changed since. Take the gradient before that, or call what "
          "recompute_grad "
          "returns in a gyre.function, which keeps what it read")));
    }
  }
  Record(entry);
}

}  // namespace gyre::eager
