#include "ops/linalg/einsum_equation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace gyre {
namespace {

// Labels of dimensions behind "...", counted from the right, follow those of characters.
constexpr EinsumLabel kFirstBroadcastLabel = 256;

bool IsBroadcast(EinsumLabel label) { return label >= kFirstBroadcastLabel; }

std::string LabelName(EinsumLabel label) {
  if (IsBroadcast(label)) return "...";
  return std::string(1, static_cast<char>(label));
}

// The character of UTF-8 that begins here; at least a byte.
absl::string_view CharacterAt(absl::string_view text, size_t begin) {
  size_t end = begin + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return text.substr(begin, end - begin);
}

absl::StatusOr<EinsumLabels> ParseOperand(absl::string_view text) {
  EinsumLabels labels;
  bool has_ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (const auto byte = static_cast<unsigned char>(text[i]); byte >= 0x80) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", CharacterAt(text, i), "' cannot name a dimension: take letters from a ",
                       "to z or A to Z"));
    }
    if (text[i] != '.') {
      labels.push_back(static_cast<unsigned char>(text[i]));
      continue;
    }
    if (text.substr(i, 3) != "..." || has_ellipsis) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' must have no dots but those of one '...'"));
    }
    has_ellipsis = true;
    labels.push_back(EinsumEquation::kEllipsis);
    i += 2;
  }
  return labels;
}

// Puts `num_broadcast` labels in the place of the ellipsis.
EinsumLabels ExpandEllipsis(const EinsumLabels& labels, int num_broadcast) {
  EinsumLabels expanded;
  for (const EinsumLabel label : labels) {
    if (label != EinsumEquation::kEllipsis) {
      expanded.push_back(label);
      continue;
    }
    for (int i = num_broadcast - 1; i >= 0; --i) expanded.push_back(kFirstBroadcastLabel + i);
  }
  return expanded;
}

bool Contains(const EinsumLabels& labels, EinsumLabel label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Dimensions of an input of this rank that stand behind its ellipsis.
absl::StatusOr<int> NumBroadcast(const EinsumLabels& labels, int rank, size_t input) {
  const bool has_ellipsis = Contains(labels, EinsumEquation::kEllipsis);
  const int named = static_cast<int>(labels.size()) - (has_ellipsis ? 1 : 0);
  if (has_ellipsis ? rank < named : rank != named) {
    return absl::InvalidArgumentError(absl::StrCat("input ", input, " must have rank ", named,
                                                   has_ellipsis ? " or more" : "", ", but has ",
                                                   rank));
  }
  return rank - named;
}

// Takes note that a dimension called `label` has size `size`.
absl::Status MatchSize(EinsumLabel label, int64_t size, std::map<EinsumLabel, int64_t>& sizes) {
  const auto [it, is_new] = sizes.emplace(label, size);
  int64_t& known = it->second;
  if (is_new || known == size) return absl::OkStatus();
  if (IsBroadcast(label)) {
    // A 1 says nothing; an unknown size may still turn out to be 1.
    if (size == 1 || (size < 0 && known != 1)) return absl::OkStatus();
    if (known == 1 || known < 0) {
      known = size;
      return absl::OkStatus();
    }
  } else if (size < 0 || known < 0) {
    known = std::max(known, size);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("dimensions called '", LabelName(label),
                                                 "' have different sizes: ", known, " and ", size));
}

}  // namespace

absl::StatusOr<EinsumEquation> ParseEinsumEquation(absl::string_view equation, int num_inputs) {
  const std::string text = absl::StrReplaceAll(equation, {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  if (sides.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("equation '", equation, "' must have exactly one '->'"));
  }
  const std::vector<std::string> inputs = absl::StrSplit(sides[0], ',');
  if (static_cast<int>(inputs.size()) != num_inputs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "equation '", equation, "' is for ", inputs.size(), " inputs, but there are ", num_inputs));
  }
  EinsumEquation parsed;
  for (const std::string& input : inputs) {
    GYRE_ASSIGN_OR_RETURN(EinsumLabels labels, ParseOperand(input));
    parsed.inputs.push_back(std::move(labels));
  }
  if (absl::StrContains(sides[1], ',')) {
    return absl::InvalidArgumentError(
        absl::StrCat("equation '", equation, "' must have one output"));
  }
  GYRE_ASSIGN_OR_RETURN(parsed.output, ParseOperand(sides[1]));
  for (const EinsumLabel label : parsed.output) {
    const bool found = std::any_of(parsed.inputs.begin(), parsed.inputs.end(),
                                   [&](const EinsumLabels& in) { return Contains(in, label); });
    if (!found && label != EinsumEquation::kEllipsis) {
      return absl::InvalidArgumentError(absl::StrCat(
          "equation '", equation, "': no input has the label '", LabelName(label), "'"));
    }
  }
  return parsed;
}

absl::StatusOr<ResolvedEinsum> ResolveEinsum(const EinsumEquation& equation,
                                             absl::Span<const PartialShape> shapes) {
  ResolvedEinsum resolved;
  int most_broadcast = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(const int num_broadcast,
                          NumBroadcast(equation.inputs[i], shapes[i].rank(), i));
    most_broadcast = std::max(most_broadcast, num_broadcast);
    EinsumLabels labels = ExpandEllipsis(equation.inputs[i], num_broadcast);
    for (size_t d = 0; d < labels.size(); ++d) {
      GYRE_RETURN_IF_ERROR(
          MatchSize(labels[d], shapes[i].dim(static_cast<int>(d)), resolved.sizes));
    }
    resolved.inputs.push_back(std::move(labels));
  }
  if (most_broadcast > 0 && !Contains(equation.output, EinsumEquation::kEllipsis)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the output has ", most_broadcast,
                     " broadcasting dimensions, but the equation's output has no '...'"));
  }
  resolved.output = ExpandEllipsis(equation.output, most_broadcast);
  return resolved;
}

}  // namespace gyre
