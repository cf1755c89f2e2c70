// Joining a group: each rank calls the coordinator, which is rank 0, and hears of all others once
// they are there.
//
// Whoever calls shows the token first, as clients of workers do (gate/knock.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/internal_export.h"
#include "gyre/core/options.h"
#include "ops/collective/group.h"

namespace gyre::cluster {

struct JoinOptions {
  int rank = 0;
  int size = 1;
  std::string coordinator;  // "HOST:PORT", where rank 0 listens until all are there
  std::string token;        // which all ranks know; empty: on loopback alone
  std::string launch;       // who gives another belongs to another launch of the program
  uint64_t epoch = 0;       // of the group that this process was in before; 0: it was in none
  // Ranks that are lost while others join are waited for again: whoever has started them starts
  // others. For as long as the time to join is not over.
  bool tries_again = false;
  Transport transport = Transport::kAuto;
  int64_t join_timeout_ms = 300'000;  // when all must be there
  int64_t failure_timeout_ms = 5'000;
  int64_t spin_us = -1;  // how long who waits polls before it sleeps; -1: as the machine allows
  Cancellation* cancellation = nullptr;  // ends joining; not owned
};

}  // namespace gyre::cluster

namespace gyre {

// The group, which ends with its last user: on the others this rank is gone then. INVALID_ARGUMENT
// for options that make no sense, PERMISSION_DENIED without a token where others than this machine
// could join, UNAVAILABLE or DEADLINE_EXCEEDED, with the ranks that are missing, where not all
// come. FAILED_PRECONDITION where another process has become this rank since this one's epoch.
// `told` becomes the epoch of the last group that it was told of, also where that came to nothing:
// what the next attempt gives.
GYRE_INTERNAL_EXPORT absl::StatusOr<std::shared_ptr<CollectiveGroup>> JoinGroup(
    const cluster::JoinOptions& options, uint64_t* told);

}  // namespace gyre
