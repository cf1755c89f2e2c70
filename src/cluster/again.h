// What is done again when it runs out of memory: messages between processes, none of which may be
// lost, since somebody waits for it. Stateless; any thread.
#pragma once

#include <new>
#include <stdexcept>

namespace gyre::cluster {

// Calls f() until it does not run out of memory, a few times. False: it always did; then whoever
// waits has to be told otherwise, or its connection closed. Requirement: where f throws, it has
// done nothing, or nothing that matters when it is done twice.
template <typename F>
bool Again(F f) {
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    try {
      f();
      return true;
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {
    }
  }
  return false;
}

}  // namespace gyre::cluster
