#include "base/suggest.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gyre {
namespace {

constexpr size_t kMostNames = 3;
constexpr size_t kLongestName = 200;  // the distance takes time in the product of both lengths

// How far `name` is from what was typed; negative when too far to suggest.
int Remoteness(absl::string_view typed, absl::string_view name) {
  if (typed.size() > kLongestName || name.size() > kLongestName) return -1;
  if (absl::EqualsIgnoreCase(typed, name)) return 0;
  if (absl::EndsWith(name, absl::StrCat("/", typed))) return 1;
  const int allowed = 1 + static_cast<int>(typed.size()) / 4;
  const int longer = static_cast<int>(std::max(typed.size(), name.size()));
  const int shorter = static_cast<int>(std::min(typed.size(), name.size()));
  if (longer - shorter > allowed) return -1;
  const int distance = EditDistance(typed, name);
  return distance <= allowed && distance < longer ? distance : -1;
}

}  // namespace

// Optimal string alignment, row by row.
int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::vector<std::string> CloseNames(absl::string_view typed, absl::Span<const std::string> names) {
  std::vector<std::pair<int, std::string>> close;
  for (const std::string& name : names) {
    const int remoteness = Remoteness(typed, name);
    if (remoteness >= 0) close.emplace_back(remoteness, name);
  }
  std::sort(close.begin(), close.end());
  close.erase(std::unique(close.begin(), close.end()), close.end());
  if (close.size() > kMostNames) close.resize(kMostNames);
  std::vector<std::string> result;
  for (auto& [remoteness, name] : close) result.push_back(std::move(name));
  return result;
}

std::string DidYouMean(absl::string_view typed, absl::Span<const std::string> names) {
  std::vector<std::string> close = CloseNames(typed, names);
  if (close.empty()) return "";
  for (std::string& name : close) name = absl::StrCat("'", name, "'");
  return absl::StrCat("; did you mean ", absl::StrJoin(close, " or "), "?");
}

}  // namespace gyre
