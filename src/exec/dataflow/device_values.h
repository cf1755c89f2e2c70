// Values on their way to a device's memory and back, where the host cannot read it.
//
// What is sent stays where it is until its receiver wants it: then it is copied to the receiver's
// memory, by the Copier of the discrete device that has a part in it, beside everything else. No
// thread waits for that; the _Recv is done when the copy is. A run that is cancelled does not wait
// for copies either: they keep what they need.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "devices/device.h"
#include "gyre/core/options.h"
#include "ops/rendezvous.h"

namespace gyre::dataflow {

// What one device's part of a run sends and receives. Thread-safe.
class CopyingRendezvous final : public Rendezvous {
 public:
  // All four outlive the receives that it is asked for, and so does this. When the run is
  // cancelled, receives whose values are being copied end, with why.
  CopyingRendezvous(Rendezvous& inner, Device& here, Cancellation& cancellation,
                    MemoryBudget* budget);
  ~CopyingRendezvous() override;

  absl::Status Send(const TransferEdge& edge, Tag tag, Item item) override {
    return inner_.Send(edge, tag, std::move(item));
  }
  void RecvAsync(const TransferEdge& edge, Tag tag, RecvCallback done) override;
  void Abort(const absl::Status& why) override { inner_.Abort(why); }
  Outbox* outbox() override { return inner_.outbox(); }

 private:
  class Underway;

  Rendezvous& inner_;
  Device& here_;
  Cancellation& cancellation_;
  MemoryBudget* const budget_;
  const std::shared_ptr<Underway> underway_;  // shared with copies, which may be late
  int64_t callback_ = 0;
};

// The values as `to` can use them; null: the host. The caller's thread waits for the copies, or
// until the run is cancelled or late.
absl::StatusOr<std::vector<Tensor>> CopyAll(absl::Span<const Tensor> values, Device* to,
                                            Cancellation& cancellation, MemoryBudget* budget);

}  // namespace gyre::dataflow
