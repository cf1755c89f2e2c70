// Messages from bytes. Stateless; any thread.
#pragma once

#include <limits>

#include "absl/strings/string_view.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/stubs/logging.h"

namespace gyre {

// The message of class M that `bytes` say, on `arena`, which frees it whole wherever memory runs
// out; null for what is none. Nothing is written to stderr.
template <typename M>
const M* ParseMessage(absl::string_view bytes, google::protobuf::Arena* arena) {
  const google::protobuf::LogSilencer silence;
  M* message = google::protobuf::Arena::CreateMessage<M>(arena);
  const bool parsed = bytes.size() <= std::numeric_limits<int>::max() &&
                      message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  return parsed ? message : nullptr;
}

}  // namespace gyre
