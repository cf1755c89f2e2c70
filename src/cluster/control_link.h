// ControlLink: messages between a client and a worker, in order. gRPC carries them between
// processes; a pair in memory within one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre::cluster {

// The most that one message may have: protobuf's limit, and gRPC's, is 2^31.
inline constexpr int kMostLinkBytes = 2'000'000'000;
// And what of it is left for values or a program, beside everything else.
inline constexpr int64_t kMostPayloadBytes = kMostLinkBytes - 10'000'000;

// Who a link hands what comes to. One call at a time, on threads of the link's, to which nothing is
// thrown.
class LinkHandler {
 public:
  virtual ~LinkHandler() = default;
  virtual void OnMessage(absl::string_view message) = 0;
  // The other end is gone, or Close was called: the last call.
  virtual void OnClosed(const absl::Status& why) = 0;
};

// Thread-safe.
class ControlLink {
 public:
  virtual ~ControlLink() = default;
  // Never blocks. What cannot be sent is lost, and OnClosed called; std::bad_alloc where there is
  // no memory for it: then nothing has happened.
  virtual void Send(std::string message) = 0;
  virtual void Close() = 0;
};

// Opens a link to a worker's address: UNAVAILABLE, UNAUTHENTICATED, or INVALID_ARGUMENT for what is
// no address. The handler is kept until it was called OnClosed.
using LinkDialer = std::function<absl::StatusOr<std::shared_ptr<ControlLink>>(
    const std::string& address, std::shared_ptr<LinkHandler> handler)>;

// Somebody has opened a link to this worker: who is to handle it. The link outlives the call to
// OnClosed.
using LinkAcceptor = std::function<std::shared_ptr<LinkHandler>(std::shared_ptr<ControlLink> link)>;

}  // namespace gyre::cluster
