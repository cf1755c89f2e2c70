#include "python/cluster/cluster.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/serve.h"
#include "devices/device_name.h"
#include "exec/engine.h"

namespace gyre::python {
namespace {

// A connection to workers, which lasts as long as this and the sessions on it.
struct PyCluster {
  std::shared_ptr<const Engine> engine;
};

void Connect(PyCluster* self, nb::handle workers, nb::handle token, nb::handle transport,
             nb::handle shared_state, int64_t failure_timeout_ms, int64_t spin_us) {
  ClusterOptions options;
  for (const nb::handle worker : nb::iter(workers))
    options.workers.emplace_back(TextOf(worker, "a worker"));
  options.token = std::string(TextOf(token, "a token"));
  options.transport = ValueOf(ParseTransport(TextOf(transport, "a transport")));
  options.shared_state = std::string(TextOf(shared_state, "shared_state"));
  options.failure_timeout_ms = failure_timeout_ms;
  options.spin_us = spin_us;
  absl::StatusOr<std::shared_ptr<const Engine>> engine = absl::UnknownError("not connected");
  {
    const nb::gil_scoped_release release;
    engine = ConnectCluster(options);
  }
  new (self) PyCluster{ValueOf(std::move(engine))};
}

nb::list DevicesOf(const PyCluster& self) {
  nb::list names;
  for (const DeviceName& device : self.engine->devices()) names.append(ToStr(device.ToString()));
  return names;
}

// A worker in this process. It ends without the GIL: what it runs may wait for Python.
class PyWorker {
 public:
  explicit PyWorker(std::unique_ptr<cluster::Serving> serving)
      : address_(serving->address()), serving_(std::move(serving)) {}
  ~PyWorker() { Close(); }
  PyWorker(const PyWorker&) = delete;
  PyWorker& operator=(const PyWorker&) = delete;

  const std::string& address() const { return address_; }
  void Close() {
    std::unique_ptr<cluster::Serving> serving = std::move(serving_);
    const nb::gil_scoped_release release;
    serving.reset();
  }

 private:
  const std::string address_;
  std::unique_ptr<cluster::Serving> serving_;  // null: closed
};

void Serve(PyWorker* self, nb::handle address, nb::handle token, bool token_is_given, int devices,
           int threads) {
  cluster::ServeOptions options;
  options.address = std::string(TextOf(address, "an address"));
  options.token = std::string(TextOf(token, "a token"));
  options.token_is_given = token_is_given;
  if (devices < 1) ThrowValueError("a worker has at least one device");
  if (threads < 0) ThrowValueError("threads must not be negative");
  options.num_devices = devices;
  options.threads = threads;
  absl::StatusOr<std::unique_ptr<cluster::Serving>> serving = absl::UnknownError("not serving");
  {
    const nb::gil_scoped_release release;
    serving = ServeWorker(options);
  }
  new (self) PyWorker(ValueOf(std::move(serving)));
}

}  // namespace

std::shared_ptr<const Engine> ClusterOf(nb::handle cluster) {
  if (!nb::isinstance<PyCluster>(cluster))
    ThrowTypeError(absl::StrCat("a Cluster is wanted, not ", TypeNameOf(cluster)));
  return nb::inst_ptr<PyCluster>(cluster)->engine;
}

void BindClusters(nb::module_& m) {
  nb::class_<PyCluster>(m, "Cluster", nb::is_final(), "A connection to workers.")
      .def("__init__", &Connect, nb::arg("workers"), nb::kw_only(), nb::arg("token"),
           nb::arg("transport") = "auto", nb::arg("shared_state") = "",
           nb::arg("failure_timeout_ms") = 5000, nb::arg("spin_us") = 0)
      .def_prop_ro("devices", &DevicesOf);
  nb::class_<PyWorker>(m, "Worker", nb::is_final(), "A worker in this process.")
      .def("__init__", &Serve, nb::arg("address"), nb::kw_only(), nb::arg("token"),
           nb::arg("token_is_given"), nb::arg("devices") = 1, nb::arg("threads") = 0)
      .def_prop_ro("address", [](const PyWorker& self) { return ToStr(self.address()); })
      .def("close", &PyWorker::Close, "Ends it. What runs on it fails.");
}

}  // namespace gyre::python
