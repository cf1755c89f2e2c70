#include "python/executable.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/status.h"
#include "eager/effect_log.h"
#include "front/graph_state.h"
#include "gyre/core/options.h"
#include "python/arrays/items.h"
#include "python/cluster/cluster.h"
#include "python/graph.h"
#include "python/settings.h"
#include "python/tensor.h"
#include "python/tracing/nodes.h"
#include "python/watched_run.h"
#include "session/form.h"

namespace gyre::python {
namespace {

// The state of one session: what variables and queues hold.
struct PySession {
  std::shared_ptr<OwnSession> own;
};

// May be run from many threads at once. Keeps the graph's variables alive, but not the graph.
struct PyExecutable {
  std::shared_ptr<const Program> program;
  std::vector<std::string> feeds, fetches, targets;
  std::vector<nb::object> variables;  // handles
  std::shared_ptr<OwnSession> own;    // whose state it runs on; null: that of the process
  CompileMode compile = CompileMode::kAuto;

  std::optional<eager::RunEffects> effects;  // once they have been asked for

  // With the GIL held. Shared with the runs that it is used by.
  std::shared_ptr<const Session::Callable> callable;
  uint64_t version = 0;  // of the options that it was compiled with

  std::shared_ptr<const Session::Callable> Compiled() {
    if (version == TheContext().version()) [[likely]]
      return callable;
    const std::shared_ptr<Session> root = own == nullptr ? TheContext().session() : own->root();
    const uint64_t made_with = TheContext().version();
    const auto prepare = [&]() -> absl::StatusOr<Session::Callable> {
      GYRE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                            compile == CompileMode::kAuto ? root->WithProgram(program)
                                                          : root->WithProgram(program, compile));
      return session->Prepare(feeds, fetches, targets);
    };
    std::shared_ptr<const Session::Callable> made;
    TheContext().host().Prepare(
        [&] { made = std::make_shared<const Session::Callable>(ValueOf(prepare())); });
    callable = made;
    version = made_with;
    return made;
  }
};

// What a run does beside computing values: "none"; "reads" variables; or "more".
nb::object EffectsOf(PyExecutable& self) {
  if (!self.effects) self.effects = eager::EffectsOfRun(*self.program);
  switch (*self.effects) {
    case eager::RunEffects::kNone:
      return ToStr("none");
    case eager::RunEffects::kReads:
      return ToStr("reads");
    case eager::RunEffects::kMore:
      break;
  }
  return ToStr("more");
}

std::vector<Tensor> FeedsOf(const PyExecutable& self, nb::handle feeds) {
  const nb::tuple items = ItemsOf(feeds, "feeds");
  if (items.size() != self.feeds.size()) {
    ThrowTypeError(
        absl::StrCat("this executable takes ", self.feeds.size(), " feeds, not ", items.size()));
  }
  std::vector<Tensor> tensors;
  tensors.reserve(items.size());
  for (const nb::handle item : items) tensors.push_back(RequireEager(item, "a feed"));
  return tensors;
}

absl::StatusOr<std::vector<Tensor>> RunWithoutGil(PyExecutable& self,
                                                  const std::vector<Tensor>& feeds,
                                                  RunOptions options, Cancellation& cancellation) {
  const std::shared_ptr<const Session::Callable> callable = self.Compiled();
  options.cancellation = &cancellation;
  absl::StatusOr<std::vector<Tensor>> results = absl::UnknownError("has not run");
  TheContext().host().RunProgram(cancellation, [&] {
    results = callable->Run(feeds, options);
    return results.status();
  });
  return results;
}

nb::list ResultsOf(absl::StatusOr<std::vector<Tensor>> results) {
  std::vector<Tensor> tensors = ValueOf(std::move(results));
  nb::object list = Own(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].has_value())
      ThrowStatus(
          absl::FailedPreconditionError("a result was not computed: its branch was not "
                                        "taken"));
    PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i),
                   WrapEager(std::move(tensors[i])).release().ptr());
  }
  return nb::borrow<nb::list>(list);
}

nb::list Call(PyExecutable& self, nb::handle feeds) {
  Cancellation cancellation;
  const RunOptions options{.observer = eager::TheNanTrap()};
  return ResultsOf(RunWithoutGil(self, FeedsOf(self, feeds), options, cancellation));
}

nb::object Run(PyExecutable& self, nb::handle feeds, int64_t timeout_ms, int64_t budget_bytes,
               nb::handle progress, bool trace, int64_t progress_ms, nb::handle timeline) {
  if (timeout_ms < 0 || budget_bytes < 0)
    ThrowValueError("timeout_ms and budget_bytes must not be negative");
  if (progress_ms < 1) ThrowValueError("progress_ms must be at least 1");
  WatchedRun::Wishes wishes{.statistics = trace, .progress_ms = progress_ms};
  if (!progress.is_none()) {
    if (PyCallable_Check(progress.ptr()) == 0) ThrowTypeError("progress must be callable");
    wishes.progress = nb::borrow(progress);
  }
  if (!timeline.is_none()) wishes.timeline = std::string(TextOf(timeline, "timeline"));
  const std::vector<Tensor> tensors = FeedsOf(self, feeds);
  Cancellation cancellation;
  WatchedRun watched(std::move(wishes), cancellation);
  RunOptions options{.timeout_ms = timeout_ms, .budget_bytes = budget_bytes};
  watched.AddTo(options);
  auto results = RunWithoutGil(self, tensors, options, cancellation);
  watched.Finish();
  nb::object list = ResultsOf(std::move(results));
  return nb::make_tuple(list, watched.statistics());
}

void RequireInMain(GraphCore& graph, const gyre::internal::ScopePtr& scope, const std::string& name,
                   absl::string_view what) {
  if (scope == graph.state()->main()) return;
  ThrowStatus(absl::InvalidArgumentError(absl::StrCat(
      what, " '", name, "' is a value of ", scope->description().what, " at ",
      scope->description().line, ", of no use outside of it unless the body returns it")));
}

std::string NameIn(GraphCore& graph, nb::handle tensor, absl::string_view what) {
  const Value value = ValueIn(graph, tensor);
  RequireInMain(graph, value.scope(), value.name(), what);
  return value.name();
}

// Of a node, or of the one that computes a tensor.
std::string NodeNameIn(GraphCore& graph, nb::handle item) {
  if (const Operation* operation = AsOperation(item)) {
    RequireInMain(graph, operation->scope(), operation->name(), "the target");
    return operation->name();
  }
  const std::string name = NameIn(graph, item, "the target");
  return name.substr(0, name.find(':'));
}

}  // namespace

nb::object PrepareGraph(nb::handle graph, nb::handle feeds, nb::handle fetches, nb::handle targets,
                        bool effects, nb::handle session) {
  GraphCore& core = *ToGraph(graph);
  PyExecutable made;
  for (const nb::handle feed : ItemsOf(feeds, "feeds"))
    made.feeds.push_back(NameIn(core, feed, "the feed"));
  for (const nb::handle fetch : ItemsOf(fetches, "fetches"))
    made.fetches.push_back(NameIn(core, fetch, "the fetch"));
  const gyre::internal::Scope& main = *core.state()->main();
  if (!targets.is_none()) {
    for (const nb::handle target : ItemsOf(targets, "targets"))
      made.targets.push_back(NodeNameIn(core, target));
  }
  if (effects) {
    for (const NodeId id : main.last_effects())
      made.targets.push_back(main.function().node(id).name);
  }
  for (const GraphCore::CapturedTensor& variable : core.variables())
    made.variables.push_back(variable.outer);
  if (!session.is_none()) {
    if (!nb::isinstance<PySession>(session))
      ThrowTypeError(absl::StrCat("a SessionState is wanted, not ", TypeNameOf(session)));
    made.own = nb::inst_ptr<PySession>(session)->own;
  }
  made.compile = core.compile();
  made.program = core.graph().program();
  if (core.is_for_sessions())
    made.program = ValueOf(ForResults(made.program, made.feeds, made.fetches, made.targets));
  made.Compiled();
  return nb::cast(std::move(made));
}

void BindExecutables(nb::module_& m) {
  nb::class_<PySession>(m, "SessionState", nb::is_final(),
                        "Variables and queues of executables that are prepared with it.")
      .def(
          "__init__",
          [](PySession* self, nb::handle cluster, nb::handle soft_placement, int num_cpus) {
            OwnSession::Placement placement{.num_cpus = num_cpus};
            if (!soft_placement.is_none()) placement.is_soft = nb::cast<bool>(soft_placement);
            new (self) PySession{std::make_shared<OwnSession>(
                cluster.is_none() ? nullptr : ClusterOf(cluster), placement)};
          },
          nb::arg("cluster") = nb::none(), nb::arg("soft_placement") = nb::none(),
          nb::arg("num_cpus") = 0);
  nb::class_<PyExecutable>(m, "Executable", nb::is_final(), nb::is_weak_referenceable(),
                           "A signature of a graph, compiled once and run often.")
      .def("__call__", &Call, nb::arg("feeds"))
      .def_prop_ro("effects", &EffectsOf)
      .def("run", &Run, nb::arg("feeds"), nb::kw_only(), nb::arg("timeout_ms") = 0,
           nb::arg("budget_bytes") = 0, nb::arg("progress") = nb::none(), nb::arg("trace") = false,
           nb::arg("progress_ms") = 200, nb::arg("timeline") = nb::none());
}

}  // namespace gyre::python
