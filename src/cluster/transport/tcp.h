// TCP as a ByteStream.
#pragma once

#include <memory>
#include <string>

#include "cluster/transport/byte_stream.h"
#include "cluster/transport/socket.h"

namespace gyre::cluster {

// Takes over a connected socket that does not block. `peer` is shown in errors.
std::unique_ptr<ByteStream> TcpStream(Fd socket, std::string peer);

}  // namespace gyre::cluster
