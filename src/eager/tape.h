// Tape: what ran at once while it recorded, as far as it depends on what it watches; and gradients
// of that.
//
//   Tape tape;
//   tape.Watch(x);
//   tape.Start();
//   const EagerTensor y = context.Execute1("Mul", {x, x});
//   const Adjoint dx = tape.Gradient(context, {{y}}, {{x}})[0];  // 2 x
//
// Tapes nest: an outer one records what an inner one's Gradient computes, so derivatives of any
// order follow. Of graphs that are built meanwhile a tape notes which nodes were added while it
// recorded. Belongs to one thread as long as it records.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "base/hash_map.h"
#include "base/internal_export.h"
#include "eager/step.h"
#include "eager/tensor.h"
#include "front/tape_record.h"

namespace gyre::internal {
class GraphState;
}

namespace gyre::eager {

class Context;

// What is differentiated: the sum of all elements of the tensor, times `weight` if that is given.
struct Target {
  EagerTensor tensor;
  Adjoint weight = {};
};

class GYRE_INTERNAL_EXPORT Tape {
 public:
  // A persistent one gives gradients more than once. `watches_accessed`: variables are watched when
  // they are read.
  explicit Tape(bool is_persistent = false, bool watches_accessed = true)
      : is_persistent_(is_persistent), watches_accessed_(watches_accessed) {}
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Records what this thread does from now on, or no longer. FAILED_PRECONDITION, thrown, where
  // that changes nothing.
  void Start();
  void Stop();
  bool is_recording() const { return is_recording_; }
  // Forgets all that was recorded and watched, and that it was used.
  void Reset();

  void Watch(const EagerTensor& tensor) { Watch(tensor.id); }
  // `symbolic`: of a tensor of a graph.
  void Watch(uint64_t id, const Value& symbolic = {});
  bool IsWatched(uint64_t id) const { return watched_.contains(id); }
  // A variable is read, of which this is the handle. Says whether it is watched only now.
  bool Access(const EagerTensor& handle);
  bool WatchVariable(const EagerTensor& handle);
  // In the order in which they came to be watched.
  const std::vector<EagerTensor>& variables() const { return variables_; }

  // Of each source, in order; one that the targets do not depend on has no value. A tape that is
  // not persistent stops, and gives gradients once: FAILED_PRECONDITION, thrown, after that.
  std::vector<Adjoint> Gradient(Context& context, absl::Span<const Target> targets,
                                absl::Span<const EagerTensor> sources);
  // Its two halves, for derivatives that are made of several gradients.
  void Use();
  std::vector<Adjoint> GradientOnceMore(Context& context, absl::Span<const Target> targets,
                                        absl::Span<const EagerTensor> sources) const;

  // What it saw of a graph. `find`: the value that stands for a tensor of outside in it, if there
  // is one.
  gyre::internal::TapeRecord RecordOf(const gyre::internal::GraphState& graph,
                                      absl::FunctionRef<Value(uint64_t id)> find) const;

  const std::vector<std::shared_ptr<const Step>>& steps() const { return steps_; }

 private:
  friend class Recording;

  const bool is_persistent_;
  const bool watches_accessed_;
  bool is_recording_ = false;
  bool is_used_ = false;
  HashSet<uint64_t> watched_;
  std::vector<std::shared_ptr<const Step>> steps_;
  std::vector<EagerTensor> variables_;
  HashSet<uint64_t> known_variables_;
  // Of graphs.
  struct SymbolicWatch {
    uint64_t id = 0;
    Value value;  // if it is symbolic
    uint64_t since = 0;
  };
  std::vector<SymbolicWatch> watches_;
  std::vector<gyre::internal::TapeRecord::Span> spans_;  // the last is open while it records
};

// Those that record on this thread.
class GYRE_INTERNAL_EXPORT Recording {
 public:
  // Innermost last.
  static const std::vector<Tape*>& Tapes();
  static bool IsOn() { return !Tapes().empty(); }
  // An op has run. `inputs` without a number get one.
  static void Tell(const std::shared_ptr<const EagerOp>& op, absl::Span<EagerTensor> inputs,
                   absl::Span<const EagerTensor> outputs);
  // Something else has.
  static void Tell(const std::shared_ptr<const OwnStep>& step, absl::Span<const EagerTensor> inputs,
                   absl::Span<const EagerTensor> outputs);

  // While it lives, no tape of this thread records that did before.
  class GYRE_INTERNAL_EXPORT Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

    // What other tapes, which have been started meanwhile, could have recorded the use of, and one
    // of the paused ones watches; each once.
    const std::vector<EagerTensor>& used() const { return used_; }

   private:
    friend class Recording;
    void Look(absl::Span<const EagerTensor> inputs);

    std::vector<Tape*> tapes_;
    std::vector<EagerTensor> used_;
    HashSet<uint64_t> seen_;
  };

 private:
  template <typename MakeStep>
  static void TellThoseThatWatch(absl::Span<const EagerTensor> inputs,
                                 absl::Span<const EagerTensor> outputs, MakeStep make);
};

}  // namespace gyre::eager
