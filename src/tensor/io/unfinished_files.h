// UnfinishedFiles: names of files that this process is writing, which a handler of a signal that
// ends the process removes: no destructor does then.
#pragma once

#include <signal.h>

#include <string>

namespace gyre {

// While it lives, a file at `path` is removed by RemoveUnfinishedFiles. Of as many as 64 at a time,
// and of paths as long as the system takes; others are left for the next writer of the name.
// One owner; any thread.
class UnfinishedFile {
 public:
  UnfinishedFile() = default;  // of no file
  explicit UnfinishedFile(const std::string& path);
  UnfinishedFile(UnfinishedFile&& other) noexcept;
  UnfinishedFile& operator=(UnfinishedFile&& other) noexcept;
  ~UnfinishedFile();

 private:
  int slot_ = -1;
};

// While it lives, the thread makes, renames or removes a file and says so by UnfinishedFile: no
// handler finds the one done and the other not. Signals wait that would end the process.
class UnfinishedChange {
 public:
  UnfinishedChange();
  UnfinishedChange(const UnfinishedChange&) = delete;
  UnfinishedChange& operator=(const UnfinishedChange&) = delete;
  ~UnfinishedChange();

 private:
  sigset_t before_;
};

// The signals that it is for: they end a process unless somebody handles them.
inline constexpr int kEndingSignals[] = {SIGTERM, SIGINT, SIGHUP};

// Of this process, not of one that it was forked from. May be called in a handler of one of the
// signals; waits for changes of other threads, for a second at most.
void RemoveUnfinishedFiles();

}  // namespace gyre
