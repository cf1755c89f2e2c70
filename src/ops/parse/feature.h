// The features of a serialized tensorflow.Example: lists of bytes, floats or integers, by name.
// Stateless; any thread. What is found refers to the bytes that were read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/hash_map.h"
#include "gyre/core/dtype.h"

namespace gyre {

struct Feature {
  DType dtype = DType::kInvalid;  // string, float or int64; kInvalid: it is not there
  absl::string_view list;         // the message that holds the values
  int64_t count = 0;
};

// Names of features that are wanted, and where each goes.
using FeatureNames = HashMap<absl::string_view, size_t>;

// Finds the features of an Example; of one that stands there twice, the last. False: these bytes
// are no Example.
bool FindFeatures(absl::string_view example, const FeatureNames& names,
                  absl::Span<Feature> features);

// Appends the steps of the feature lists of a SequenceExample to `lists`, and says which there are;
// the features of its context are found as those of an Example. False: these bytes are none.
bool FindFeatureLists(absl::string_view example, const FeatureNames& names,
                      absl::Span<std::vector<Feature>> lists, std::vector<bool>& is_there);

// The values of a feature, of which there is room for `count`. Requirement: it has this type.
void ReadFeature(const Feature& feature, std::string* values);
void ReadFeature(const Feature& feature, float* values);
void ReadFeature(const Feature& feature, int64_t* values);

// Bytes that values beyond a string's own take, all together.
int64_t FeatureTextBytes(const Feature& feature);

}  // namespace gyre
