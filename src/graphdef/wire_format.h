// GraphDef messages between memory and bytes, binary or text. Stateless; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/arena.h"
#include "graphdef/graph_format.h"
#include "wire/graph.pb.h"

namespace gyre {

// Reads `bytes`; the result lives on `arena`. INVALID_ARGUMENT says where the bytes go wrong.
// Part of a stage (base/work.h): throws WorkStopped.
absl::StatusOr<const wire::GraphDef*> ParseGraphDef(absl::string_view bytes, GraphFormat format,
                                                    google::protobuf::Arena* arena);

// Equal messages give equal bytes. Text cannot hold unknown fields and leaves them out.
// RESOURCE_EXHAUSTED when the message is larger than the 2 GiB that the wire format allows.
absl::StatusOr<std::string> SerializeGraphDef(const wire::GraphDef& graph, GraphFormat format);

// The bytes of a message; empty when nothing in it is set. For Node::wire_extra and its kin.
std::string SerializeExtra(const google::protobuf::Message& message);

// Reads such bytes into `message`. INVALID_ARGUMENT for others, which a text form may hold that was
// changed by hand: `whose` says in the message whose they are ("node x").
absl::Status ParseExtra(const std::string& bytes, absl::string_view whose,
                        google::protobuf::Message* message);

// The bytes of a message, apart: those of one field, which are read elsewhere or not at all, and
// the rest of them.
struct SplitMessage {
  std::vector<absl::string_view> field;  // of each message that the field holds
  std::string rest;                      // without the field
};

// Splits `bytes` at the messages of field `number`. None: they are malformed, or larger than the
// wire format allows.
std::optional<SplitMessage> SplitField(absl::string_view bytes, int number);

// Copies the fields that `from`'s type does not declare.
void CopyUnknownFields(const google::protobuf::Message& from, google::protobuf::Message* to);

}  // namespace gyre
