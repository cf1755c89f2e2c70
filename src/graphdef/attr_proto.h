// Attributes between memory and the wire. Stateless; any thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/map.h"
#include "graphdef/tensor_proto.h"
#include "ir/attr.h"
#include "wire/node.pb.h"

namespace gyre {

using WireAttrs = google::protobuf::Map<std::string, wire::AttrValue>;

// INVALID_ARGUMENT says what is wrong with the value.
absl::StatusOr<AttrValue> DecodeAttr(const wire::AttrValue& proto, DecodeLimits& limits);
absl::Status EncodeAttr(const AttrValue& value, wire::AttrValue* proto);

// True when an AttrValue holds all that `proto` says: false for dimension names, unknown fields and
// the like. Such a value is kept, as it was spelled, beside the decoded one.
bool IsWhollyDecoded(const wire::AttrValue& proto);

// Decodes all of `proto`. What decoding loses is copied to `kept`. A value that cannot be decoded
// is an error when `is_needed(name)`; otherwise it is kept and stands in `attrs` as no value
// (monostate). INVALID_ARGUMENT names the attribute.
template <typename IsNeeded>
absl::StatusOr<AttrMap> DecodeAttrs(const WireAttrs& proto, DecodeLimits& limits, WireAttrs* kept,
                                    IsNeeded is_needed);

// The attributes that `keep(name)` selects, each as `proto` already spells it (from `kept` above)
// when that still means the same.
template <typename Keep>
absl::Status EncodeAttrs(const AttrMap& attrs, WireAttrs* proto, Keep keep);

namespace internal {
absl::Status AnnotateAttr(const absl::Status& status, const std::string& name);
// Whether `proto`, kept from an import, still stands for `value`.
bool StillMeans(const wire::AttrValue& proto, const AttrValue& value);
}  // namespace internal

template <typename IsNeeded>
absl::StatusOr<AttrMap> DecodeAttrs(const WireAttrs& proto, DecodeLimits& limits, WireAttrs* kept,
                                    IsNeeded is_needed) {
  std::vector<AttrMap::Entry> attrs;
  for (const auto& [name, wire_value] : proto) {
    absl::StatusOr<AttrValue> value = DecodeAttr(wire_value, limits);
    if (!value.ok() && is_needed(name)) return internal::AnnotateAttr(value.status(), name);
    if (!value.ok() || !IsWhollyDecoded(wire_value)) (*kept)[name] = wire_value;
    attrs.emplace_back(name, value.ok() ? *std::move(value) : AttrValue());
  }
  return AttrMap::FromEntries(std::move(attrs));
}

template <typename Keep>
absl::Status EncodeAttrs(const AttrMap& attrs, WireAttrs* proto, Keep keep) {
  WireAttrs kept;
  kept.swap(*proto);
  for (const auto& [name, value] : attrs) {
    if (!keep(name)) continue;
    wire::AttrValue& out = (*proto)[name];
    const auto spelled = kept.find(name);
    if (spelled != kept.end() && internal::StillMeans(spelled->second, value)) {
      out = spelled->second;
      continue;
    }
    if (const absl::Status status = EncodeAttr(value, &out); !status.ok()) {
      return internal::AnnotateAttr(status, name);
    }
  }
  return absl::OkStatus();
}

}  // namespace gyre
