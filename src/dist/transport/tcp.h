// TCP as a ByteStream.
#pragma once

#include <memory>
#include <string>

#include "dist/transport/byte_stream.h"
#include "dist/transport/socket.h"

namespace gyre::dist {

// Takes over a connected socket that does not block. `peer` is shown in errors.
std::unique_ptr<ByteStream> TcpStream(Fd socket, std::string peer);

}  // namespace gyre::dist
