#include "cluster/group/survey.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gyre::cluster {
namespace {

constexpr int64_t kAgainNanos = 250'000'000;
// Who has not answered by then is asked anew.
constexpr int64_t kPatienceNanos = 1'000'000'000;

}  // namespace

bool Survey::IsDue(int64_t now) const {
  if (number_ == 0) return true;
  const bool is_answered =
      std::all_of(answers_.begin(), answers_.end(), [](const auto& a) { return a.has_value(); });
  return now - asked_nanos_ >= (is_answered ? kAgainNanos : kPatienceNanos);
}

uint64_t Survey::Ask(int64_t now) {
  asked_nanos_ = now;
  for (auto& answer : answers_) answer.reset();
  return ++number_;
}

bool Survey::Note(int rank, const proto::Whereabouts& answer, int64_t now) {
  if (answer.number() != number_) return false;
  answers_[static_cast<size_t>(rank)] = answer;
  std::vector<uint64_t> activities;
  for (const auto& each : answers_) {
    if (!each) return true;
    if (each->state() != proto::Whereabouts::IDLE) {
      Reset();
      return true;
    }
    activities.push_back(each->activity());
  }
  if (!stalled_since_ || activities != activities_) {
    stalled_since_ = asked_nanos_;
    activities_ = std::move(activities);
  }
  stalled_nanos_ = now - *stalled_since_;
  return true;
}

std::string PlaceText(const std::string& node,
                      const std::vector<std::pair<std::string, int64_t>>& loops) {
  std::string text = absl::StrCat("node ", node);
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop)
    absl::StrAppend(&text, " in loop ", loop->first, ", iteration ", loop->second);
  return text;
}

}  // namespace gyre::cluster
