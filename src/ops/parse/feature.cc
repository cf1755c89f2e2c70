#include "ops/parse/feature.h"

#include <cstring>

#include "tensor/text_charge.h"
#include "wire/wire_reader.h"

namespace gyre {
namespace {

using wire::WireReader;
using Field = WireReader::Field;
using Type = WireReader::Type;

// Calls `visit(field)` for each field of a message with this number. False: malformed.
template <typename Visit>
bool ForFields(absl::string_view message, int number, const Visit& visit) {
  WireReader reader(message);
  Field field;
  while (reader.Next(field)) {
    if (field.number == number && !visit(field)) return false;
  }
  return !reader.is_malformed();
}

// How many values a list of a type has; -1: malformed.
int64_t CountValues(DType dtype, absl::string_view list) {
  int64_t count = 0;
  const bool is_good = ForFields(list, 1, [&](const Field& field) {
    if (dtype == DType::kString) {
      ++count;
      return field.type == Type::kBytes;
    }
    const bool is_float = dtype == DType::kFloat;
    if (field.type == (is_float ? Type::kFixed32 : Type::kVarint)) {
      ++count;
      return true;
    }
    if (field.type != Type::kBytes) return false;
    if (is_float) {
      count += static_cast<int64_t>(field.bytes.size() / 4);
      return field.bytes.size() % 4 == 0;
    }
    absl::string_view rest = field.bytes;
    for (uint64_t value; !rest.empty(); ++count) {
      if (!wire::TakeVarint(rest, value)) return false;
    }
    return true;
  });
  return is_good ? count : -1;
}

// Feature { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list =
// 3; } }: each is a message whose field 1 has the values.
bool ReadKind(absl::string_view message, Feature& feature) {
  feature = Feature();
  WireReader reader(message);
  Field field;
  while (reader.Next(field)) {
    if (field.number < 1 || field.number > 3) continue;
    if (field.type != Type::kBytes) return false;
    feature.dtype = field.number == 1   ? DType::kString
                    : field.number == 2 ? DType::kFloat
                                        : DType::kInt64;
    feature.list = field.bytes;
  }
  if (reader.is_malformed()) return false;
  if (feature.dtype == DType::kInvalid) return true;
  feature.count = CountValues(feature.dtype, feature.list);
  return feature.count >= 0;
}

// Calls `visit(key, value)` for each entry of the maps in a message's fields with this number.
template <typename Visit>
bool ForEntries(absl::string_view message, int number, const Visit& visit) {
  return ForFields(message, number, [&](const Field& all) {
    if (all.type != Type::kBytes) return false;
    return ForFields(all.bytes, 1, [&](const Field& entry) {
      if (entry.type != Type::kBytes) return false;
      absl::string_view key, value;
      WireReader reader(entry.bytes);
      Field field;
      while (reader.Next(field)) {
        if (field.number == 1) key = field.bytes;
        if (field.number == 2) value = field.bytes;
      }
      return !reader.is_malformed() && visit(key, value);
    });
  });
}

}  // namespace

// Example { Features features = 1; }, Features { map<string, Feature> feature = 1; }
bool FindFeatures(absl::string_view example, const FeatureNames& names,
                  absl::Span<Feature> features) {
  return ForEntries(example, 1, [&](absl::string_view key, absl::string_view value) {
    const auto it = names.find(key);
    return it == names.end() || ReadKind(value, features[it->second]);
  });
}

// SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }, FeatureLists {
// map<string, FeatureList> feature_list = 1; }, FeatureList { repeated Feature feature = 1; }
bool FindFeatureLists(absl::string_view example, const FeatureNames& names,
                      absl::Span<std::vector<Feature>> lists, std::vector<bool>& is_there) {
  return ForEntries(example, 2, [&](absl::string_view key, absl::string_view value) {
    const auto it = names.find(key);
    if (it == names.end()) return true;
    std::vector<Feature>& steps = lists[it->second];
    steps.clear();
    is_there[it->second] = true;
    return ForFields(value, 1, [&](const Field& step) {
      return step.type == Type::kBytes && ReadKind(step.bytes, steps.emplace_back());
    });
  });
}

void ReadFeature(const Feature& feature, std::string* values) {
  ForFields(feature.list, 1, [&](const Field& field) {
    (values++)->assign(field.bytes.data(), field.bytes.size());
    return true;
  });
}

void ReadFeature(const Feature& feature, float* values) {
  ForFields(feature.list, 1, [&](const Field& field) {
    const bool is_packed = field.type == Type::kBytes;
    const size_t size = is_packed ? field.bytes.size() : sizeof(float);
    std::memcpy(values, is_packed ? static_cast<const void*>(field.bytes.data()) : &field.value,
                size);
    values += size / sizeof(float);
    return true;
  });
}

void ReadFeature(const Feature& feature, int64_t* values) {
  ForFields(feature.list, 1, [&](const Field& field) {
    if (field.type != Type::kBytes) {
      *values++ = static_cast<int64_t>(field.value);
      return true;
    }
    absl::string_view rest = field.bytes;
    for (uint64_t value = 0; !rest.empty() && wire::TakeVarint(rest, value);)
      *values++ = static_cast<int64_t>(value);
    return true;
  });
}

int64_t FeatureTextBytes(const Feature& feature) {
  int64_t bytes = 0;
  if (feature.dtype != DType::kString) return bytes;
  ForFields(feature.list, 1, [&](const Field& field) {
    bytes += HeapBytes(field.bytes.size());
    return true;
  });
  return bytes;
}

}  // namespace gyre
