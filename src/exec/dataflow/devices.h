// A program on several devices of this process: one plan and one run for each, which meet in the
// run's rendezvous. Nobody drives them: a device knows from what it receives when to go on.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "exec/engine.h"

namespace gyre::dataflow {

// Lowers, places and cuts the program; null if all of it runs on one device. Requirement: at least
// two devices. The errors of Lower and of place::Place.
absl::StatusOr<std::unique_ptr<Executable>> CompileForDevices(
    std::shared_ptr<const Program> program, const RunSignature& signature,
    const EngineOptions& options);

}  // namespace gyre::dataflow
