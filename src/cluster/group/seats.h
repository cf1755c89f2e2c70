// Seats: who has come to the coordinator of a group, as which rank, and who may stay.
//
// A process that was started anew takes the place of the one before it, which may not have noticed
// yet that the others have given it up; one that missed a group of its rank was replaced in it, and
// is turned away. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "cluster/proto/group.pb.h"
#include "cluster/transport/socket.h"

namespace gyre::cluster {

class Seats {
 public:
  // Who may not stay, and why.
  struct Refused {
    Fd caller;
    absl::Status why;
  };
  // The coordinator has seat 0, and was in the group of this epoch; 0: in none.
  Seats(int size, const proto::Join::Member& coordinator, uint64_t epoch);

  // Requirement: the rank is one from 1 to size - 1. Who is refused may be the caller, or others.
  std::vector<Refused> Take(Fd caller, const proto::Enlist& enlist);
  // Who has hung up has no seat any more.
  void FreeDead();
  std::vector<int> Missing() const;
  // Of the last group that anybody here was in.
  uint64_t epoch() const { return epoch_; }
  // Not OK: the coordinator itself was replaced.
  absl::Status CheckCoordinator() const;

  const proto::Join::Member& member(int rank) const { return seats_[rank].member; }
  const Fd& caller(int rank) const { return seats_[rank].caller; }

 private:
  struct Seat {
    Fd caller;
    uint64_t epoch = 0;
    proto::Join::Member member;
  };
  const uint64_t own_epoch_;
  uint64_t epoch_;
  std::vector<Seat> seats_;  // by rank
};

}  // namespace gyre::cluster
