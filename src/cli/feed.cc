#include "cli/feed.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/suggest.h"
#include "cli/literal.h"
#include "tensor/io/npy.h"
#include "tensor/io/safetensors.h"

namespace gyre::cli {
namespace {

constexpr absl::string_view kSafetensors = ".safetensors";
constexpr size_t kMostNames = 10;

absl::StatusOr<Tensor> ReadSafetensor(const std::string& path, absl::string_view name) {
  GYRE_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  std::vector<std::string> names = file.Names();
  if (name.empty() && names.size() == 1) return file.Read(names[0]);
  // A first output is "k" and "k:0", here as for feeds and fetches.
  const auto is_there = [&](absl::string_view n) {
    return std::find(names.begin(), names.end(), n) != names.end();
  };
  const std::string other = absl::EndsWith(name, ":0") ? std::string(absl::StripSuffix(name, ":0"))
                                                       : absl::StrCat(name, ":0");
  if (!is_there(name) && is_there(other)) return file.Read(other);
  absl::StatusOr<Tensor> tensor = name.empty() ? absl::NotFoundError("") : file.Read(name);
  if (tensor.ok() || tensor.status().code() != absl::StatusCode::kNotFound) return tensor;
  const std::string hint = DidYouMean(name, names);
  const bool is_long = names.size() > kMostNames;
  if (is_long) names.resize(kMostNames);
  return absl::NotFoundError(absl::StrCat(
      path,
      name.empty() ? " holds several tensors; name one behind a colon"
                   : absl::StrCat(" holds no tensor '", name, "'"),
      hint.empty() ? absl::StrCat(": it has ", absl::StrJoin(names, ", "), is_long ? ", …" : "")
                   : hint));
}

absl::StatusOr<Tensor> ReadTensorFile(absl::string_view spec) {
  if (absl::EndsWith(spec, ".npy")) return ReadNpy(std::string(spec));
  const size_t extension = spec.rfind(kSafetensors);
  if (extension != absl::string_view::npos) {
    const size_t end = extension + kSafetensors.size();
    const absl::string_view rest = spec.substr(end);
    if (rest.empty() || absl::StartsWith(rest, ":")) {
      return ReadSafetensor(std::string(spec.substr(0, end)), absl::StripPrefix(rest, ":"));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", spec, "' is neither FILE.npy nor FILE.safetensors[:NAME]"));
}

}  // namespace

absl::StatusOr<Tensor> ReadFeed(absl::string_view spec, DType dtype, const PartialShape& shape) {
  if (!absl::StartsWith(spec, "@")) return ParseLiteral(spec, dtype, shape);
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, ReadTensorFile(spec.substr(1)));
  const bool fits =
      (dtype == DType::kInvalid || tensor.dtype() == dtype) && shape.Allows(tensor.shape());
  if (fits) return tensor;
  return absl::InvalidArgumentError(absl::StrCat(
      dtype == DType::kInvalid ? "" : DTypeName(dtype), shape.has_rank() ? shape.ToString() : "",
      " is wanted, the file holds ", DTypeName(tensor.dtype()), tensor.shape().ToString()));
}

}  // namespace gyre::cli
