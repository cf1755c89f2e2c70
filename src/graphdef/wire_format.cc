#include "graphdef/wire_format.h"

#include <algorithm>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/work.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/wire_format_lite.h"

namespace gyre {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Messages within messages, in binary and in text. What the peer accepts, too.
constexpr int kMaxDepth = 100;
constexpr size_t kMaxBytes = std::numeric_limits<int>::max();

// Any binary message that names an op holds a byte below 32 that is no white space.
bool LooksLikeText(absl::string_view bytes) {
  return !bytes.empty() && std::none_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\r' && c != '\t';
  });
}

absl::Status Malformed(absl::string_view where, int position) {
  return absl::InvalidArgumentError(
      absl::StrCat("not a GraphDef: ", where, " (at byte ", position, ")"));
}

// Why field `number`, of `size` bytes at `position`, does not parse.
absl::Status DescribeBadField(int number, absl::string_view field, int node, int position) {
  google::protobuf::Arena arena;
  const int size = static_cast<int>(field.size());
  if (number == wire::GraphDef::kNodeFieldNumber) {
    auto& def = *google::protobuf::Arena::CreateMessage<wire::NodeDef>(&arena);
    if (def.ParseFromArray(field.data(), size)) return absl::OkStatus();
    return Malformed(absl::StrCat("node ", node, " '", absl::Utf8SafeCHexEscape(def.name()),
                                  "' is malformed, or nested more than ", kMaxDepth, " deep"),
                     position);
  }
  const bool sound =
      number != wire::GraphDef::kLibraryFieldNumber ||
      google::protobuf::Arena::CreateMessage<wire::FunctionDefLibrary>(&arena)->ParseFromArray(
          field.data(), size);
  if (sound) return absl::OkStatus();
  return Malformed(
      absl::StrCat("the function library is malformed, or nested more than ", kMaxDepth, " deep"),
      position);
}

// Walks over the top-level fields to find the first that is broken.
absl::Status DescribeBadBytes(absl::string_view bytes) {
  const int total = static_cast<int>(bytes.size());
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()), total);
  for (int node = 0; in.CurrentPosition() < total;) {
    const int position = in.CurrentPosition();
    const uint32_t tag = in.ReadTag();
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    if (number == 0) return Malformed("a field has no valid number", position);
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&in, tag)) {
        return Malformed(absl::StrCat("field ", number, " is malformed"), position);
      }
      continue;
    }
    uint32_t size = 0;
    if (!in.ReadVarint32(&size)) return Malformed("a length is malformed", position);
    const uint32_t left = static_cast<uint32_t>(total - in.CurrentPosition());
    if (size > left) {
      return Malformed(absl::StrCat("field ", number, " should have ", size,
                                    " more bytes, but only ", left, " follow"),
                       position);
    }
    const absl::string_view field = bytes.substr(static_cast<size_t>(in.CurrentPosition()), size);
    GYRE_RETURN_IF_ERROR(DescribeBadField(number, field, node, position));
    node += number == wire::GraphDef::kNodeFieldNumber;
    in.Skip(static_cast<int>(size));
  }
  return absl::InvalidArgumentError("not a GraphDef: the bytes are malformed");
}

// Keeps the first error of the text parser.
class FirstTextError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat(
        "not a GraphDef in text form: line ", line + 1, ", column ", column + 1, ": ", message));
  }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

// Bytes in pieces. A parser that asks for more of them when the thread's limit (base/work.h) is
// reached gets none.
class LimitedInput : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit LimitedInput(absl::string_view bytes)
      : in_(bytes.data(), static_cast<int>(bytes.size()), kPieceBytes) {}

  bool Next(const void** data, int* size) override {
    status_.Update(WorkLimit::Check());
    return status_.ok() && in_.Next(data, size);
  }
  void BackUp(int count) override { in_.BackUp(count); }
  bool Skip(int count) override { return in_.Skip(count); }
  int64_t ByteCount() const override { return in_.ByteCount(); }
  // Why there was no more.
  const absl::Status& status() const { return status_; }

 private:
  static constexpr int kPieceBytes = 1 << 20;
  google::protobuf::io::ArrayInputStream in_;
  absl::Status status_;
};

// Bytes that grow in pieces. A writer that asks for another when the thread's limit is reached gets
// none.
class LimitedOutput : public google::protobuf::io::ZeroCopyOutputStream {
 public:
  bool Next(void** data, int* size) override {
    status_.Update(WorkLimit::Check());
    if (!status_.ok()) return false;
    const size_t begin = bytes_.size();
    bytes_.resize(begin + kPieceBytes);
    *data = bytes_.data() + begin;
    *size = kPieceBytes;
    return true;
  }
  void BackUp(int count) override { bytes_.resize(bytes_.size() - static_cast<size_t>(count)); }
  int64_t ByteCount() const override { return static_cast<int64_t>(bytes_.size()); }
  // Why there was no more room.
  const absl::Status& status() const { return status_; }
  std::string Take() { return std::move(bytes_); }

 private:
  static constexpr int kPieceBytes = 1 << 16;
  std::string bytes_;
  absl::Status status_;
};

void WriteTo(const google::protobuf::Message& message,
             google::protobuf::io::ZeroCopyOutputStream* stream) {
  const google::protobuf::LogSilencer silence;
  google::protobuf::io::CodedOutputStream out(stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
}

absl::Status ParseText(absl::string_view bytes, wire::GraphDef* graph) {
  google::protobuf::TextFormat::Parser parser;
  FirstTextError errors;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(kMaxDepth);
  LimitedInput in(bytes);
  const bool parsed = parser.Parse(&in, graph);
  if (!in.status().ok()) throw WorkStopped(in.status());
  if (parsed) return absl::OkStatus();
  if (!errors.status().ok()) return errors.status();
  return absl::InvalidArgumentError("not a GraphDef in text form");
}

}  // namespace

absl::StatusOr<const wire::GraphDef*> ParseGraphDef(absl::string_view bytes, GraphFormat format,
                                                    google::protobuf::Arena* arena) {
  if (bytes.size() > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a GraphDef: ", bytes.size(), " bytes are more than the format allows"));
  }
  google::protobuf::LogSilencer silence;  // the status says it all
  auto* graph = google::protobuf::Arena::CreateMessage<wire::GraphDef>(arena);
  if (format == GraphFormat::kText || (format == GraphFormat::kDetect && LooksLikeText(bytes))) {
    GYRE_RETURN_IF_ERROR(ParseText(bytes, graph));
  } else {
    LimitedInput in(bytes);
    const bool parsed = graph->ParseFromZeroCopyStream(&in);
    if (!in.status().ok()) throw WorkStopped(in.status());
    if (!parsed) return DescribeBadBytes(bytes);
  }
  return graph;
}

absl::StatusOr<std::string> SerializeGraphDef(const wire::GraphDef& graph, GraphFormat format) {
  LimitedOutput out;
  bool written = true;
  if (format == GraphFormat::kText) {
    google::protobuf::TextFormat::Printer printer;
    printer.SetHideUnknownFields(true);
    written = printer.Print(graph, &out);
  } else {
    const size_t size = graph.ByteSizeLong();
    if (size > kMaxBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the program takes ", size, " bytes as a GraphDef, the format allows ", kMaxBytes));
    }
    WriteTo(graph, &out);
  }
  if (!out.status().ok()) throw WorkStopped(out.status());
  if (!written) return BugError("a GraphDef has no text form");
  return out.Take();
}

std::string SerializeExtra(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  WriteTo(message, &stream);
  return bytes;
}

absl::Status ParseExtra(const std::string& bytes, absl::string_view whose,
                        google::protobuf::Message* message) {
  google::protobuf::LogSilencer silence;  // the status says it all
  if (message->ParseFromString(bytes)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(whose,
                   ": the bytes after 'wire' in its text form are not those of a GraphDef: "
                   "leave them as they were printed, or leave 'wire' out"));
}

std::optional<SplitMessage> SplitField(absl::string_view bytes, int number) {
  if (bytes.size() > kMaxBytes) return std::nullopt;
  SplitMessage split;
  const int total = static_cast<int>(bytes.size());
  const uint32_t wanted =
      WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()), total);
  while (in.CurrentPosition() < total) {
    const auto begin = static_cast<size_t>(in.CurrentPosition());
    const uint32_t tag = in.ReadTag();
    uint32_t size = 0;
    if (tag != wanted) {
      if (!WireFormatLite::SkipField(&in, tag)) return std::nullopt;
      absl::StrAppend(&split.rest, bytes.substr(begin, in.CurrentPosition() - begin));
    } else if (in.ReadVarint32(&size) &&
               size <= static_cast<uint32_t>(total - in.CurrentPosition())) {
      split.field.push_back(bytes.substr(static_cast<size_t>(in.CurrentPosition()), size));
      in.Skip(static_cast<int>(size));
    } else {
      return std::nullopt;
    }
  }
  return split;
}

void CopyUnknownFields(const google::protobuf::Message& from, google::protobuf::Message* to) {
  to->GetReflection()->MutableUnknownFields(to)->MergeFrom(
      from.GetReflection()->GetUnknownFields(from));
}

}  // namespace gyre
