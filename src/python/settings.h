// What holds for the whole process: the context of eager ops, whose session's variables all graphs
// share, and its options. Changed with the GIL held.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "eager/context.h"
#include "gyre/core/session.h"

namespace gyre::python {

// Lives for ever. What may take long runs there without the GIL, and Ctrl-C ends it.
eager::Context& TheContext();

// A root session with variables and queues of its own: in this process, or on a cluster.
class OwnSession {
 public:
  // Where its programs may run. What is not said is as it is set for the process.
  struct Placement {
    std::optional<bool> is_soft;  // see SessionOptions
    int num_cpus = 0;             // of this process; 0: not said
  };
  // `cluster`: null for this process.
  OwnSession(std::shared_ptr<const Engine> cluster, Placement placement)
      : cluster_(std::move(cluster)), placement_(placement) {}
  // As options are now. Of an empty program.
  const std::shared_ptr<Session>& root();

 private:
  SessionOptions OptionsHere() const;

  const std::shared_ptr<const Engine> cluster_;
  const Placement placement_;
  std::shared_ptr<Session> root_;
  uint64_t version_ = 0;  // of the options that it was made with
};

}  // namespace gyre::python
