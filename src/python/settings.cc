#include "python/settings.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "devices/device_name.h"
#include "devices/device_set.h"
#include "exec/sequential/native.h"
#include "front/error.h"
#include "gyre/core/options.h"
#include "gyre/graph.h"
#include "ir/program.h"
#include "ops/registry.h"
#include "python/dtype.h"
#include "python/gil.h"
#include "python/graph.h"
#include "python/host_function.h"
#include "python/python.h"
#include "python/signals/interrupt.h"
#include "python/tape.h"

namespace gyre::python {
namespace {

std::shared_ptr<const Program> EmptyProgram() {
  ProgramBuilder builder(Ops());
  builder.SetMain(Function());
  return builder.Build();
}

// What Print and its kin write goes where Python's streams go.
void Print(absl::string_view stream, absl::string_view text) {
  const GilHeld gil;
  try {
    const nb::object file =
        nb::module_::import_("sys").attr(stream == "stdout" ? "stdout" : "stderr");
    if (file.is_none()) return;
    file.attr("write")(ToStr(text));
    file.attr("flush")();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("printing of a Gyre program");
  }
}

class PythonHost final : public eager::Host {
 public:
  absl::Status Run(Cancellation& cancellation, absl::FunctionRef<absl::Status()> work) override {
    const Interruptible interruptible(cancellation);
    const nb::gil_scoped_release release;
    return work();
  }
  void ThrowIfInterrupted() override { python::ThrowIfInterrupted(); }
  void RunProgram(Cancellation& cancellation, absl::FunctionRef<absl::Status()> work) override {
    const uint64_t before = LastHostException();
    const absl::Status status = Run(cancellation, work);
    if (!cancellation.IsCancelled()) return;
    python::ThrowIfInterrupted();
    if (!status.ok() && RaiseHostExceptionAfter(before)) throw nb::python_error();
  }
  void Prepare(absl::FunctionRef<void()> work) override {
    const InterruptibleWork interruptible;
    try {
      const nb::gil_scoped_release release;
      work();
    } catch (...) {
      if (interruptible.was_interrupted()) python::ThrowIfInterrupted();
      throw;
    }
    if (interruptible.was_interrupted()) python::ThrowIfInterrupted();
  }
  std::unique_ptr<eager::PlanGraph> NewPlanGraph() override { return python::NewPlanGraph(); }
};

void SetOptions(int threads, int window, nb::handle engine, nb::handle form, nb::handle compile) {
  SessionOptions options = TheContext().options();
  if (threads < 0 || window < 0) ThrowValueError("threads and window must not be negative");
  options.parallel = {.window = window, .threads = threads};
  const absl::string_view kind = TextOf(engine, "an engine");
  options.engine = kind.empty() ? EngineKind::kDataflow : ValueOf(ParseEngineKind(kind));
  const absl::string_view into = TextOf(form, "a form");
  options.form.reset();
  if (!into.empty()) options.form = ValueOf(ParseProgramForm(into));
  const absl::string_view when = TextOf(compile, "a way of compiling");
  options.compile = when.empty() ? CompileMode::kAuto : ValueOf(ParseCompileMode(when));
  TheContext().Change(options);
}

void SetDevices(nb::handle devices, bool soft_placement) {
  SessionOptions options = TheContext().options();
  options.devices = std::string(TextOf(devices, "devices"));
  options.soft_placement = soft_placement;
  TheContext().Change(options);
}

// The first device that `device` names.
nb::object DeviceHere(nb::handle device) {
  const DeviceName wanted = ValueOf(ParseAskedDevice(TextOf(device, "a device's name")));
  const SessionOptions options = TheContext().options();
  if (options.devices.empty()) return ToStr("/cpu:0");
  std::vector<std::string> names;
  for (const DeviceName& here : ValueOf(ParseDeviceSet(options.devices))) {
    if (wanted.Matches(here)) return ToStr(absl::StrCat("/cpu:", *here.id));
    names.push_back(here.ToString());
  }
  if (options.soft_placement) return ToStr("/cpu:0");
  ThrowStatus(absl::InvalidArgumentError(absl::StrCat(
      "there is no device ", wanted.ToString(), " but only ", absl::StrJoin(names, ", "),
      ": name one of these, make more of the CPU (config.set_logical_device_configuration), or let "
      "ops run elsewhere (config.set_soft_device_placement(True))")));
}

void SetSeed(uint64_t seed) {
  SessionOptions options = TheContext().options();
  options.seed = seed;
  TheContext().Change(options);
}

// (the seed, how many runs have drawn from it): what random ops without a seed of their own draw
// next. The count is that of this call, as a run's.
nb::tuple RandomState() {
  const uint64_t runs = TheContext().session()->CountRun();
  return nb::make_tuple(TheContext().options().seed, runs + 1);
}

// Counting costs far less than the runs did.
void SetRandomState(uint64_t seed, uint64_t runs) {
  SetSeed(seed);
  const std::shared_ptr<Session> session = TheContext().session();
  const nb::gil_scoped_release release;
  for (uint64_t run = 0; run < runs; ++run) session->CountRun();
}

}  // namespace

eager::Context& TheContext() {
  static eager::Context* const context =
      new eager::Context(SessionOptions{.print = &Print}, new PythonHost);
  return *context;
}

SessionOptions OwnSession::OptionsHere() const {
  SessionOptions options = TheContext().options();
  if (cluster_ == nullptr) {
    // One device needs no name, unless somebody wants to hear of names that mean another.
    const bool is_soft_here = options.devices.empty() || options.soft_placement;
    options.soft_placement = placement_.is_soft.value_or(is_soft_here);
    if (options.devices.empty() && !options.soft_placement) options.devices = "cpu:1";
    if (placement_.num_cpus > 0) options.devices = absl::StrCat("cpu:", placement_.num_cpus);
    return options;
  }
  // Engine, threads and devices are those of the workers.
  options.engine = EngineKind::kDataflow;
  options.devices = "";
  options.cluster = cluster_;
  options.soft_placement = placement_.is_soft.value_or(false);
  return options;
}

const std::shared_ptr<Session>& OwnSession::root() {
  if (version_ == TheContext().version()) return root_;
  const SessionOptions options = OptionsHere();
  root_ = ValueOf(root_ == nullptr ? Session::Create(EmptyProgram(), options)
                                   : root_->WithOptions(EmptyProgram(), options));
  version_ = TheContext().version();
  return root_;
}

void BindSettings(nb::module_& m) {
  m.def("set_options", &SetOptions, nb::kw_only(), nb::arg("threads") = 0, nb::arg("window") = 0,
        nb::arg("engine") = "", nb::arg("form") = "", nb::arg("compile") = "",
        "How programs run from now on; 0 and \"\" mean the defaults.");
  m.def("compiled_loops", &NumCompiledLoops,
        "How many loops have become native code in this process.");
  m.def("set_devices", &SetDevices, nb::arg("devices"), nb::arg("soft_placement"),
        "The devices that graphs run on from now on: \"cpu:4\"; \"\": one, whatever they ask for.");
  m.def("set_seed", &SetSeed, nb::arg("seed"),
        "The seed of random ops, whose numbers start anew. 0: another one each time.");
  m.def("random_state", &RandomState,
        "(seed, count of runs): from where random ops without a seed of their own go on.");
  m.def("set_random_state", &SetRandomState, nb::arg("seed"), nb::arg("runs"),
        "Random ops go on from such a state.");
  m.def("graph_size_limit", [] { return GraphCore::SizeLimit(); });
  m.def(
      "set_graph_size_limit",
      [](int64_t operations) {
        if (operations < 1) ThrowValueError("a graph must be allowed at least one operation");
        GraphCore::SizeLimit() = operations;
      },
      nb::arg("operations"), "How many operations Python may add to one graph.");
  m.def(
      "check_device",
      [](nb::handle device) {
        (void)ValueOf(ParseAskedDevice(TextOf(device, "a device's name")));
      },
      nb::arg("device"),
      "InvalidArgumentError for what is no name of a device, in full or in part.");
  m.def("device_here", &DeviceHere, nb::arg("device"),
        "The first device of this process that a name means, as Tensor.device says it. The same "
        "error, and for a device that is not there while placement is not soft.");
  m.def(
      "check_memory_policy",
      [](nb::handle memory) { ValueOf(ParseMemoryPolicy(TextOf(memory, "memory"))); },
      nb::arg("memory"), "InvalidArgumentError for what says nothing of what gradients keep.");
  m.def(
      "set_nan_trap", [](bool is_on) { eager::TrapNans(is_on); }, nb::arg("is_on"),
      "Whether what this thread runs fails where it makes a NaN or an infinity.");
  m.def("load_plugin", [](nb::handle path) { load_plugin(std::string(TextOf(path, "a path"))); });
  m.def("version", [] { return GYRE_VERSION; });
}

}  // namespace gyre::python
