#include "cluster/gate/knock.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "base/status.h"

namespace gyre::cluster {
namespace {

constexpr absl::string_view kMagic = "gyre\1";
constexpr size_t kKnockFront = kMagic.size() + sizeof(uint16_t);
constexpr size_t kAnswerFront = sizeof(uint8_t) + sizeof(uint16_t);
constexpr size_t kMostAnswerBytes = 1024;
// Between two calls of a worker that hangs up.
constexpr int64_t kPauseNanos = 20'000'000;

void PutSize(size_t bytes, std::string& out) {
  const auto size = static_cast<uint16_t>(bytes);
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
}

size_t SizeAt(absl::string_view bytes, size_t at) {
  uint16_t size = 0;
  std::memcpy(&size, bytes.data() + at, sizeof(size));
  return size;
}

// The errors of one call: ABORTED where it may be tried again.
absl::Status NoAnswer(const std::string& address, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat(address, " does not answer: ", why));
}
absl::Status HungUp(const std::string& address) {
  return absl::AbortedError(
      absl::StrCat(address,
                   " hangs up without an answer: many others call it, or it is no worker "
                   "of this version of Gyre"));
}

bool IsNotNow(int error) { return error == EAGAIN || error == EINTR; }

absl::Status SendAll(const Fd& fd, absl::string_view bytes, const std::string& address,
                     int64_t deadline) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && !IsNotNow(errno)) return HungUp(address);
    if (n > 0) bytes.remove_prefix(n);
    if (n < 0 && !AwaitEvents(fd, POLLOUT, deadline)) return NoAnswer(address, "it takes nothing");
  }
  return absl::OkStatus();
}

// Reads until there are `bytes`, and no more.
absl::Status ReceiveUpTo(const Fd& fd, size_t bytes, std::string& into, const std::string& address,
                         int64_t deadline) {
  while (into.size() < bytes) {
    char buffer[kMostAnswerBytes];
    const ssize_t n =
        recv(fd.get(), buffer, std::min(bytes - into.size(), sizeof(buffer)), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && !IsNotNow(errno))) return HungUp(address);
    if (n > 0) into.append(buffer, n);
    if (n < 0 && !AwaitEvents(fd, POLLIN, deadline)) return NoAnswer(address, "it says nothing");
  }
  return absl::OkStatus();
}

absl::StatusOr<Fd> KnockOnce(const HostPort& where, absl::string_view token, int64_t deadline) {
  const std::string address = where.ToString();
  GYRE_ASSIGN_OR_RETURN(Fd fd, ConnectTcp(where, deadline));
  GYRE_RETURN_IF_ERROR(SendAll(fd, EncodeKnock(token), address, deadline));
  std::string answer;
  GYRE_RETURN_IF_ERROR(ReceiveUpTo(fd, kAnswerFront, answer, address, deadline));
  const auto code = static_cast<absl::StatusCode>(answer[0]);
  const size_t bytes = SizeAt(answer, 1);
  if (bytes > kMostAnswerBytes || (code == absl::StatusCode::kOk && bytes > 0))
    return absl::UnavailableError(absl::StrCat(address, " answers as no worker does"));
  if (code == absl::StatusCode::kOk) return fd;
  GYRE_RETURN_IF_ERROR(ReceiveUpTo(fd, kAnswerFront + bytes, answer, address, deadline));
  const bool is_refusal = code == absl::StatusCode::kUnauthenticated;
  return absl::Status(is_refusal ? code : absl::StatusCode::kUnavailable,
                      answer.substr(kAnswerFront));
}

}  // namespace

std::string EncodeKnock(absl::string_view token) {
  std::string knock(kMagic);
  PutSize(token.size(), knock);
  return absl::StrCat(knock, token);
}

absl::StatusOr<size_t> KnockBytes(absl::string_view begin) {
  const bool is_ours = begin.substr(0, kMagic.size()) == kMagic.substr(0, begin.size());
  if (is_ours && begin.size() < kKnockFront) return kKnockFront;
  const size_t token = is_ours ? SizeAt(begin, kMagic.size()) : 0;
  if (!is_ours || token > kMostTokenBytes)
    return absl::InvalidArgumentError("whoever calls is no client");
  return kKnockFront + token;
}

absl::string_view TokenOf(absl::string_view knock) { return knock.substr(kKnockFront); }

std::string EncodeAnswer(const absl::Status& status) {
  std::string answer(1, static_cast<char>(status.code()));
  const absl::string_view message = status.message().substr(0, kMostAnswerBytes);
  PutSize(message.size(), answer);
  return absl::StrCat(answer, message);
}

absl::StatusOr<Fd> Knock(const std::string& address, absl::string_view token,
                         int64_t patience_nanos) {
  if (token.size() > kMostTokenBytes) {
    return absl::UnauthenticatedError(absl::StrCat(
        "a token of ", token.size(), " bytes is no worker's: ", kMostTokenBytes, " are the most"));
  }
  GYRE_ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  const int64_t deadline = SystemClock().NowNanos() + patience_nanos;
  absl::Status hung_up;
  while (true) {
    absl::StatusOr<Fd> fd = KnockOnce(where, token, deadline);
    if (fd.ok()) return fd;
    const int64_t now = SystemClock().NowNanos();
    if (absl::IsAborted(fd.status())) {
      hung_up = absl::UnavailableError(fd.status().message());
    } else if (hung_up.ok() || now < deadline) {
      return fd;
    }
    // Of the last call there may be no more to say than that the time was up.
    if (now + kPauseNanos > deadline) return hung_up;
    AwaitEvents(Fd(), 0, now + kPauseNanos);
  }
}

}  // namespace gyre::cluster
