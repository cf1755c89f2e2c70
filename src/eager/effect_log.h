// EffectLog: what ops with effects gave to a function, so that it can be called again for what was
// not kept of it. Called again it reads variables as they were, draws the same random numbers, and
// changes and prints nothing.
//
//   EffectLog log(1);
//   { const EffectLog::Scope first(log, EffectLog::Mode::kRecord); y = f(x); }
//   { const EffectLog::Scope again(log, EffectLog::Mode::kReplay); y = f(x); }
//
// Scopes nest, as the calls do: what a scope that replays gives is recorded by those within it.
// Not thread-safe; a scope sees the ops of its own thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/internal_export.h"
#include "eager/eager_op.h"
#include "eager/tensor.h"
#include "ir/program.h"

namespace gyre::eager {

// What a run of a program does beside computing values.
enum class RunEffects : uint8_t { kNone, kReads, kMore };
GYRE_INTERNAL_EXPORT RunEffects EffectsOfRun(const Program& program);

class GYRE_INTERNAL_EXPORT EffectLog {
 public:
  // `orders`: of how many derivatives it may be asked, one after the other.
  explicit EffectLog(int orders) : orders_(orders) {}

  enum class Mode : uint8_t { kRecord, kReplay };
  class GYRE_INTERNAL_EXPORT Scope {
   public:
    // `log` must outlive it. Recording forgets what was recorded before.
    Scope(EffectLog& log, Mode mode);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class EffectLog;
    EffectLog& log_;
    const Mode mode_;
    size_t next_ = 0;  // of what is replayed
  };

  // Whether this thread is in a scope.
  static bool IsOn();
  // The orders of all logs that record what runs now.
  static int OrdersAsked();

  // Calls `run`, which sets the outputs, or sets them as they were. FAILED_PRECONDITION, thrown,
  // where nothing like it was recorded.
  static void RunOnce(const EagerOp& op, absl::Span<const Tensor> inputs,
                      absl::Span<Tensor> outputs, absl::FunctionRef<void()> run);
  // The same of what is no op, by name: what `run` returns, or returned.
  static std::shared_ptr<const void> RunOnce(absl::string_view name,
                                             absl::FunctionRef<std::shared_ptr<const void>()> run);
  // What is called `name` reads these variables, and runs each time. FAILED_PRECONDITION, thrown,
  // where they are not what they were.
  static void RequireUnchanged(absl::string_view name, absl::Span<const EagerTensor> variables);
  // A variable was made: what was recorded before may have been for its value, and so may be
  // missing when all runs again.
  static void NoteNewVariable();

 private:
  struct Key {
    const OpDef* op = nullptr;  // null: no op
    AttrMap attrs;
    std::string rest;  // the name of what is no op; what inputs are known by
    bool operator==(const Key& other) const;
  };
  struct Entry {
    Key key;
    std::vector<Tensor> outputs;
    std::shared_ptr<const void> own;
  };

  static std::string NameOf(const Key& key);
  static bool GaveTheSame(const Entry& a, const Entry& b);
  // What the innermost scope that replays has of this; null if none replays.
  static const Entry* Replayed(const Key& key);
  static void Record(const Entry& entry);

  const int orders_;
  std::vector<Entry> entries_;
  size_t new_variable_at_ = 0;  // entries before the last variable was made
};

}  // namespace gyre::eager
