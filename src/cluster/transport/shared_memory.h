// Memory that two processes of one machine share, as a ByteStream: a ring of bytes in each
// direction, and a Unix socket between the two that wakes who sleeps and tells that the other end
// has died. No file and no name: memory and socket are gone when both ends are.
#pragma once

#include <memory>
#include <string>

#include "cluster/transport/byte_stream.h"
#include "cluster/transport/socket.h"

namespace gyre::cluster {

// Takes over a connected Unix socket: makes the memory, and hands it to the other end, which
// AcceptSharedMemory receives it in. UNAVAILABLE when the machine has none.
absl::StatusOr<std::unique_ptr<ByteStream>> OfferSharedMemory(Fd socket, std::string peer);
// The other end's, on which nothing can be read or written until the memory has come. Read gives
// INVALID_ARGUMENT for memory that is not of this form.
std::unique_ptr<ByteStream> AcceptSharedMemory(Fd socket, std::string peer);

// Both ends in this process.
absl::StatusOr<StreamPair> SharedMemoryPair();

}  // namespace gyre::cluster
