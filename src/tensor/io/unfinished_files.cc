#include "tensor/io/unfinished_files.h"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstring>
#include <utility>

namespace gyre {
namespace {

constexpr int kSlots = 64;

struct Slot {
  std::atomic<bool> is_taken{false};
  std::atomic<pid_t> writer{0};  // 0: there is no name
  char path[PATH_MAX];
};
static_assert(std::atomic<pid_t>::is_always_lock_free);

// Never freed: a handler may look at any moment.
Slot slots[kSlots];
std::atomic<int> num_changes{0};
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace

UnfinishedFile::UnfinishedFile(const std::string& path) {
  if (path.size() >= sizeof(Slot::path)) return;
  for (int i = 0; i < kSlots; ++i) {
    if (slots[i].is_taken.exchange(true, std::memory_order_acquire)) continue;
    std::memcpy(slots[i].path, path.c_str(), path.size() + 1);
    slots[i].writer.store(getpid(), std::memory_order_release);
    slot_ = i;
    return;
  }
}

UnfinishedFile::UnfinishedFile(UnfinishedFile&& other) noexcept
    : slot_(std::exchange(other.slot_, -1)) {}

UnfinishedFile& UnfinishedFile::operator=(UnfinishedFile&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

UnfinishedFile::~UnfinishedFile() {
  if (slot_ < 0) return;
  slots[slot_].writer.store(0, std::memory_order_relaxed);
  slots[slot_].is_taken.store(false, std::memory_order_release);
}

UnfinishedChange::UnfinishedChange() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int number : kEndingSignals) sigaddset(&ending, number);
  pthread_sigmask(SIG_BLOCK, &ending, &before_);
  num_changes.fetch_add(1, std::memory_order_acquire);
}

UnfinishedChange::~UnfinishedChange() {
  num_changes.fetch_sub(1, std::memory_order_release);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void RemoveUnfinishedFiles() {
  for (int i = 0; i < 1000 && num_changes.load(std::memory_order_acquire) > 0; ++i) {
    const timespec millisecond = {0, 1'000'000};
    nanosleep(&millisecond, nullptr);
  }
  const pid_t here = getpid();
  for (Slot& slot : slots) {
    if (slot.writer.load(std::memory_order_acquire) == here) unlink(slot.path);
  }
}

}  // namespace gyre
