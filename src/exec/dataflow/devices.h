// A program on several devices of this process: one plan and one run for each, which meet in the
// run's rendezvous. Nobody drives them: a device knows from what it receives when to go on.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exec/engine.h"

namespace gyre::dataflow {

// What some of the devices run of a program that lies on more of them.
struct PartsHere {
  // Takes the feeds, and gives the fetches, that are listed below, in that order. It waits for the
  // other devices' parts, which must run at the same time. Null: there is nothing to do here.
  std::unique_ptr<Executable> executable;
  std::vector<int> feeds, fetches;  // which of the signature's
  int num_parts = 0;                // on how many devices the whole program lies
  // It is all of the program, and on a device that shares the host's memory: it could run uncut.
  bool is_plain = false;
};

// Lowers, places and cuts the program for all of options.devices, and keeps what those of them run
// that are `here`. Every process that does this for the same program and options cuts it alike. The
// errors of Lower and of place::Place.
absl::StatusOr<PartsHere> CompileParts(std::shared_ptr<const Program> program,
                                       const RunSignature& signature, const EngineOptions& options,
                                       const std::vector<bool>& here);

}  // namespace gyre::dataflow
