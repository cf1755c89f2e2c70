#include "support/cluster/workers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "support/run_text.h"

namespace gyre::test {

constexpr uint64_t kFirstClient = 1'000'000;  // incarnations of clients

std::string Workers::Address(int i) { return absl::StrCat("host", i); }

Workers::Workers(int n, TestNetwork::Tap tap, int64_t most_payload_bytes)
    : network_(std::move(tap)) {
  constexpr int64_t kTickNanos = 20'000'000;
  for (int i = 0; i < n; ++i) {
    auto member = std::make_unique<Member>();
    member->host = std::make_unique<TestHost>(network_, Address(i));
    cluster::WorkerOptions options;
    options.token = kToken;
    options.threads = 2;
    options.incarnation = kFirstIncarnation + i;
    options.failure_nanos = kFailureNanos;
    options.most_payload_bytes = most_payload_bytes;
    member->worker = std::make_unique<cluster::Worker>(*member->host, options);
    member->host->Spawn(member->worker->StepListener());
    member->ticks =
        member->host->Every(kTickNanos, [worker = member->worker.get()] { worker->Tick(); });
    links_.Serve(Address(i),
                 [worker = member->worker.get()](std::shared_ptr<cluster::ControlLink> link) {
                   return worker->Accept(std::move(link));
                 });
    members_.push_back(std::move(member));
  }
}

Workers::~Workers() {
  for (int i = 0; i < static_cast<int>(members_.size()); ++i) Destroy(i);
}

void Workers::Destroy(int i) {
  members_[i]->ticks = nullptr;
  members_[i]->worker = nullptr;
}

cluster::ClusterSettings Workers::Settings() {
  cluster::ClusterSettings settings;
  for (int i = 0; i < static_cast<int>(members_.size()); ++i)
    settings.addresses.push_back(Address(i));
  settings.token = kToken;
  settings.failure_nanos = kFailureNanos;
  settings.first_step = ++clients_ << 32;
  settings.secret = absl::StrCat("secret ", clients_.load());
  settings.incarnation = kFirstClient + clients_.load();
  return settings;
}

absl::StatusOr<std::shared_ptr<const Engine>> Workers::Connect(
    const cluster::ClusterSettings& settings) {
  auto host = std::make_unique<TestHost>(network_, settings.secret);
  TestHost& at = *host;
  {
    const std::lock_guard lock(mutex_);
    client_hosts_.push_back(std::move(host));
  }
  return cluster::ConnectCluster(at, links_.dialer(), settings);
}

void Workers::PutClientsForward(int64_t nanos) {
  const std::lock_guard lock(mutex_);
  for (const auto& host : client_hosts_) host->PutForward(nanos);
}

std::unique_ptr<Session> Workers::SessionFor(const std::string& text, SessionOptions options) {
  absl::StatusOr<std::shared_ptr<const Engine>> engine = Connect();
  EXPECT_TRUE(engine.ok()) << engine.status();
  if (!engine.ok()) return nullptr;
  options.cluster = *std::move(engine);
  return testing::SessionFor(text, options);
}

int Workers::num_busy() const {
  int busy = 0;
  for (const auto& member : members_)
    busy += member->worker == nullptr ? 0 : member->worker->num_busy();
  return busy;
}

}  // namespace gyre::test
