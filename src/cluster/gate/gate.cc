#include "cluster/gate/gate.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/env.h"
#include "base/signals.h"
#include "base/status.h"
#include "cluster/gate/knock.h"
#include "cluster/secret.h"

namespace gyre::cluster {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

bool Answer(const Fd& fd, const absl::Status& status) {
  const std::string answer = EncodeAnswer(status);
  ssize_t n = -1;
  do {
    n = send(fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(answer.size());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Gate>> Gate::Open(const HostPort& address, GateOptions options,
                                                 Admit admit) {
  Fd wake(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake) return SystemError("cannot make an event");
  HostPort bound;
  GYRE_ASSIGN_OR_RETURN(auto listener, ListenTcp(address, &bound));
  return std::unique_ptr<Gate>(
      new Gate(std::move(wake), std::move(listener), bound, std::move(options), std::move(admit)));
}

Gate::Gate(Fd wake, std::unique_ptr<Listener> listener, const HostPort& address,
           GateOptions options, Admit admit)
    : wake_(std::move(wake)),
      listener_(std::move(listener)),
      address_(address),
      options_(std::move(options)),
      admit_(std::move(admit)),
      thread_(StartThread([this] { Work(); })) {}

Gate::~Gate() {
  ends_ = true;
  const uint64_t one = 1;
  while (write(wake_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
}

void Gate::Work() {
  while (!ends_) {
    Await();
    const int64_t now = SystemClock().NowNanos();
    std::erase_if(callers_, [&](Caller& caller) { return caller.is_heard && !Hear(caller, now); });
    EndOverdue(now);
    Accept();
    if (std::string report = wrong_tokens_.Report(now); !report.empty() && options_.log)
      options_.log(report);
  }
}

// Until somebody calls or says something, or a caller's time is up.
void Gate::Await() {
  const int64_t now = SystemClock().NowNanos();
  int64_t until = now + kNanosPerSecond;
  std::vector<pollfd> fds = {{wake_.get(), POLLIN, 0}, {listener_->PollFd(now, &until), POLLIN, 0}};
  for (const Caller& caller : callers_) {
    // poll skips what is negative: the refused have nothing to say.
    fds.push_back({caller.is_refused ? -1 : caller.fd.get(), POLLIN, 0});
    until = std::min(until, caller.until_nanos);
  }
  const int64_t nanos = std::max<int64_t>(until - SystemClock().NowNanos(), 0);
  const timespec time = {nanos / kNanosPerSecond, nanos % kNanosPerSecond};
  const bool is_any = ppoll(fds.data(), fds.size(), &time, nullptr) > 0;
  for (size_t i = 0; i < callers_.size(); ++i)
    callers_[i].is_heard = is_any && fds[i + 2].revents != 0;
}

void Gate::Accept() {
  // In between, those that are there are heard.
  for (int i = 0; i < options_.most_callers; ++i) {
    Caller caller;
    caller.fd = listener_->Accept(&caller.host);
    if (!caller.fd) return;
    const int64_t now = SystemClock().NowNanos();
    caller.until_nanos = now + options_.patience_nanos;
    // Most have said it all by now.
    if (!Hear(caller, now)) continue;
    MakeRoom();
    callers_.push_back(std::move(caller));
  }
}

void Gate::MakeRoom() {
  if (static_cast<int>(callers_.size()) < options_.most_callers) return;
  std::map<absl::string_view, int> by_host;
  for (const Caller& caller : callers_) ++by_host[caller.host];
  const auto most =
      std::max_element(by_host.begin(), by_host.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  callers_.erase(std::find_if(callers_.begin(), callers_.end(),
                              [&](const Caller& caller) { return caller.host == most->first; }));
}

bool Gate::Hear(Caller& caller, int64_t now) {
  while (!caller.is_refused) {
    const absl::StatusOr<size_t> bytes = KnockBytes(caller.said);
    if (!bytes.ok()) return false;
    if (caller.said.size() == *bytes) return Judge(caller, now);
    char buffer[kMostTokenBytes];
    const ssize_t n = recv(caller.fd.get(), buffer,
                           std::min(*bytes - caller.said.size(), sizeof(buffer)), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n <= 0) return false;
    caller.said.append(buffer, n);
  }
  return true;
}

bool Gate::Judge(Caller& caller, int64_t now) {
  if (!wrong_tokens_.MayTry(caller.host, now)) return false;
  if (IsSameSecret(TokenOf(caller.said), options_.token)) {
    if (Answer(caller.fd, absl::OkStatus())) admit_(std::move(caller.fd));
    return false;
  }
  caller.is_refused = true;
  caller.until_nanos = now + wrong_tokens_.Add(caller.host, now);
  caller.said.clear();
  return true;
}

void Gate::EndOverdue(int64_t now) {
  std::erase_if(callers_, [&](const Caller& caller) {
    if (caller.until_nanos > now) return false;
    if (caller.is_refused)
      Answer(caller.fd, absl::UnauthenticatedError("the token is not this worker's"));
    return true;
  });
}

}  // namespace gyre::cluster
