// UniqueNames: names for new functions of a program. Not thread-safe.
#pragma once

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ir/program.h"

namespace gyre::grad {

class UniqueNames {
 public:
  explicit UniqueNames(const Program& program) {
    for (const auto& [name, function] : program.functions()) names_.emplace(name, 0);
  }

  // `wanted`, or with a suffix "_1", "_2", …; taken from now on.
  std::string Unique(absl::string_view wanted) {
    std::string name(wanted);
    if (names_.emplace(name, 0).second) return name;
    // Where the last search for this name ended: many of one name take linear time.
    for (int i = names_[name] + 1;; ++i) {
      std::string numbered = absl::StrCat(wanted, "_", i);
      if (!names_.emplace(numbered, 0).second) continue;
      names_[name] = i;
      return numbered;
    }
  }

 private:
  std::map<std::string, int> names_;  // and the last number given to each
};

}  // namespace gyre::grad
