#include "cluster/transport/tcp.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gyre::cluster {
namespace {

bool IsNotNow(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

class Tcp final : public ByteStream {
 public:
  Tcp(Fd socket, std::string peer) : socket_(std::move(socket)), peer_(std::move(peer)) {}

  absl::StatusOr<size_t> Write(absl::Span<const absl::string_view> pieces) override {
    constexpr size_t kMost = 8;
    std::array<iovec, kMost> parts;
    const size_t n = std::min(pieces.size(), kMost);
    for (size_t i = 0; i < n; ++i)
      parts[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = n;
    const ssize_t written = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (written >= 0) return static_cast<size_t>(written);
    if (IsNotNow(errno) || errno == ENOTCONN) return size_t{0};
    return SystemError(absl::StrCat("lost ", name()));
  }

  absl::StatusOr<size_t> Read(absl::Span<char> into) override {
    const ssize_t n = recv(socket_.get(), into.data(), into.size(), 0);
    if (n > 0) return static_cast<size_t>(n);
    if (n == 0) return absl::UnavailableError(absl::StrCat(name(), " was closed"));
    if (IsNotNow(errno) || errno == ENOTCONN) return size_t{0};
    return SystemError(absl::StrCat("lost ", name()));
  }

  void LookAgain() override {}
  void HangUp() override { shutdown(socket_.get(), SHUT_RDWR); }
  bool PrepareWait(bool) override { return true; }
  void EndWait() override {}
  int fd() const override { return socket_.get(); }
  bool WaitsForOutput() const override { return true; }
  bool NeedsChecksum() const override { return true; }
  std::string name() const override { return absl::StrCat("TCP ", peer_); }

 private:
  const Fd socket_;
  const std::string peer_;
};

}  // namespace

std::unique_ptr<ByteStream> TcpStream(Fd socket, std::string peer) {
  return std::make_unique<Tcp>(std::move(socket), std::move(peer));
}

}  // namespace gyre::cluster
