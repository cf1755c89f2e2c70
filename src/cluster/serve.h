// A worker as a process: listens, for clients at its gate, and with channels for other workers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/internal_export.h"

namespace gyre::cluster {

struct ServeOptions {
  std::string address = "127.0.0.1:0";  // port 0: any
  std::string token;
  bool token_is_given = false;  // by who started the worker, rather than drawn
  int num_devices = 1;
  int threads = 0;
  int64_t failure_timeout_ms = 5000;
  // See GateOptions. Null: nobody wants to know.
  std::function<void(const std::string&)> log = nullptr;
};

// A worker that works until it is destroyed.
class Serving {
 public:
  virtual ~Serving() = default;
  virtual std::string address() const = 0;
};

// 128 random bits, in hexadecimal.
std::string DrawToken();

}  // namespace gyre::cluster

namespace gyre {

// PERMISSION_DENIED for an address beyond this machine without a token that was given: whoever
// reaches a worker and knows its token runs what they like there. INVALID_ARGUMENT for a token
// that is too short or too long, UNAVAILABLE where nobody can listen.
GYRE_INTERNAL_EXPORT absl::StatusOr<std::unique_ptr<cluster::Serving>> ServeWorker(
    const cluster::ServeOptions& options);

}  // namespace gyre
