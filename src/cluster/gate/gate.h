// Gate: where clients call a worker. Who calls has to show the worker's token (knock.h) before
// anything else hears of the connection, and until then costs a descriptor and at most the bytes of
// a knock. So many may be there at a time, each for so long.
//
// One thread of its own, which takes the connections of all who call. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "cluster/gate/wrong_tokens.h"
#include "cluster/transport/socket.h"

namespace gyre::cluster {

struct GateOptions {
  std::string token;
  // Beyond so many callers, of those from the host with most, the first is hung up on.
  int most_callers = 256;
  int64_t patience_nanos = 5'000'000'000;  // who has not shown a token by then is hung up on
  // Of wrong tokens, now and then: a line without its end. Null: nobody wants to know.
  std::function<void(const std::string&)> log = nullptr;
};

class Gate {
 public:
  // Takes over the connection of one who knows the token. On the gate's thread.
  using Admit = std::function<void(Fd)>;

  // UNAVAILABLE where nobody can listen. Port 0: any.
  static absl::StatusOr<std::unique_ptr<Gate>> Open(const HostPort& address, GateOptions options,
                                                    Admit admit);
  // Nobody is admitted any more.
  ~Gate();
  // With the port that it is.
  const HostPort& address() const { return address_; }

 private:
  struct Caller {
    Fd fd;
    std::string host;
    int64_t until_nanos = 0;  // is hung up on then; refused, has its answer then
    bool is_refused = false;
    bool is_heard = false;  // it has something to say
    std::string said;       // of its knock
  };

  Gate(Fd wake, std::unique_ptr<Listener> listener, const HostPort& address, GateOptions options,
       Admit admit);
  void Work();
  void Await();
  void Accept();
  void MakeRoom();
  // Whether the caller is still one.
  bool Hear(Caller& caller, int64_t now);
  bool Judge(Caller& caller, int64_t now);
  void EndOverdue(int64_t now);

  const Fd wake_;
  const std::unique_ptr<Listener> listener_;
  const HostPort address_;
  const GateOptions options_;
  const Admit admit_;
  std::atomic<bool> ends_{false};
  // Of the thread.
  std::vector<Caller> callers_;  // the first that called first
  WrongTokens wrong_tokens_;
  std::thread thread_;
};

}  // namespace gyre::cluster
