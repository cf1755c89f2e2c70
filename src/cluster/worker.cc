#include "cluster/worker.h"

#include <limits>
#include <utility>

#include "base/out_of_memory.h"
#include "cluster/worker_client.h"

namespace gyre::cluster {

void Worker::State::OnLost(const Peer& peer, const absl::Status& why) {
  std::vector<std::weak_ptr<Client>> all;
  {
    const std::lock_guard lock(mutex);
    all = clients;
  }
  for (const auto& weak : all)
    if (const auto client = weak.lock()) client->TellLost(peer, why);
}

void Worker::State::OnMessage(const Peer& from, absl::string_view message) {
  std::shared_ptr<Client> client;
  {
    const std::lock_guard lock(mutex);
    const auto it = callers.find(from.incarnation);
    if (it != callers.end()) client = it->second.lock();
  }
  if (client != nullptr) client->OnMessageOfStep(from, message);
}

void Worker::State::Attend() {
  std::unique_lock lock(mutex);
  while (true) {
    const uint64_t seen = mesh.wakes();  // before it looks whether the worker ends
    if (ends) break;
    if (attended) {
      std::function<void()> task = std::exchange(attended, nullptr);
      lock.unlock();
      Do(std::move(task));
      lock.lock();
    } else if (running > 0) {
      // They poll, and sleep, themselves.
      host.Wait(lock, changed, std::numeric_limits<int64_t>::max());
    } else {
      idle_listener = std::this_thread::get_id();
      lock.unlock();
      // It does not look out before: between steps, it is the client that needs the core.
      mesh.WaitMeanwhile(seen, std::numeric_limits<int64_t>::max());
      lock.lock();
      idle_listener = {};
    }
  }
  has_step_listener = false;
  changed.notify_all();
}

Worker::Worker(Host& host, const WorkerOptions& options)
    : state_(std::make_shared<State>(host, options)) {}

Worker::~Worker() {
  std::vector<std::weak_ptr<Client>> clients;
  {
    const std::lock_guard lock(state_->mutex);
    state_->ends = true;
    if (std::exchange(state_->attended, nullptr)) --state_->busy;
    clients.swap(state_->clients);
    state_->changed.notify_all();
  }
  state_->mesh.Wake();
  for (const auto& weak : clients) {
    if (const auto client = weak.lock()) {
      client->CancelAll(CatchOutOfMemory("the worker's end",
                                         [] { return absl::UnavailableError("the worker ends"); }));
      client->Close();
    }
  }
  std::unique_lock lock(state_->mutex);
  while (state_->busy > 0 || state_->has_step_listener)
    state_->host.Wait(lock, state_->changed, std::numeric_limits<int64_t>::max());
}

std::shared_ptr<LinkHandler> Worker::Accept(std::shared_ptr<ControlLink> link) {
  auto client = std::make_shared<Client>(state_, std::move(link));
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->clients, [](const auto& weak) { return weak.expired(); });
  state_->clients.push_back(client);
  return client;
}

void Worker::Tick() { state_->mesh.Tick(); }
std::function<void()> Worker::StepListener() {
  const std::lock_guard lock(state_->mutex);
  state_->has_step_listener = true;
  return [state = state_] { state->Attend(); };
}

int Worker::num_busy() const {
  const std::lock_guard lock(state_->mutex);
  return state_->busy;
}

}  // namespace gyre::cluster
