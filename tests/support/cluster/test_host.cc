#include "support/cluster/test_host.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cluster/transport/shared_memory.h"

namespace gyre::test {

TestHost::TestHost(TestNetwork& network, std::string name)
    : network_(network), name_(std::move(name)), machine_(*cluster::MachineHost("")) {
  const std::lock_guard lock(network_.mutex_);
  network_.hosts_[name_] = this;
}

TestHost::~TestHost() {
  const std::lock_guard lock(network_.mutex_);
  network_.hosts_.erase(name_);
}

void TestHost::Call(std::unique_ptr<cluster::ByteStream> stream) {
  {
    const std::lock_guard lock(mutex_);
    callers_.push_back(std::move(stream));
  }
  WakeSleeper();
}

absl::StatusOr<std::unique_ptr<cluster::ByteStream>> TestHost::Dial(
    const cluster::ChannelAddress& address, Transport) {
  GYRE_ASSIGN_OR_RETURN(cluster::StreamPair pair, cluster::SharedMemoryPair());
  auto [here, there] = std::move(pair);
  if (network_.tap_) {
    here = network_.tap_(std::move(here));
    there = network_.tap_(std::move(there));
  }
  const std::lock_guard lock(network_.mutex_);
  const auto host = network_.hosts_.find(address.tcp);
  if (host == network_.hosts_.end())
    return absl::UnavailableError(absl::StrCat("nobody is at ", address.tcp));
  host->second->Call(std::move(there));
  return std::move(here);
}

std::unique_ptr<cluster::ByteStream> TestHost::Accept() {
  const std::lock_guard lock(mutex_);
  if (callers_.empty()) return nullptr;
  std::unique_ptr<cluster::ByteStream> caller = std::move(callers_.front());
  callers_.pop_front();
  return caller;
}

absl::StatusOr<size_t> ScriptedStream::Write(absl::Span<const absl::string_view> pieces) {
  size_t taken = 0;
  for (const absl::string_view piece : pieces) {
    const size_t n = std::min(piece.size(), script_->most_at_once - taken);
    absl::StrAppend(&script_->written, piece.substr(0, n));
    taken += n;
    if (n < piece.size()) break;
  }
  return taken;
}

absl::StatusOr<size_t> ScriptedStream::Read(absl::Span<char> into) {
  const size_t n = std::min({into.size(), script_->to_read.size(), script_->most_at_once});
  std::memcpy(into.data(), script_->to_read.data(), n);
  script_->to_read.erase(0, n);
  return n;
}

absl::StatusOr<size_t> TappedStream::Write(absl::Span<const absl::string_view> pieces) {
  std::vector<absl::string_view> some;
  size_t room = counts_->most_at_once;
  for (const absl::string_view piece : pieces) {
    some.push_back(piece.substr(0, room));
    room -= some.back().size();
  }
  GYRE_ASSIGN_OR_RETURN(const size_t n, stream_->Write(some));
  counts_->written += static_cast<int64_t>(n);
  if (counts_->keeps) {
    const std::lock_guard lock(counts_->mutex);
    size_t left = n;
    for (const absl::string_view piece : some) {
      absl::StrAppend(&counts_->bytes, piece.substr(0, left));
      left -= std::min(left, piece.size());
    }
  }
  return n;
}

}  // namespace gyre::test
