#include "front/session_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace gyre::internal {

absl::string_view SessionNames::DefaultName(absl::string_view op) {
  using Row = std::pair<absl::string_view, absl::string_view>;
  // Ops whose public function is not named as they are. In order of op.
  static constexpr std::array kRows = {
      Row{"AddV2", "Add"},
      Row{"BatchMatMulV2", "MatMul"},
      Row{"ConcatV2", "concat"},
      Row{"DivNoNan", "div_no_nan"},
      Row{"FloorDiv", "floordiv"},
      Row{"OneHot", "one_hot"},
      Row{"Pack", "stack"},
      Row{"RandomStandardNormal", "random_normal"},
      Row{"RandomUniform", "random_uniform"},
      Row{"Range", "range"},
      Row{"RealDiv", "truediv"},
      Row{"Split", "split"},
      Row{"StridedSlice", "strided_slice"},
      Row{"Transpose", "transpose"},
      Row{"Unpack", "unstack"},
  };
  const auto it =
      std::lower_bound(kRows.begin(), kRows.end(), op,
                       [](const Row& row, absl::string_view o) { return row.first < o; });
  return it != kRows.end() && it->first == op ? it->second : op;
}

std::string SessionNames::Claim(absl::string_view wanted, bool take) {
  return ClaimAbsolute(scope_.empty() ? std::string(wanted) : absl::StrCat(scope_, "/", wanted),
                       take);
}

std::string SessionNames::ClaimAbsolute(std::string wanted, bool take) {
  const std::string key = absl::AsciiStrToLower(wanted);
  const auto known = taken_.find(key);
  if (known == taken_.end()) {
    if (take) taken_.emplace(key, 1);
    return wanted;
  }
  int i = known->second;
  if (take) ++known->second;
  while (taken_.contains(absl::StrCat(key, "_", i))) ++i;
  if (take) taken_.emplace(absl::StrCat(key, "_", i), 1);
  return absl::StrCat(wanted, "_", i);
}

}  // namespace gyre::internal
