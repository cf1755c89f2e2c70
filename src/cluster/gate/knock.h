// What a client and a worker say to each other before gRPC has the connection: the client shows the
// worker's token, the worker answers.
//
//   client   "gyre", version u8, bytes of the token u16 (little-endian), the token
//   worker   code u8 (of absl::Status), bytes of the message u16, the message
//
// A worker that has no time to look at a token hangs up instead; who calls then calls again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cluster/transport/socket.h"

namespace gyre::cluster {

inline constexpr size_t kMostTokenBytes = 1024;

// A token's knock, of at most kMostTokenBytes. Requirement: it is not longer.
std::string EncodeKnock(absl::string_view token);
// How many bytes a knock has that begins so: as many as are known of, so that nothing behind it is
// read. INVALID_ARGUMENT for what begins otherwise.
absl::StatusOr<size_t> KnockBytes(absl::string_view begin);
// The token of a whole knock.
absl::string_view TokenOf(absl::string_view knock);
std::string EncodeAnswer(const absl::Status& status);

// Calls a worker and shows it the token: a connection for gRPC. Takes `patience_nanos` at most.
// UNAVAILABLE for who is not there or does not answer, UNAUTHENTICATED for a wrong token,
// INVALID_ARGUMENT for what is no address.
absl::StatusOr<Fd> Knock(const std::string& address, absl::string_view token,
                         int64_t patience_nanos);

}  // namespace gyre::cluster
