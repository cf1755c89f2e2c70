#include "support/simulation/world.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/thread_pool.h"

namespace gyre::simulation {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
// No program of the tests takes an hour, or as many steps.
constexpr int64_t kEnd = 3600'000'000'000;
constexpr uint64_t kMostSteps = 20'000'000;

[[noreturn]] void Hangs(const char* how) {
  std::fprintf(stderr, "the simulation %s\n", how);
  std::abort();
}

}  // namespace

World::World(uint64_t seed) : random_(seed) {}

World::~World() {
  if (!actors_.empty()) Hangs("ends while actors are left");
}

void World::Enter(Place& place) {
  std::unique_lock lock(mutex_);
  auto actor = std::make_unique<Actor>();
  actor->place = &place;
  actor->number = next_number_++;
  actor->has_baton = true;
  running_ = actor.get();
  actors_.push_back(std::move(actor));
}

void World::Leave() {
  while (actors_.size() > 1) Wait(running_->place->activity, 1'000'000);
  std::unique_lock lock(mutex_);
  actors_.clear();
  events_.clear();
  running_ = nullptr;
}

void World::Spawn(Place& place, std::function<void()> body) {
  auto made = std::make_unique<Actor>();
  Actor* const actor = made.get();
  actor->place = &place;
  {
    const std::lock_guard lock(mutex_);
    actor->number = next_number_++;
    actors_.push_back(std::move(made));
  }
  ThreadPool::Shared().Submit(
      [this, actor, body = std::move(body)]() mutable {
        {
          std::unique_lock lock(mutex_);
          Await(*actor, lock);
        }
        body();
        body = nullptr;
        End(actor);
      },
      std::numeric_limits<int>::max());
}

void World::End(Actor* actor) {
  std::unique_lock lock(mutex_);
  ++actor->place->activity;  // somebody may wait for its end
  std::erase_if(actors_, [&](const auto& other) { return other.get() == actor; });
  PassOn(lock);
}

void World::After(int64_t delay, Place& place, std::function<void()> event) {
  events_.emplace(now_ + delay, Event{&place, std::move(event)});
}

void World::Wait(uint64_t seen, int64_t nanos) {
  std::unique_lock lock(mutex_);
  Actor& actor = *running_;
  actor.is_ready = false;
  actor.seen = seen;
  actor.until = nanos >= kNever - now_ ? kNever : now_ + std::max<int64_t>(nanos, 0);
  actor.has_baton = false;
  PassOn(lock);
  Await(actor, lock);
  actor.is_ready = true;
}

void World::Await(Actor& actor, std::unique_lock<std::mutex>& lock) {
  actor.go.wait(lock, [&] { return actor.has_baton; });
}

bool World::IsReady(const Actor& actor) const {
  if (actor.place->frozen_until > now_) return false;
  return actor.is_ready || actor.place->activity != actor.seen || actor.until <= now_;
}

// When something that does not happen now can happen.
int64_t World::NextTime() const {
  int64_t next = kNever;
  for (const auto& actor : actors_) {
    const bool would = actor->is_ready || actor->place->activity != actor->seen;
    const int64_t at =
        would ? actor->place->frozen_until : std::max(actor->until, actor->place->frozen_until);
    next = std::min(next, at);
  }
  for (const auto& [time, event] : events_)
    next = std::min(next, std::max(time, event.place->frozen_until));
  return next;
}

// Requirement: the caller had the baton. Events happen on its thread, without the lock.
void World::PassOn(std::unique_lock<std::mutex>& lock) {
  while (!actors_.empty()) {
    if (++steps_ > kMostSteps) Hangs("goes round in circles");
    std::vector<Actor*> ready;
    for (const auto& actor : actors_) {
      if (IsReady(*actor)) ready.push_back(actor.get());
    }
    std::vector<decltype(events_)::iterator> due;
    for (auto it = events_.begin(); it != events_.end() && it->first <= now_; ++it) {
      if (it->second.place->frozen_until <= now_) due.push_back(it);
    }
    if (ready.empty() && due.empty()) {
      const int64_t next = NextTime();
      if (next > kEnd) Hangs("hangs: everybody waits, and nothing is under way");
      now_ = next;
      continue;
    }
    const uint64_t drawn = Draw(ready.size() + due.size());
    history_ = (history_ ^ (drawn + 1) ^ static_cast<uint64_t>(now_)) * 0x100000001b3;
    if (drawn < ready.size()) {
      running_ = ready[drawn];
      running_->has_baton = true;
      running_->go.notify_one();
      return;
    }
    const auto it = due[drawn - ready.size()];
    const std::function<void()> happens = std::move(it->second.happens);
    events_.erase(it);
    lock.unlock();
    happens();
    lock.lock();
  }
}

}  // namespace gyre::simulation
