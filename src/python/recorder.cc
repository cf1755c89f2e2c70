#include "python/recorder.h"

#include <algorithm>

#include "base/hash_map.h"
#include "front/graph_state.h"
#include "front/scope.h"
#include "python/arrays/items.h"
#include "python/attrs.h"
#include "python/graph.h"
#include "python/tensor.h"

namespace gyre::python {

using gyre::internal::BuildClock;
using gyre::internal::TapeRecord;

namespace {

// A tape's list of what happened. Owned by Python; active on one thread.
struct PyRecorder {
  nb::list entries;
  nb::list variables;  // handles that were read
  bool watches_variables = true;
  HashSet<uint64_t> watched;
  HashSet<uint64_t> seen_variables;
  // Of graphs.
  struct Watch {
    uint64_t id = 0;  // of the tensor
    Value value;      // if it is symbolic
    uint64_t since = 0;
  };
  std::vector<Watch> watches;
  std::vector<TapeRecord::Span> spans;  // the last is open while the recorder is active

  bool Watches(absl::Span<const nb::handle> inputs) const {
    return std::any_of(inputs.begin(), inputs.end(), [this](nb::handle input) {
      const PyTensor* tensor = AsTensor(input);
      return tensor != nullptr && watched.contains(tensor->id);
    });
  }
  void WatchTensor(const PyTensor& tensor) {
    watched.insert(tensor.id);
    watches.push_back({tensor.id, tensor.symbolic, BuildClock()});
  }
  void See(nb::handle variable) {
    const uint64_t id = AsTensor(variable)->id;
    if (!seen_variables.insert(id).second) return;
    variables.append(variable);
    if (watches_variables) watched.insert(id);
  }
};

// Innermost last. Borrowed: an active recorder is kept alive by a reference of its own.
std::vector<PyRecorder*>& Active() {
  static thread_local std::vector<PyRecorder*> active;
  return active;
}

bool CarriesGradient(DType dtype) {
  return IsFloating(dtype) || IsComplex(dtype) || dtype == DType::kVariant ||
         dtype == DType::kResource;
}

// Adds the entry to all recorders that watch one of the inputs.
template <typename MakeEntry>
void Tell(absl::Span<const nb::handle> inputs, absl::Span<const nb::object> outputs,
          MakeEntry make_entry) {
  nb::object entry;
  for (PyRecorder* recorder : Active()) {
    if (!recorder->Watches(inputs)) continue;
    if (!entry.is_valid()) entry = make_entry();
    recorder->entries.append(entry);
    for (const nb::object& output : outputs) {
      const PyTensor& tensor = *AsTensor(output);
      if (CarriesGradient(tensor.dtype())) recorder->watched.insert(tensor.id);
    }
  }
}

nb::list ListOf(absl::Span<const nb::object> objects) {
  nb::list list;
  for (const nb::object& object : objects) list.append(object);
  return list;
}

// As execute() takes them.
nb::list Grouped(const OpDef& op, absl::Span<const nb::handle> inputs,
                 absl::Span<const int> formals) {
  nb::list grouped;
  size_t next = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const bool is_list = !op.inputs[i].number_attr.empty() || !op.inputs[i].type_list_attr.empty();
    nb::list items;
    for (; next < inputs.size() && formals[next] == static_cast<int>(i); ++next)
      items.append(inputs[next]);
    grouped.append(is_list ? nb::object(items) : nb::object(items[0]));
  }
  return grouped;
}

void Record(nb::handle what, nb::handle inputs, nb::handle outputs) {
  const nb::tuple in_items = ItemsOf(inputs, "inputs");
  const nb::tuple out_items = ItemsOf(outputs, "outputs");
  std::vector<nb::handle> in;
  std::vector<nb::object> out;
  for (const nb::handle input : in_items) {
    RequireTensor(input, "an input");
    in.push_back(input);
  }
  for (const nb::handle output : out_items) {
    RequireTensor(output, "an output");
    out.push_back(nb::borrow(output));
  }
  Tell(in, out, [&] { return nb::make_tuple(what, nb::dict(), nb::list(in_items), ListOf(out)); });
}

// Also of a graph that is gone.
bool IsOf(const Value& value, const GraphCore& graph) {
  const gyre::internal::Scope* scope = value.scope().get();
  while (scope->parent() != nullptr) scope = scope->parent().get();
  return scope == graph.state()->main().get();
}

void Start(nb::handle self) {
  PyRecorder& recorder = nb::cast<PyRecorder&>(self);
  recorder.spans.push_back({BuildClock(), UINT64_MAX});
  Active().push_back(&recorder);
  self.inc_ref();
}

void Stop(nb::handle self) {
  auto& active = Active();
  const auto it = std::find(active.rbegin(), active.rend(), &nb::cast<PyRecorder&>(self));
  if (it == active.rend()) ThrowValueError("this recorder is not active on this thread");
  (*it)->spans.back().end = BuildClock();
  active.erase(std::next(it).base());
  self.dec_ref();
}

}  // namespace

TapeRecord RecordOf(nb::handle recorder, const GraphCore& graph) {
  const PyRecorder& self = nb::cast<PyRecorder&>(recorder);
  TapeRecord record{self.spans, {}};
  for (const PyRecorder::Watch& watch : self.watches) {
    const bool is_here = watch.value.has_value() && IsOf(watch.value, graph);
    const Value value = is_here ? watch.value : graph.FindCaptured(watch.id);
    if (value.has_value()) record.watched.push_back({value, watch.since});
  }
  return record;
}

bool HasRecorders() { return !Active().empty(); }

void RecordOp(const OpDef& op, EagerOp& eager, absl::Span<const nb::handle> inputs,
              absl::Span<const int> formals, absl::Span<const nb::object> outputs) {
  if (op.traits.effect == Effect::kRead && op.name == "ReadVariableOp") {
    for (PyRecorder* recorder : Active()) recorder->See(inputs[0]);
  }
  if (std::none_of(outputs.begin(), outputs.end(),
                   [](const nb::object& o) { return CarriesGradient(AsTensor(o)->dtype()); })) {
    return;
  }
  Tell(inputs, outputs, [&] {
    if (!eager.attrs.is_valid()) eager.attrs = ToPython(eager.node.attrs);
    return nb::make_tuple(ToStr(op.name), eager.attrs, Grouped(op, inputs, formals),
                          ListOf(outputs));
  });
}

void BindRecorder(nb::module_& m) {
  nb::class_<PyRecorder>(m, "Recorder", nb::is_final(), nb::is_weak_referenceable(),
                         "What one gradient tape sees.")
      .def(nb::init<>())
      .def_prop_ro("entries", [](PyRecorder& self) { return self.entries; })
      .def_prop_ro("variables", [](PyRecorder& self) { return self.variables; })
      .def_rw("watches_variables", &PyRecorder::watches_variables)
      .def("watch",
           [](PyRecorder& self, nb::handle tensor) {
             self.WatchTensor(RequireTensor(tensor, "what is watched"));
           })
      .def("is_watched",
           [](PyRecorder& self, nb::handle tensor) {
             return self.watched.contains(RequireTensor(tensor, "a tensor").id);
           })
      .def("start", &Start)
      .def("stop", &Stop)
      .def("clear", [](PyRecorder& self) {
        self.entries = nb::list();
        self.variables = nb::list();
        self.watched.clear();
        self.seen_variables.clear();
        self.watches.clear();
        self.spans.clear();
      });
  m.def("record", &Record, nb::arg("op").none(), nb::arg("inputs"), nb::arg("outputs"),
        "Tells the active recorders of what execute() does not see.");
}

}  // namespace gyre::python
