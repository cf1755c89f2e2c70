// NoFork: while one exists, a fork() on another thread waits.
//
// A child has none of the other threads: a lock that one of them held stays locked in it, and what
// the lock guards is as that thread left it. So whoever locks what lives on between runs, and what
// a child may go on using, does so within a NoFork. Not while waiting for anything else; on the
// thread that forks there must be none. Thread-safe.
#pragma once

namespace gyre {

class NoFork {
 public:
  NoFork();
  ~NoFork();
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;
};

}  // namespace gyre
