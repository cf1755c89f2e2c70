// Host: what the distributed layers need of a machine: time, tasks, sleep, and connections. The
// real one is the machine; the simulation has one in which all of it follows from a seed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/env.h"
#include "cluster/transport/byte_stream.h"
#include "gyre/core/options.h"

namespace gyre::cluster {

// Where a process accepts tensor channels.
struct ChannelAddress {
  std::string tcp;      // "127.0.0.1:4002"
  std::string memory;   // the Unix name that shared memory is handed over at; empty: nowhere
  std::string machine;  // equal for processes that can share memory
};

// Thread-safe.
class Host {
 public:
  virtual ~Host() = default;
  virtual const Clock& clock() const = 0;
  // Runs the task soon, beside the caller.
  virtual void Spawn(std::function<void()> task) = 0;

  // Calls `tick` every so often, until the result is gone; then no call is running any more.
  virtual std::shared_ptr<void> Every(int64_t nanos, std::function<void()> tick) = 0;

  virtual ChannelAddress channel_address() const = 0;
  // A stream to the process that listens there: connected, or on its way.
  virtual absl::StatusOr<std::unique_ptr<ByteStream>> Dial(const ChannelAddress& address,
                                                           Transport transport) = 0;
  // The next stream that another process has dialled; null: none yet. One thread at a time.
  virtual std::unique_ptr<ByteStream> Accept() = 0;

  // Sleeps until one of the streams (all prepared to wait) may be read, or written where
  // `for_write` says so, until somebody dials, until WakeSleeper, or for `nanos`. One thread at a
  // time.
  virtual void Sleep(absl::Span<ByteStream* const> streams, const std::vector<bool>& for_write,
                     int64_t nanos) = 0;
  // Ends the Sleep that is or, if nobody sleeps, the next one.
  virtual void WakeSleeper() = 0;
  // As changed.wait_for.
  virtual void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                    int64_t nanos) = 0;
};

// This machine. Listens for tensor channels at `listen_host`, on a port of the system's choice; a
// client, which has none, gives "".
absl::StatusOr<std::unique_ptr<Host>> MachineHost(const std::string& listen_host);

}  // namespace gyre::cluster
