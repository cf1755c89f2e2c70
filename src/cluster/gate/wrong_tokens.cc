#include "cluster/gate/wrong_tokens.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gyre::cluster {
namespace {

constexpr size_t kMostHosts = 1024;
constexpr size_t kMostReported = 3;

}  // namespace

bool WrongTokens::MayTry(const std::string& host, int64_t now) {
  const auto it = hosts_.find(host);
  if (it == hosts_.end()) return true;
  if (now - it->second.last > kForgetNanos) {
    hosts_.erase(it);
    return true;
  }
  if (now - second_ >= kPerNanos) {
    second_ = now;
    tries_ = 0;
    for (auto& [name, each] : hosts_) each.tries = 0;
  }
  if (it->second.tries >= kMostTries || tries_ >= kMostTriesOfAll) return false;
  ++it->second.tries;
  ++tries_;
  return true;
}

int64_t WrongTokens::Add(const std::string& name, int64_t now) {
  if (hosts_.size() >= kMostHosts && !hosts_.contains(name)) Forget(now);
  Host& host = hosts_[name];
  host.last = now;
  ++host.wrong;
  ++host.untold;
  ++untold_;
  const int doublings = std::min(host.wrong - 1, 10);
  return std::min(kFirstDelayNanos << doublings, kMostDelayNanos);
}

// Those that have been quiet for long, or at least the one that was quiet for longest.
void WrongTokens::Forget(int64_t now) {
  for (auto it = hosts_.begin(); it != hosts_.end();) {
    if (now - it->second.last > kForgetNanos) {
      hosts_.erase(it);  // here comes the last one, or the end
    } else {
      ++it;
    }
  }
  if (hosts_.size() < kMostHosts) return;
  hosts_.erase(std::min_element(hosts_.begin(), hosts_.end(), [](const auto& a, const auto& b) {
    return a.second.last < b.second.last;
  }));
}

std::string WrongTokens::Report(int64_t now) {
  if (untold_ == 0 || now < next_report_) return "";
  std::vector<std::pair<int, std::string>> most;
  for (auto& [name, host] : hosts_) {
    if (const int untold = std::exchange(host.untold, 0); untold > 0)
      most.emplace_back(untold, name);
  }
  std::sort(most.rbegin(), most.rend());
  if (most.size() > kMostReported) most.resize(kMostReported);
  std::string text = absl::StrCat(
      untold_, untold_ == 1 ? " wrong token" : " wrong tokens", ", of ",
      absl::StrJoin(most, ", ", [](std::string* out, const std::pair<int, std::string>& host) {
        absl::StrAppend(out, host.second, " (", host.first, ")");
      }));
  untold_ = 0;
  next_report_ = now + kReportNanos;
  return text;
}

}  // namespace gyre::cluster
