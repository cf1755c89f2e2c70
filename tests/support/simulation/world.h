// World: threads, time and messages of a simulated cluster, all of which follow from a seed.
//
// Every thread of it is an actor, and only the one that has the baton runs. An actor that waits
// gives it up; then what happens next is drawn: another actor goes on, or something arrives. Where
// nothing can happen now, time moves on to when something can. So there are no races, and no
// sleep takes real time; what goes wrong goes wrong again with the same seed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/env.h"

namespace gyre::simulation {

// One machine, as the world sees it. Guarded by having the baton.
struct Place {
  int64_t frozen_until = 0;  // nothing happens there before
  uint64_t activity = 0;     // counts what an actor who waits there should look at
};

class World final : public Clock {
 public:
  explicit World(uint64_t seed);
  // Requirement: no actor but the caller is left.
  ~World() override;

  int64_t NowNanos() const override { return now_; }

  // The calling thread becomes an actor of `place`, or is one no longer: then it waits for all
  // others to end.
  void Enter(Place& place);
  void Leave();
  // An actor that runs `body`, soon.
  void Spawn(Place& place, std::function<void()> body);
  // Something that happens at `place` after `delay`, on no thread in particular.
  void After(int64_t delay, Place& place, std::function<void()> event);

  // The calling actor waits until its place's activity is no longer `seen`, or for `nanos`.
  void Wait(uint64_t seen, int64_t nanos);
  void Stir(Place& place) { ++place.activity; }

  // A number below n. Requirement: the caller has the baton.
  uint64_t Draw(uint64_t n) { return random_() % n; }
  bool Chance(double probability) {
    return static_cast<double>(random_()) < probability * static_cast<double>(random_.max());
  }
  // Of all that has happened so far: equal for equal seeds.
  uint64_t history() const { return history_; }
  uint64_t steps() const { return steps_; }
  int num_actors() const { return static_cast<int>(actors_.size()); }

 private:
  struct Actor {
    Place* place = nullptr;
    uint64_t number = 0;
    bool is_ready = true;  // else it waits
    uint64_t seen = 0;
    int64_t until = 0;
    bool has_baton = false;
    std::condition_variable go;
  };
  struct Event {
    Place* place = nullptr;
    std::function<void()> happens;
  };

  bool IsReady(const Actor& actor) const;
  void PassOn(std::unique_lock<std::mutex>& lock);
  void Await(Actor& actor, std::unique_lock<std::mutex>& lock);
  int64_t NextTime() const;
  void End(Actor* actor);

  std::mutex mutex_;  // guards the baton's way
  std::mt19937_64 random_;
  int64_t now_ = 1'000'000'000;
  uint64_t history_ = 0;
  uint64_t steps_ = 0;
  uint64_t next_number_ = 0;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::multimap<int64_t, Event> events_;
  Actor* running_ = nullptr;
};

}  // namespace gyre::simulation
