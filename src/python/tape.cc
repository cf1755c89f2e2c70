#include "python/tape.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eager/effect_log.h"
#include "eager/tape.h"
#include "front/error.h"
#include "python/arrays/items.h"
#include "python/execute.h"
#include "python/graph.h"
#include "python/lines.h"
#include "python/settings.h"
#include "python/signals/interrupt.h"

namespace gyre::python {
namespace {

using eager::Adjoint;
using eager::EagerTensor;
using eager::Recording;

struct PyTape {
  eager::Tape tape;
};

eager::Tape& TapeOf(nb::handle self) { return nb::cast<PyTape&>(self).tape; }

// ---- Between Python and C++

nb::list ListOf(absl::Span<const EagerTensor> tensors) {
  nb::list list;
  for (const EagerTensor& tensor : tensors) list.append(WrapEager(tensor));
  return list;
}

std::vector<EagerTensor> TensorsOf(nb::handle list, absl::string_view what) {
  std::vector<EagerTensor> tensors;
  for (const nb::handle item : ItemsOf(list, what)) {
    RequireEager(item, what);
    tensors.push_back(ToEager(*AsTensor(item)));
  }
  return tensors;
}

// A tensor, the three of IndexedSlices, None, or what becomes a tensor.
Adjoint ToAdjoint(nb::handle value) {
  Adjoint adjoint;
  if (value.is_none()) return adjoint;
  const bool is_sparse = AsTensor(value) == nullptr && nb::hasattr(value, "dense_shape") &&
                         nb::hasattr(value, "indices");
  const auto tensor_of = [](nb::handle part) {
    const nb::object converted = Convert(part);
    return ToEager(*AsTensor(converted));
  };
  if (!is_sparse) {
    adjoint.values = tensor_of(value);
    return adjoint;
  }
  adjoint.values = tensor_of(value.attr("values"));
  adjoint.indices = tensor_of(value.attr("indices"));
  const nb::object shape = value.attr("dense_shape");
  if (!shape.is_none()) adjoint.shape = tensor_of(shape);
  return adjoint;
}

// A tensor, (values, indices, dense_shape) of rows, or None.
nb::object ToPython(const Adjoint& adjoint) {
  if (!adjoint.has_value()) return nb::none();
  nb::object values = WrapEager(adjoint.values);
  if (!adjoint.is_sparse()) return values;
  return nb::make_tuple(values, WrapEager(adjoint.indices),
                        adjoint.shape.has_value() ? WrapEager(adjoint.shape) : nb::none());
}

nb::list ToPython(const std::vector<Adjoint>& adjoints) {
  nb::list list;
  for (const Adjoint& adjoint : adjoints) list.append(ToPython(adjoint));
  return list;
}

// ---- The graph of a plan

// All nodes of a plan are of the line that asks for its gradient. Needs no GIL.
std::string& PlanLine() {
  static thread_local std::string line;
  return line;
}
std::string ThePlanLine() { return PlanLine(); }

class PythonPlanGraph final : public eager::PlanGraph {
 public:
  PythonPlanGraph() : core_(std::make_shared<GraphCore>("gradient", false)) {
    BeginTrace();
    current_.emplace(core_);  // sets the provider of lines
    PlanLine() = gyre::internal::LineOf({});
    provider_ = gyre::internal::SetLineProvider(&ThePlanLine);
  }
  ~PythonPlanGraph() override {
    gyre::internal::SetLineProvider(provider_);
    current_.reset();
    EndTrace();
  }

  Graph& graph() override { return core_->graph(); }
  Value HandleOf(const EagerTensor& handle) override { return core_->Capture(WrapEager(handle)); }
  std::vector<Capture> Captures() const override {
    std::vector<Capture> captures;
    for (const GraphCore::CapturedTensor& captured : core_->captures())
      captures.push_back({ToEager(*AsTensor(captured.outer)), captured.inner});
    return captures;
  }
  std::vector<EagerTensor> Handles() const override {
    std::vector<EagerTensor> handles;
    for (const GraphCore::CapturedTensor& variable : core_->variables())
      handles.push_back(ToEager(*AsTensor(variable.outer)));
    return handles;
  }

  // What `replay` adds to it.
  std::vector<Value> Traced(nb::handle replay, const std::vector<Value>& inputs) {
    gyre::internal::SetLineProvider(provider_);
    const nb::object results = replay(WrapAll(inputs, core_));
    gyre::internal::SetLineProvider(&ThePlanLine);
    std::vector<Value> values;
    for (const nb::handle result : ItemsOf(results, "results"))
      values.push_back(ValueIn(*core_, result));
    return values;
  }

 private:
  const std::shared_ptr<GraphCore> core_;
  std::optional<CurrentGraphScope> current_;
  gyre::internal::LineProvider provider_ = nullptr;
};

// ---- What Python records

// An object with `backward(inputs, outputs, dys)`, which goes back unless its `goes_back` is false;
// or one that a plan holds, with `replay(inputs)` and, if it holds values, `without_memory()`. Made
// and destroyed with the GIL held.
class PythonStep final : public eager::OwnStep {
 public:
  explicit PythonStep(nb::object what) : what_(std::move(what)) {}

  bool GoesBack() const override {
    return nb::hasattr(what_, "backward") &&
           (!nb::hasattr(what_, "goes_back") || nb::cast<bool>(what_.attr("goes_back")));
  }
  std::vector<Adjoint> Backward(absl::Span<const EagerTensor> inputs,
                                absl::Span<const EagerTensor> outputs,
                                std::vector<Adjoint> dys) const override {
    const nb::object found = what_.attr("backward")(ListOf(inputs), ListOf(outputs), ToPython(dys));
    std::vector<Adjoint> adjoints;
    for (const nb::handle adjoint : ItemsOf(found, "gradients"))
      adjoints.push_back(ToAdjoint(adjoint));
    if (adjoints.size() != inputs.size())
      ThrowValueError(absl::StrCat(adjoints.size(), " gradients for ", inputs.size(), " inputs"));
    return adjoints;
  }

  Key key() const override {
    if (!nb::hasattr(what_, "key")) return {what_.ptr(), 0};
    const nb::object key = what_.attr("key");
    return {reinterpret_cast<const void*>(nb::cast<uintptr_t>(key[0])),  // the id of an object
            nb::cast<int64_t>(key[1])};
  }
  std::shared_ptr<const OwnStep> WithoutMemory() const override {
    return std::make_shared<const PythonStep>(
        nb::hasattr(what_, "without_memory") ? what_.attr("without_memory")() : what_);
  }
  std::vector<Value> Replay(eager::PlanGraph& graph, const std::vector<Value>& inputs,
                            std::vector<Value>&) const override {
    return static_cast<PythonPlanGraph&>(graph).Traced(what_.attr("replay"), inputs);
  }

 private:
  const nb::object what_;
};

void Record(nb::handle what, nb::handle inputs, nb::handle outputs) {
  const std::vector<EagerTensor> in = TensorsOf(inputs, "an input");
  const std::vector<EagerTensor> out = TensorsOf(outputs, "an output");
  if (Recording::IsOn())
    Recording::Tell(std::make_shared<const PythonStep>(nb::borrow(what)), in, out);
}

// ---- Tapes

// What a tape says that it cannot do, as an exception of Python.
template <typename F>
void OrRaise(PyObject* type, F&& change) {
  try {
    change();
  } catch (const Error& error) {
    if (error.status().code() != absl::StatusCode::kFailedPrecondition) throw;
    PyErr_SetString(type, std::string(error.status().message()).c_str());
    throw nb::python_error();
  }
}

// A tape that records has a reference of its own.
void Start(nb::handle self) {
  OrRaise(PyExc_ValueError, [&] { TapeOf(self).Start(); });
  self.inc_ref();
}

void Stop(nb::handle self) {
  OrRaise(PyExc_ValueError, [&] { TapeOf(self).Stop(); });
  self.dec_ref();
}

void Use(nb::handle self) {
  const bool recorded = TapeOf(self).is_recording();
  OrRaise(PyExc_RuntimeError, [&] { TapeOf(self).Use(); });
  if (recorded && !TapeOf(self).is_recording()) self.dec_ref();
}

void WatchVariable(PyTape& self, nb::handle handle, nb::handle stand_in) {
  const bool is_new =
      self.tape.WatchVariable(ToEager(RequireTensor(handle, "the handle of a variable")));
  if (!is_new || stand_in.is_none()) return;
  const PyTensor& tensor = RequireTensor(stand_in, "what stands for a variable");
  self.tape.Watch(tensor.id, tensor.symbolic);
}

void Accessed(nb::handle handle, nb::handle stand_in) {
  const EagerTensor variable = ToEager(RequireTensor(handle, "the handle of a variable"));
  for (eager::Tape* tape : Recording::Tapes()) {
    if (!tape->Access(variable) || stand_in.is_none()) continue;
    const PyTensor& tensor = RequireTensor(stand_in, "what stands for a variable");
    tape->Watch(tensor.id, tensor.symbolic);
  }
}

// Of each tensor, whether a tape that records watches it; and how many tapes watch some.
nb::tuple WatchedBy(nb::handle tensors) {
  std::vector<bool> watched;
  for (const nb::handle tensor : ItemsOf(tensors, "tensors")) {
    const uint64_t id = RequireTensor(tensor, "a tensor").id;
    bool any = false;
    for (const eager::Tape* tape : Recording::Tapes()) any |= tape->IsWatched(id);
    watched.push_back(any);
  }
  int64_t count = 0;
  for (const eager::Tape* tape : Recording::Tapes()) {
    bool any = false;
    for (const nb::handle tensor : ItemsOf(tensors, "tensors"))
      any |= tape->IsWatched(AsTensor(tensor)->id);
    count += any ? 1 : 0;
  }
  nb::list flags;
  for (const bool is_watched : watched) flags.append(is_watched);
  return nb::make_tuple(nb::tuple(flags), count);
}

// targets: pairs of a tensor and its weight, or None. sources: tensors, or None.
nb::list Gradient(PyTape& self, nb::handle targets, nb::handle sources) {
  std::vector<eager::Target> ys;
  for (const nb::handle pair : ItemsOf(targets, "targets")) {
    const nb::object y = pair[0];
    RequireEager(y, "a target");
    ys.push_back({ToEager(*AsTensor(y)), ToAdjoint(nb::object(pair[1]))});
  }
  std::vector<EagerTensor> xs;
  for (const nb::handle source : ItemsOf(sources, "sources")) {
    if (!source.is_none()) RequireEager(source, "a source");
    xs.push_back(source.is_none() ? EagerTensor() : ToEager(*AsTensor(source)));
  }
  return ToPython(self.tape.GradientOnceMore(TheContext(), ys, xs));
}

// A context manager.
struct PausedTapes {
  std::optional<Recording::Pause> pause;
};

// ---- What runs again

struct PyEffectLog {
  explicit PyEffectLog(int orders) : log(orders) {}
  PyEffectLog(const PyEffectLog&) = delete;

  eager::EffectLog log;
};

// A context manager, of one thread; several may replay one log.
struct PyEffectScope {
  nb::object log;  // keeps it alive
  eager::EffectLog::Mode mode;
  std::optional<eager::EffectLog::Scope> scope = std::nullopt;

  void Enter() { scope.emplace(nb::cast<PyEffectLog&>(log).log, mode); }
  void Exit() { scope.reset(); }
};

PyEffectScope* ScopeOf(nb::handle log, eager::EffectLog::Mode mode) {
  return new PyEffectScope{.log = nb::borrow(log), .mode = mode};
}

nb::object RunOnce(nb::handle name, nb::handle compute) {
  const auto found =
      eager::EffectLog::RunOnce(TextOf(name, "a name"), [&]() -> std::shared_ptr<const void> {
        return std::make_shared<const nb::object>(
            compute(std::max(eager::EffectLog::OrdersAsked(), 1)));
      });
  return *static_cast<const nb::object*>(found.get());
}

void RequireUnchanged(nb::handle name, nb::handle variables) {
  eager::EffectLog::RequireUnchanged(TextOf(name, "a name"), TensorsOf(variables, "a variable"));
}

}  // namespace

std::unique_ptr<eager::PlanGraph> NewPlanGraph() { return std::make_unique<PythonPlanGraph>(); }

gyre::internal::TapeRecord RecordOf(nb::handle tape, const GraphCore& graph) {
  return TapeOf(tape).RecordOf(*graph.state(), [&](uint64_t id) { return graph.FindCaptured(id); });
}

void BindTapes(nb::module_& m) {
  nb::class_<PyTape>(m, "Tape", nb::is_final(), nb::is_weak_referenceable(),
                     "What one gradient tape sees.")
      .def(
          "__init__",
          [](PyTape* self, bool persistent, bool watches_accessed) {
            new (self) PyTape{.tape = eager::Tape(persistent, watches_accessed)};
          },
          nb::arg("persistent") = false, nb::arg("watches_accessed") = true)
      .def_prop_ro("recording", [](PyTape& self) { return self.tape.is_recording(); })
      .def_prop_ro("variables", [](PyTape& self) { return ListOf(self.tape.variables()); })
      .def("watch",
           [](PyTape& self, nb::handle tensor) {
             const PyTensor& watched = RequireTensor(tensor, "what is watched");
             self.tape.Watch(watched.id, watched.symbolic);
           })
      .def("watch_variable", &WatchVariable, nb::arg("handle"), nb::arg("stand_in").none())
      .def("is_watched",
           [](PyTape& self, nb::handle tensor) {
             return self.tape.IsWatched(RequireTensor(tensor, "a tensor").id);
           })
      .def("start", &Start)
      .def("stop", &Stop)
      .def("use", &Use)
      .def("reset", [](PyTape& self) { self.tape.Reset(); })
      .def("gradient", &Gradient, nb::arg("targets"), nb::arg("sources"));
  nb::class_<PausedTapes>(m, "PausedTapes", nb::is_final(),
                          "Context manager: no tape of this thread records that did before.")
      .def(nb::init<>())
      .def("__enter__",
           [](nb::handle self) {
             nb::cast<PausedTapes&>(self).pause.emplace();
             return nb::borrow(self);
           })
      .def_prop_ro(
          "used",
          [](PausedTapes& self) { return self.pause ? ListOf(self.pause->used()) : nb::list(); })
      .def("__exit__", [](PausedTapes& self, nb::args) { self.pause.reset(); });
  using Mode = eager::EffectLog::Mode;
  nb::class_<PyEffectScope>(m, "_EffectScope", nb::is_final())
      .def("__enter__", &PyEffectScope::Enter)
      .def("__exit__", [](PyEffectScope& self, nb::args) { self.Exit(); });
  nb::class_<PyEffectLog>(m, "EffectLog", nb::is_final(),
                          "What ops with effects gave to what is called again.")
      .def(nb::init<int>(), nb::arg("orders"))
      .def(
          "record", [](nb::handle self) { return ScopeOf(self, Mode::kRecord); },
          nb::rv_policy::take_ownership)
      .def(
          "replay", [](nb::handle self) { return ScopeOf(self, Mode::kReplay); },
          nb::rv_policy::take_ownership);
  m.def(
      "is_heard", [] { return Recording::IsOn() || eager::EffectLog::IsOn(); },
      "Whether a tape records on this thread, or it is in an EffectLog.");
  m.def("logs_effects", &eager::EffectLog::IsOn, "Whether this thread is in an EffectLog.");
  m.def("run_once", &RunOnce, nb::arg("name"), nb::arg("compute"),
        "What compute(orders) returned when an EffectLog recorded this; else it is called.");
  m.def("require_unchanged", &RequireUnchanged, nb::arg("name"), nb::arg("variables"),
        "FailedPreconditionError where an EffectLog saw other values of them.");
  m.def(
      "num_recording", [] { return Recording::Tapes().size(); },
      "How many tapes record on this thread.");
  m.def("recording", [] { return Recording::IsOn(); }, "Whether a tape records on this thread.");
  m.def("accessed", &Accessed, nb::arg("handle"), nb::arg("stand_in").none(),
        "Tells the tapes of this thread that a trainable variable is read.");
  m.def("watched", &WatchedBy, nb::arg("tensors"));
  m.def("record", &Record, nb::arg("op").none(), nb::arg("inputs"), nb::arg("outputs"),
        "Tells the tapes of this thread of what execute() does not see.");
}

}  // namespace gyre::python
