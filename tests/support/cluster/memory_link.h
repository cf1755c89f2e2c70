// Control links within one process: what one end sends, the other's handler gets, in order, on a
// thread of the link's. A test may look at, change, or hold back what travels.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cluster/control_link.h"

namespace gyre::test {

// Addresses that clients may dial. Thread-safe. Its end closes all links and waits for their
// threads; handlers need not live so long.
class MemoryLinks {
 public:
  // Every message passes through here, before it is delivered.
  using Tap = std::function<void(std::string& message)>;

  MemoryLinks() = default;
  ~MemoryLinks();

  void Serve(const std::string& address, cluster::LinkAcceptor acceptor);
  cluster::LinkDialer dialer();
  // Of links that are dialled from now on.
  void set_taps(Tap to_worker, Tap to_client);
  // From now on, nothing is delivered to or from there, nor is anybody told.
  void Freeze(const std::string& address);
  // Both ends of all links to there are told that the other is gone.
  void Cut(const std::string& address);

 private:
  class Way;
  class End;
  struct Link {
    std::string address;
    std::shared_ptr<Way> ways[2];
  };

  std::mutex mutex_;  // guards what follows
  std::map<std::string, cluster::LinkAcceptor> acceptors_;
  Tap to_worker_, to_client_;
  std::vector<Link> links_;
  std::vector<std::thread> threads_;
};

}  // namespace gyre::test
