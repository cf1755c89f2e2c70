// Messages and statuses between Gyre and gRPC. Any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace gyre::cluster {

inline constexpr char kAttach[] = "/gyre.cluster.Control/Attach";

inline grpc::ByteBuffer ToByteBuffer(const std::string& message) {
  const grpc::Slice slice(message);
  return {&slice, 1};
}

inline std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string message;
  if (!buffer.Dump(&slices).ok()) return message;
  message.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices)
    message.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return message;
}

// gRPC's codes are Abseil's.
inline absl::Status ToAbsl(const grpc::Status& status) {
  if (status.ok()) return absl::UnavailableError("the link was closed");
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace gyre::cluster
