// UniqueNames: names that are taken, and the next free one like a name that is wanted.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/hash_map.h"
#include "ir/program.h"

namespace gyre::passes {

class UniqueNames {
 public:
  UniqueNames() = default;
  // The program's functions have taken their names.
  explicit UniqueNames(const Program& program) {
    for (const auto& [name, function] : program.functions()) taken_.insert(name);
  }

  // `wanted`, or with the smallest suffix ("_1", "_2", …) that makes it free; taken from now on.
  // Takes time for suffixes that others have taken, not for those that it has given itself.
  std::string Unique(absl::string_view wanted) {
    std::string name(wanted);
    if (taken_.insert(name).second) return name;
    int& suffix = first_free_.emplace(name, 1).first->second;
    for (;; ++suffix) {
      std::string numbered = absl::StrCat(wanted, "_", suffix);
      if (!taken_.insert(numbered).second) continue;
      ++suffix;
      return numbered;
    }
  }
  void Take(const std::string& name) { taken_.insert(name); }
  void Free(const std::string& name) {
    if (taken_.erase(name) == 0) return;
    const size_t line = name.rfind('_');
    int suffix = 0;
    if (line == std::string::npos || !absl::SimpleAtoi(name.substr(line + 1), &suffix)) return;
    const auto wanted = first_free_.find(name.substr(0, line));
    if (wanted != first_free_.end() && suffix > 0)
      wanted->second = std::min(wanted->second, suffix);
  }

 private:
  HashSet<std::string> taken_;
  HashMap<std::string, int> first_free_;  // no suffix below it is free
};

}  // namespace gyre::passes
