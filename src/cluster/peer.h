// Peer: another process that this one has a channel to, or that calls or is called.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "cluster/channel.h"

namespace gyre::cluster {

class StepRendezvous;

struct Peer {
  explicit Peer(std::unique_ptr<ByteStream> stream) : channel(std::move(stream)) {}

  Channel channel;
  // Who it is: once it has said hello, or of whom was called.
  std::atomic<uint64_t> incarnation{0};
  // It has said hello, and is not lost. Set once `name` is there.
  std::atomic<bool> is_known{false};
  // Its program ends, and nobody waits for it: steps that it takes part in go on without it.
  std::atomic<bool> leaves{false};
  std::string name;                // for people: "worker 1 (127.0.0.1:4002)"
  std::atomic<int64_t> credit{0};  // bytes that may still be sent unasked
  std::atomic<int64_t> owed{0};    // bytes read whose credit has not been given back
  // How often, one after the other, what comes from it could not be taken in for want of memory.
  std::atomic<int> failed_polls{0};
  int64_t since_nanos = 0;              // when it called or was called; set before others see it
  std::atomic<int64_t> heard_nanos{0};  // when something came last: see Tick
  // Of the thread that reads: the step that the last value was for. It may have ended.
  std::shared_ptr<StepRendezvous> last_step;
};
using PeerPtr = std::shared_ptr<Peer>;
// By device: the peer that has it; null: this process.
using Routes = std::map<std::string, PeerPtr, std::less<>>;

}  // namespace gyre::cluster
