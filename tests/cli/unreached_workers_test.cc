// `gyre run --cluster` where workers do not answer: in time, and with the exit code of a failure.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "cli/command.h"
#include "cli/gyre.h"
#include "support/paths.h"

namespace gyre::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kSecond = 1'000'000'000;

// A port where the system takes calls and nobody answers them: like that of a stopped process. Or,
// once closed, one where nobody is.
class SilentPort {
 public:
  SilentPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, any, size), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
    EXPECT_EQ(getsockname(socket_, any, &size), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  ~SilentPort() { Close(); }

  void Close() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }
  const std::string& address() const { return address_; }

 private:
  int socket_;
  std::string address_;
};

Ran RunOn(const std::string& workers, std::vector<std::string> options) {
  const std::string graph = test::SourcePath("tests/golden/errors/deadline_v2/graph.pb");
  std::vector<std::string> words = {"run", graph, "--feed=x=5", "--fetch=y",
                                    "--cluster=" + workers};
  words.insert(words.end(), options.begin(), options.end());
  return Gyre(words);
}

TEST(UnreachedWorkers, AreWaitedForAsLongAsTheTimeoutSays) {
  const SilentPort silent;
  const int64_t begin = SystemClock().NowNanos();
  const Ran ran = RunOn(silent.address(), {"--timeout=100"});
  // Without a timeout, a worker is waited for for 5 s.
  EXPECT_LT(SystemClock().NowNanos() - begin, 4 * kSecond);
  EXPECT_EQ(ran.code, kFailure) << ran.err;
  EXPECT_THAT(ran.err, StartsWith("gyre run: DEADLINE_EXCEEDED: the workers were not reached "
                                  "within 100 ms: "));
  EXPECT_THAT(ran.err, HasSubstr(silent.address()));
}

TEST(UnreachedWorkers, AreNoMistakeOfTheCommandLine) {
  SilentPort nobody;
  nobody.Close();
  const Ran ran = RunOn(nobody.address(), {});
  EXPECT_EQ(ran.code, kFailure) << ran.err;
  EXPECT_THAT(ran.err, StartsWith("gyre run: UNAVAILABLE: "));
  EXPECT_THAT(ran.err, HasSubstr(nobody.address()));
}

TEST(UnreachedWorkers, MistakesInTheirAddressesAre) {
  const Ran ran = RunOn("nowhere", {});
  EXPECT_EQ(ran.code, kMisuse) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("See 'gyre help run'"));
}

}  // namespace
}  // namespace gyre::cli
