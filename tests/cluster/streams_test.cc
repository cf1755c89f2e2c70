// What all byte streams promise, on each kind of them; and what shared memory does when the other
// end writes nonsense into it.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "base/status.h"
#include "cluster/transport/shared_memory.h"
#include "cluster/transport/socket.h"
#include "cluster/transport/tcp.h"
#include "gmock/gmock.h"
#include "support/transcript.h"

namespace gyre::cluster {
namespace {

using ::testing::HasSubstr;
using ::testing::TestWithParam;

constexpr int kPatienceMs = 10'000;  // nothing takes so long unless it never comes

struct Sockets {
  Fd dials, accepts;
};

absl::StatusOr<Sockets> TcpSockets() {
  HostPort bound;
  GYRE_ASSIGN_OR_RETURN(const auto listener, ListenTcp({"127.0.0.1", 0}, &bound));
  Sockets sockets;
  GYRE_ASSIGN_OR_RETURN(sockets.dials, DialTcp({"127.0.0.1", bound.port}));
  while (!sockets.accepts) sockets.accepts = listener->Accept();
  return sockets;
}

absl::StatusOr<Sockets> UnixSockets() {
  static std::atomic<int> next{0};
  const std::string name = absl::StrCat("gyre-test-", getpid(), "-", next++);
  GYRE_ASSIGN_OR_RETURN(const auto listener, ListenUnix(name));
  Sockets sockets;
  GYRE_ASSIGN_OR_RETURN(sockets.dials, DialUnix(name));
  sockets.accepts = listener->Accept();
  return sockets;
}

absl::StatusOr<StreamPair> TcpPair() {
  GYRE_ASSIGN_OR_RETURN(Sockets sockets, TcpSockets());
  return StreamPair(TcpStream(std::move(sockets.dials), "one"),
                    TcpStream(std::move(sockets.accepts), "two"));
}

absl::StatusOr<StreamPair> HandedOverPair() {
  GYRE_ASSIGN_OR_RETURN(Sockets sockets, UnixSockets());
  StreamPair pair;
  GYRE_ASSIGN_OR_RETURN(pair.first, OfferSharedMemory(std::move(sockets.dials), "one"));
  pair.second = AcceptSharedMemory(std::move(sockets.accepts), "two");
  char none;  // but the memory comes
  GYRE_RETURN_IF_ERROR(pair.second->Read(absl::MakeSpan(&none, 1)).status());
  return pair;
}

struct Kind {
  const char* name;
  absl::StatusOr<StreamPair> (*make)();
};

class Streams : public TestWithParam<Kind> {
 protected:
  void SetUp() override {
    absl::StatusOr<StreamPair> pair = GetParam().make();
    ASSERT_TRUE(pair.ok()) << pair.status();
    std::tie(one_, two_) = *std::move(pair);
  }
  std::unique_ptr<ByteStream> one_, two_;
};

INSTANTIATE_TEST_SUITE_P(Each, Streams,
                         ::testing::Values(Kind{"Tcp", TcpPair},
                                           Kind{"MemoryPair", SharedMemoryPair},
                                           Kind{"MemoryHandedOver", HandedOverPair}),
                         [](const auto& info) { return std::string(info.param.name); });

// The i-th byte that a stream carries.
char ByteAt(uint64_t i) { return static_cast<char>((i * 0x9e3779b97f4a7c15) >> 56); }

// Writes up to `n` bytes that follow the first `sent`, in pieces.
absl::StatusOr<size_t> WriteSome(ByteStream& stream, uint64_t sent, size_t n,
                                 std::mt19937_64& random) {
  std::string bytes(n, '\0');
  for (size_t i = 0; i < n; ++i) bytes[i] = ByteAt(sent + i);
  std::vector<absl::string_view> pieces;
  absl::string_view rest = bytes;
  while (!rest.empty() && pieces.size() < 12) {
    const size_t size = random() % 4 == 0 ? 0 : 1 + random() % rest.size();
    pieces.push_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  return stream.Write(pieces);
}

// Reads up to `n` bytes; how many. A failed test where they do not follow the first `received`.
absl::StatusOr<size_t> ReadSome(ByteStream& stream, uint64_t received, size_t n) {
  std::string bytes(n, '\0');
  GYRE_ASSIGN_OR_RETURN(const size_t got, stream.Read(absl::MakeSpan(bytes.data(), n)));
  for (size_t i = 0; i < got; ++i) {
    if (bytes[i] != ByteAt(received + i))
      return absl::InternalError(absl::StrCat("byte ", received + i, " is another one"));
  }
  return got;
}

TEST_P(Streams, CarryBytesInOrderBothWays) {
  constexpr uint64_t kBytes = 4 << 20;
  std::mt19937_64 random(testing::TestSeed());
  struct Way {
    ByteStream *from, *to;
    uint64_t sent = 0, received = 0;
  };
  for (Way ways[2] = {{one_.get(), two_.get()}, {two_.get(), one_.get()}};
       ways[0].received < kBytes || ways[1].received < kBytes;) {
    Way& way = ways[random() % 2];
    const size_t n = 1 + random() % (random() % 2 == 0 ? 100 : 100'000);
    if (random() % 2 == 0) {
      const auto written = WriteSome(*way.from, way.sent, n, random);
      ASSERT_TRUE(written.ok()) << written.status();
      ASSERT_LE(*written, n);
      way.sent += *written;
    } else {
      const auto read = ReadSome(*way.to, way.received, n);
      ASSERT_TRUE(read.ok()) << read.status();
      way.received += *read;
      ASSERT_LE(way.received, way.sent);
    }
  }
}

TEST_P(Streams, TakeNoMoreThanTheyHaveRoomFor) {
  std::mt19937_64 random(1);
  uint64_t sent = 0, received = 0;
  for (int full = 0; full < 3;) {
    const auto written = WriteSome(*one_, sent, 1 << 16, random);
    ASSERT_TRUE(written.ok()) << written.status();
    sent += *written;
    // TCP moves bytes from one end's buffer into the other's a little later.
    full = *written == 0 ? full + 1 : 0;
  }
  ASSERT_GT(sent, 100'000u);
  while (received < sent) {
    const auto read = ReadSome(*two_, received, 1 << 16);
    ASSERT_TRUE(read.ok()) << read.status();
    received += *read;
  }
  const auto room = WriteSome(*one_, sent, 1000, random);
  ASSERT_TRUE(room.ok()) << room.status();
  EXPECT_GT(*room, 0u);
}

int64_t NowMs() { return SystemClock().NowNanos() / 1'000'000; }

// Sleeps as who wants to read, or write, does; false: in vain.
bool SleepOn(ByteStream& stream, bool for_write, int extra_fd = -1) {
  bool woke = true;
  if (stream.PrepareWait(for_write)) {
    const bool output = for_write && stream.WaitsForOutput();
    pollfd fds[2] = {{stream.fd(), static_cast<int16_t>(output ? POLLIN | POLLOUT : POLLIN), 0},
                     {extra_fd, POLLIN, 0}};
    woke = poll(fds, 2, kPatienceMs) > 0;
  }
  stream.EndWait();
  return woke;
}

TEST_P(Streams, TellThatTheOtherEndIsGoneBehindWhatItSent) {
  std::mt19937_64 random(1);
  for (uint64_t sent = 0; sent < 1000;) {
    const auto written = WriteSome(*one_, sent, 1000 - sent, random);
    ASSERT_TRUE(written.ok()) << written.status();
    sent += *written;
  }
  one_ = nullptr;
  const int64_t begin = NowMs();
  uint64_t received = 0;
  absl::Status status;
  while (status.ok() && NowMs() - begin < 1000) {
    const auto read = ReadSome(*two_, received, 300);
    status = read.status();
    if (read.ok()) received += *read;
  }
  EXPECT_EQ(received, 1000u);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(two_->name()));
}

TEST_P(Streams, TellWhoWritesThatTheOtherEndIsGone) {
  std::mt19937_64 random(1);
  one_ = nullptr;
  const int64_t begin = NowMs();
  absl::Status status;
  uint64_t sent = 0;
  while (status.ok() && NowMs() - begin < 1000) {
    const auto written = WriteSome(*two_, sent, 1 << 16, random);
    status = written.status();
    if (written.ok()) sent += *written;
  }
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_P(Streams, WakeWhoSleepsWhenTheOtherEndGoes) {
  std::atomic<bool> saw_end{false};
  std::thread sleeper([&] {
    while (SleepOn(*two_, false)) {
      char byte;
      if (!two_->Read(absl::MakeSpan(&byte, 1)).ok()) {
        saw_end = true;
        return;
      }
    }
  });
  one_ = nullptr;
  sleeper.join();
  EXPECT_TRUE(saw_end);
}

// One sends and sleeps while there is no room; of the two who receive, one sleeps and one polls, as
// a ticker does beside who waits. All bytes arrive, and nobody sleeps in vain.
TEST_P(Streams, LoseNoWakeUpBetweenThreads) {
  const uint64_t bytes = testing::IsLongTest() ? uint64_t{256} << 20 : uint64_t{12} << 20;
  std::atomic<int> in_vain{0};
  std::atomic<uint64_t> received{0};
  const Fd progress(eventfd(0, EFD_NONBLOCK));
  std::mutex mutex;  // held by who reads
  const auto read_all = [&](std::mt19937_64& random) {
    const std::lock_guard lock(mutex);
    while (true) {
      const auto read = ReadSome(*two_, received, 1 + random() % 40'000);
      ASSERT_TRUE(read.ok()) << read.status();
      if (*read == 0) return;
      received += *read;
    }
  };
  std::thread sends([&] {
    std::mt19937_64 random(testing::TestSeed());
    for (uint64_t sent = 0; sent < bytes && in_vain == 0;) {
      const size_t n = std::min<uint64_t>(1 + random() % 50'000, bytes - sent);
      const auto written = WriteSome(*one_, sent, n, random);
      ASSERT_TRUE(written.ok()) << written.status();
      sent += *written;
      if (*written == 0 && !SleepOn(*one_, true)) ++in_vain;
    }
  });
  std::thread sleeps([&] {
    std::mt19937_64 random(testing::TestSeed() + 1);
    while (received < bytes && in_vain == 0) {
      if (!SleepOn(*two_, false, progress.get())) ++in_vain;
      uint64_t count = 0;
      (void)!read(progress.get(), &count, sizeof(count));
      read_all(random);
    }
  });
  std::thread polls([&] {
    std::mt19937_64 random(testing::TestSeed() + 2);
    while (received < bytes && in_vain == 0) {
      const uint64_t before = received;
      read_all(random);
      const uint64_t one = 1;
      if (received != before) (void)!write(progress.get(), &one, sizeof(one));
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    }
  });
  sends.join();
  sleeps.join();
  polls.join();
  EXPECT_EQ(in_vain, 0);
  EXPECT_EQ(received, bytes);
}

// ---- Shared memory with somebody who does not keep to its form

// Receives what OfferSharedMemory hands over, as the descriptor that it is.
Fd ReceiveMemory(const Fd& socket) {
  char byte = 0;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC) != 1) return Fd();
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
  return Fd(descriptor);
}

// Hands over any descriptors, with any byte.
void SendDescriptors(const Fd& socket, char byte, const std::vector<int>& descriptors) {
  iovec part = {&byte, 1};
  const size_t size = descriptors.size() * sizeof(int);
  std::vector<char> control(CMSG_SPACE(size));
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), descriptors.data(), size);
  }
  ASSERT_EQ(sendmsg(socket.get(), &message, MSG_NOSIGNAL), 1);
}

TEST(SharedMemoryMalformed, SpoiltIndicesEndTheStreamAndNothingElse) {
  constexpr size_t kIndexBytes = 192;  // of a ring: what stands before its bytes
  auto sockets = UnixSockets();
  ASSERT_TRUE(sockets.ok()) << sockets.status();
  auto stream = OfferSharedMemory(std::move(sockets->dials), "a stranger");
  ASSERT_TRUE(stream.ok()) << stream.status();
  const Fd fd = ReceiveMemory(sockets->accepts);
  struct stat about = {};
  ASSERT_EQ(fstat(fd.get(), &about), 0);
  auto* const memory = static_cast<char*>(
      mmap(nullptr, about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
  ASSERT_NE(memory, MAP_FAILED);
  std::mt19937_64 random(testing::TestSeed());
  std::string bytes(3000, '\0');
  int losses = 0;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t number = random() >> (random() % 64);
    char* const ring = memory + (random() % 2) * (about.st_size / 2);
    std::memcpy(ring + random() % (kIndexBytes / 8) * 8, &number, sizeof(number));
    const size_t n = 1 + random() % bytes.size();
    const absl::string_view piece(bytes.data(), n);
    for (const auto& moved :
         {(*stream)->Write({piece}), (*stream)->Read(absl::MakeSpan(bytes.data(), n))}) {
      if (moved.ok()) {
        ASSERT_LE(*moved, n);
      } else {
        ASSERT_TRUE(absl::IsDataLoss(moved.status())) << moved.status();
        ++losses;
      }
    }
    (*stream)->PrepareWait(random() % 2 == 0);
    (*stream)->EndWait();
  }
  EXPECT_GT(losses, 1000);
  munmap(memory, about.st_size);
}

int OpenDescriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

TEST(SharedMemoryMalformed, IsNotTakenFromWhoOffersAnythingElse) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
  const int before = OpenDescriptors();
  {
    auto honest = UnixSockets();
    auto stream = OfferSharedMemory(std::move(honest->dials), "one");
    const Fd good = ReceiveMemory(honest->accepts);
    struct stat about = {};
    ASSERT_EQ(fstat(good.get(), &about), 0);
    const Fd unsealed(memfd_create("unsealed", MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(unsealed.get(), about.st_size), 0);
    const Fd small(memfd_create("small", MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(small.get(), 4096), 0);
    ASSERT_EQ(fcntl(small.get(), F_ADD_SEALS, kSeals), 0);
    struct Offer {
      char byte;
      std::vector<int> descriptors;
    };
    for (const Offer& offer :
         {Offer{'m', {}}, Offer{'x', {good.get()}}, Offer{'m', {unsealed.get()}},
          Offer{'m', {small.get()}}, Offer{'m', {good.get(), good.get()}},
          Offer{'m', {STDIN_FILENO}}, Offer{'m', std::vector<int>(100, good.get())}}) {
      auto sockets = UnixSockets();
      SendDescriptors(sockets->dials, offer.byte, offer.descriptors);
      char c;
      const auto got =
          AcceptSharedMemory(std::move(sockets->accepts), "a caller")->Read(absl::MakeSpan(&c, 1));
      EXPECT_TRUE(absl::IsInvalidArgument(got.status())) << got.status();
      EXPECT_THAT(std::string(got.status().message()), HasSubstr("a caller offers no shared"));
    }
    auto sockets = UnixSockets();
    const auto early = AcceptSharedMemory(std::move(sockets->accepts), "a caller");
    char c;
    EXPECT_EQ(*early->Read(absl::MakeSpan(&c, 1)), 0u);
    EXPECT_EQ(*early->Write({"x"}), 0u);
    SendDescriptors(sockets->dials, 'm', {good.get()});
    EXPECT_EQ(*early->Read(absl::MakeSpan(&c, 1)), 0u);
    EXPECT_EQ(*early->Write({"x"}), 1u);
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

// ---- Addresses

TEST(Addresses, AreReadAndWritten) {
  for (const std::string text : {"127.0.0.1:4001", "[::1]:65535", "localhost:0"}) {
    const auto got = ParseHostPort(text);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->ToString(), text);
  }
  for (const std::string text :
       {"", ":", "host", "host:", ":1", "host:65536", "host:-1", "::1:80", "host:1x", "[::1]"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseHostPort(text).status())) << text;
  }
}

TEST(Addresses, AreOfThisMachineOrNot) {
  for (const char* const host : {"127.0.0.1", "127.9.9.9", "localhost"}) {
    const auto is_local = IsLoopback(host);
    EXPECT_TRUE(is_local.ok() && *is_local) << host;
  }
  const auto is_local = IsLoopback("0.0.0.0");
  ASSERT_TRUE(is_local.ok()) << is_local.status();
  EXPECT_FALSE(*is_local);
}

TEST(Addresses, ThatAreTakenOrNobodyListensAt) {
  HostPort bound;
  {
    const auto first = ListenTcp({"127.0.0.1", 0}, &bound);
    ASSERT_TRUE(first.ok()) << first.status();
    HostPort again;
    const absl::Status taken = ListenTcp(bound, &again).status();
    EXPECT_TRUE(absl::IsUnavailable(taken)) << taken;
    EXPECT_THAT(std::string(taken.message()), HasSubstr(bound.ToString()));
  }
  EXPECT_TRUE(absl::IsUnavailable(DialUnix("gyre-nobody-is-called-so").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(DialUnix("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ListenUnix(std::string(200, 'x')).status()));
  // A port that nobody listens at any more: the dial may be on its way, and then fails.
  auto fd = DialTcp(bound);
  absl::Status status = fd.status();
  if (fd.ok()) {
    const auto stream = TcpStream(*std::move(fd), bound.ToString());
    ASSERT_TRUE(SleepOn(*stream, true));
    char byte;
    status = stream->Read(absl::MakeSpan(&byte, 1)).status();
  }
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

}  // namespace
}  // namespace gyre::cluster
