#include "cluster/group/seats.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gyre::cluster {
namespace {

bool HasHungUp(const Fd& caller) {
  char next = 0;
  ssize_t n = -1;
  do {
    n = recv(caller.get(), &next, sizeof(next), MSG_PEEK | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

absl::Status ReplacedError(int rank, uint64_t own, uint64_t newest) {
  return absl::FailedPreconditionError(absl::StrCat(
      "this process was rank ", rank, " in epoch ", own,
      newest > own ? absl::StrCat(", and there has been epoch ", newest, " since") : "",
      ": another one has taken its place"));
}

}  // namespace

Seats::Seats(int size, const proto::Join::Member& coordinator, uint64_t epoch)
    : own_epoch_(epoch), epoch_(epoch), seats_(static_cast<size_t>(size)) {
  seats_[0].member = coordinator;
  seats_[0].epoch = epoch;
}

std::vector<Seats::Refused> Seats::Take(Fd caller, const proto::Enlist& enlist) {
  std::vector<Refused> refused;
  const int rank = enlist.rank();
  const uint64_t epoch = enlist.epoch();
  if (epoch > epoch_) {
    epoch_ = epoch;
    for (size_t other = 1; other < seats_.size(); ++other) {
      Seat& seat = seats_[other];
      if (!seat.caller || seat.epoch == 0 || seat.epoch == epoch) continue;
      const auto was = static_cast<int>(other);
      refused.push_back({std::move(seat.caller), ReplacedError(was, seat.epoch, epoch_)});
    }
  }
  if (epoch > 0 && epoch < epoch_) {
    refused.push_back({std::move(caller), ReplacedError(rank, epoch, epoch_)});
    return refused;
  }
  Seat& seat = seats_[static_cast<size_t>(rank)];
  if (seat.caller && !HasHungUp(seat.caller)) {
    if (epoch == seat.epoch) {
      refused.push_back(
          {std::move(caller), absl::AlreadyExistsError(absl::StrCat("two processes are rank ", rank,
                                                                    ": each has one of its own"))});
      return refused;
    }
    if (epoch > 0) {  // who sits there was started later
      refused.push_back({std::move(caller), ReplacedError(rank, epoch, epoch_)});
      return refused;
    }
    refused.push_back({std::move(seat.caller), ReplacedError(rank, seat.epoch, epoch_)});
  }
  seat = {std::move(caller), epoch, enlist.self()};
  return refused;
}

void Seats::FreeDead() {
  for (Seat& seat : seats_) {
    if (seat.caller && HasHungUp(seat.caller)) seat.caller = Fd();
  }
}

std::vector<int> Seats::Missing() const {
  std::vector<int> missing;
  for (size_t rank = 1; rank < seats_.size(); ++rank) {
    if (!seats_[rank].caller) missing.push_back(static_cast<int>(rank));
  }
  return missing;
}

absl::Status Seats::CheckCoordinator() const {
  return own_epoch_ > 0 && own_epoch_ < epoch_ ? ReplacedError(0, own_epoch_, epoch_)
                                               : absl::OkStatus();
}

}  // namespace gyre::cluster
