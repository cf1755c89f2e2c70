#include "cluster/transport/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre::cluster {
namespace {

constexpr size_t kRingBytes = size_t{1} << 20;
constexpr char kHandOver = 'm';  // the byte that the memory's descriptor travels with
// Reads of an empty ring between two looks at whether the other end lives.
constexpr int kLookEvery = 1 << 14;

// One direction. Written by both processes: what the other one writes is checked, not trusted.
struct Ring {
  // Bytes ever written and ever read. release/acquire: who sees them moved sees the bytes.
  alignas(64) std::atomic<uint64_t> written{0};
  alignas(64) std::atomic<uint64_t> read{0};
  // Set before sleeping; who finds them set rings. seq_cst, as is the look at the ring after it:
  // one of the two sees the other.
  alignas(64) std::atomic<uint32_t> reader_sleeps{0};
  std::atomic<uint32_t> writer_sleeps{0};
  alignas(64) char bytes[kRingBytes];
};

// Index 0: from who offered the memory to who accepted it.
struct Memory {
  Ring rings[2];
};

struct Unmap {
  void operator()(Memory* memory) const { munmap(memory, sizeof(Memory)); }
};
using MemoryPtr = std::shared_ptr<Memory>;

absl::StatusOr<MemoryPtr> Map(int fd) {
  void* const at = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return SystemError("cannot map shared memory");
  return MemoryPtr(static_cast<Memory*>(at), Unmap());
}

absl::StatusOr<Fd> MakeMemory() {
  Fd fd(memfd_create("gyre", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return SystemError("cannot make shared memory");
  // Sealed: an end that made it smaller would kill the other.
  if (ftruncate(fd.get(), sizeof(Memory)) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return SystemError("cannot make shared memory");
  }
  return fd;
}

class SharedMemory final : public ByteStream {
 public:
  SharedMemory(MemoryPtr memory, bool is_offerer, std::shared_ptr<const Fd> socket,
               std::string peer)
      : memory_(std::move(memory)),
        out_(memory_->rings[is_offerer ? 0 : 1]),
        in_(memory_->rings[is_offerer ? 1 : 0]),
        socket_(std::move(socket)),
        peer_(std::move(peer)) {}

  absl::StatusOr<size_t> Write(absl::Span<const absl::string_view> pieces) override {
    const uint64_t written = written_.load(std::memory_order_relaxed);
    const uint64_t used = written - out_.read.load(std::memory_order_acquire);
    if (used > kRingBytes) return Spoilt();
    const size_t room = kRingBytes - used;
    size_t taken = 0;
    for (const absl::string_view piece : pieces) {
      const size_t n = std::min(piece.size(), room - taken);
      CopyIn(written + taken, piece.data(), n);
      taken += n;
      if (n < piece.size()) break;
    }
    if (taken == 0) return IsAlive() ? absl::StatusOr<size_t>(0) : Closed();
    written_.store(written + taken, std::memory_order_relaxed);
    out_.written.store(written + taken, std::memory_order_seq_cst);
    RingIfAsleep(out_.reader_sleeps);
    return taken;
  }

  absl::StatusOr<size_t> Read(absl::Span<char> into) override {
    const uint64_t read = read_.load(std::memory_order_relaxed);
    const uint64_t there = in_.written.load(std::memory_order_acquire) - read;
    if (there > kRingBytes) return Spoilt();
    const size_t n = std::min<size_t>(there, into.size());
    if (n == 0) {
      const int empty_reads = empty_reads_.load(std::memory_order_relaxed) + 1;
      empty_reads_.store(empty_reads < kLookEvery ? empty_reads : 0, std::memory_order_relaxed);
      if (empty_reads < kLookEvery || IsAlive()) return size_t{0};
      // What it wrote before it died comes first.
      return in_.written.load(std::memory_order_acquire) != read ? absl::StatusOr<size_t>(0)
                                                                 : Closed();
    }
    CopyOut(read, into.data(), n);
    read_.store(read + n, std::memory_order_relaxed);
    in_.read.store(read + n, std::memory_order_seq_cst);
    RingIfAsleep(in_.writer_sleeps);
    return n;
  }

  void LookAgain() override { empty_reads_.store(kLookEvery, std::memory_order_relaxed); }
  void HangUp() override { shutdown(socket_->get(), SHUT_RDWR); }

  bool PrepareWait(bool for_write) override {
    LookAgain();  // who was woken by the other's death sees it at once
    in_.reader_sleeps.store(1, std::memory_order_seq_cst);
    if (for_write) out_.writer_sleeps.store(1, std::memory_order_seq_cst);
    const bool may_read =
        in_.written.load(std::memory_order_seq_cst) != read_.load(std::memory_order_relaxed);
    const uint64_t used =
        written_.load(std::memory_order_relaxed) - out_.read.load(std::memory_order_seq_cst);
    return !may_read && !(for_write && used < kRingBytes);
  }
  void EndWait() override {
    in_.reader_sleeps.store(0, std::memory_order_relaxed);
    out_.writer_sleeps.store(0, std::memory_order_relaxed);
    char bells[64];
    while (recv(socket_->get(), bells, sizeof(bells), MSG_DONTWAIT) > 0) {
    }
  }
  int fd() const override { return socket_->get(); }
  bool WaitsForOutput() const override { return false; }
  bool NeedsChecksum() const override { return false; }
  std::string name() const override { return absl::StrCat("shared memory with ", peer_); }

 private:
  void CopyIn(uint64_t position, const char* from, size_t n) {
    const size_t at = position % kRingBytes, first = std::min(n, kRingBytes - at);
    std::memcpy(out_.bytes + at, from, first);
    std::memcpy(out_.bytes, from + first, n - first);
  }
  void CopyOut(uint64_t position, char* to, size_t n) const {
    const size_t at = position % kRingBytes, first = std::min(n, kRingBytes - at);
    std::memcpy(to, in_.bytes + at, first);
    std::memcpy(to + first, in_.bytes, n - first);
  }
  void RingIfAsleep(std::atomic<uint32_t>& sleeps) const {
    if (sleeps.load(std::memory_order_seq_cst) == 0) return;
    if (sleeps.exchange(0, std::memory_order_seq_cst) == 0) return;
    const char bell = 0;
    // A full socket rings already; a dead one is noticed by IsAlive.
    (void)!send(socket_->get(), &bell, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  // Bells stay for who sleeps: whoever else took one would leave the sleeper asleep, with nobody to
  // ring again.
  bool IsAlive() const {
    char bell;
    const ssize_t n = recv(socket_->get(), &bell, 1, MSG_DONTWAIT | MSG_PEEK);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
  }
  absl::Status Closed() const {
    return absl::UnavailableError(absl::StrCat(name(), " was closed"));
  }
  absl::Status Spoilt() const {
    return absl::DataLossError(absl::StrCat(name(), " was spoilt by the other end"));
  }

  const MemoryPtr memory_;
  Ring& out_;
  Ring& in_;
  const std::shared_ptr<const Fd> socket_;
  const std::string peer_;
  // This end's own, which the other cannot spoil. Who prepares to wait looks at them beside who
  // writes and who reads: an old value makes it look again, no more.
  std::atomic<uint64_t> written_{0};  // the writer's
  std::atomic<uint64_t> read_{0};     // the reader's
  std::atomic<int> empty_reads_{0};
};

// The memory that the other end hands over; null: not yet.
absl::StatusOr<MemoryPtr> Receive(const Fd& socket, const std::string& peer) {
  char byte = 0;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t n = recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return MemoryPtr();
  if (n < 0) return SystemError(absl::StrCat("lost ", peer));
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  Fd fd, surplus;  // for alignment, there is room for a second one
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    for (Fd* const each : {&fd, &surplus}) {
      const size_t at = each == &fd ? 0 : sizeof(int);
      if (header->cmsg_len < CMSG_LEN(at + sizeof(int))) break;
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header) + at, sizeof(int));
      *each = Fd(descriptor);
    }
  }
  struct stat about = {};
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
  if (n != 1 || byte != kHandOver || !fd || surplus || fstat(fd.get(), &about) != 0 ||
      about.st_size != static_cast<off_t>(sizeof(Memory)) ||
      (fcntl(fd.get(), F_GET_SEALS) & kSeals) != kSeals) {
    return absl::InvalidArgumentError(
        absl::StrCat(peer, " offers no shared memory of this version"));
  }
  return Map(fd.get());
}

// An end whose memory is still to come.
class ComingMemory final : public ByteStream {
 public:
  ComingMemory(Fd socket, std::string peer)
      : socket_(std::make_shared<const Fd>(std::move(socket))), peer_(std::move(peer)) {}
  ~ComingMemory() override { delete there(); }

  absl::StatusOr<size_t> Write(absl::Span<const absl::string_view> pieces) override {
    SharedMemory* const stream = there();
    return stream == nullptr ? absl::StatusOr<size_t>(0) : stream->Write(pieces);
  }
  absl::StatusOr<size_t> Read(absl::Span<char> into) override {
    if (there() == nullptr) {
      GYRE_ASSIGN_OR_RETURN(MemoryPtr memory, Receive(*socket_, peer_));
      if (memory == nullptr) return size_t{0};
      there_.store(new SharedMemory(std::move(memory), false, socket_, peer_),
                   std::memory_order_seq_cst);
      if (sleeps_.load(std::memory_order_seq_cst)) there()->PrepareWait(true);
    }
    return there()->Read(into);
  }
  void LookAgain() override {
    if (SharedMemory* const stream = there()) stream->LookAgain();
  }
  void HangUp() override { shutdown(socket_->get(), SHUT_RDWR); }
  bool PrepareWait(bool for_write) override {
    // Before it looks: who finds the memory meanwhile makes it ring.
    sleeps_.store(true, std::memory_order_seq_cst);
    SharedMemory* const stream = there();
    return stream == nullptr || stream->PrepareWait(for_write);
  }
  void EndWait() override {
    sleeps_.store(false, std::memory_order_relaxed);
    if (SharedMemory* const stream = there()) stream->EndWait();
  }
  int fd() const override { return socket_->get(); }
  bool WaitsForOutput() const override { return false; }
  bool NeedsChecksum() const override { return false; }
  std::string name() const override { return absl::StrCat("shared memory with ", peer_); }

 private:
  SharedMemory* there() const { return there_.load(std::memory_order_seq_cst); }

  const std::shared_ptr<const Fd> socket_;
  const std::string peer_;
  std::atomic<SharedMemory*> there_{nullptr};  // owned; set once, by who reads
  std::atomic<bool> sleeps_{false};            // somebody does, or prepares to
};

}  // namespace

absl::StatusOr<std::unique_ptr<ByteStream>> OfferSharedMemory(Fd socket, std::string peer) {
  GYRE_ASSIGN_OR_RETURN(const Fd fd, MakeMemory());
  GYRE_ASSIGN_OR_RETURN(MemoryPtr memory, Map(fd.get()));
  new (memory.get()) Memory;
  char byte = kHandOver;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int descriptor = fd.get();
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  if (sendmsg(socket.get(), &message, MSG_NOSIGNAL) != 1)
    return SystemError(absl::StrCat("cannot hand shared memory to ", peer));
  return std::make_unique<SharedMemory>(
      std::move(memory), true, std::make_shared<const Fd>(std::move(socket)), std::move(peer));
}

std::unique_ptr<ByteStream> AcceptSharedMemory(Fd socket, std::string peer) {
  return std::make_unique<ComingMemory>(std::move(socket), std::move(peer));
}

absl::StatusOr<StreamPair> SharedMemoryPair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
    return SystemError("cannot make a socket");
  auto offers = std::make_shared<const Fd>(ends[0]), accepts = std::make_shared<const Fd>(ends[1]);
  GYRE_ASSIGN_OR_RETURN(const Fd fd, MakeMemory());
  GYRE_ASSIGN_OR_RETURN(MemoryPtr memory, Map(fd.get()));
  new (memory.get()) Memory;
  return StreamPair(
      std::make_unique<SharedMemory>(memory, true, std::move(offers), "this process"),
      std::make_unique<SharedMemory>(memory, false, std::move(accepts), "this process"));
}

}  // namespace gyre::cluster
