// ReadyStack: nodes that are ready to run on this thread, last in, first out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <random>

#include "exec/dataflow/frame.h"

namespace gyre::dataflow {

// Touched by one thread. Grows by doubling; throws std::bad_alloc. Has no memory until it is first
// pushed to.
class ReadyStack {
 public:
  bool empty() const { return top_ == begin_.get(); }
  size_t size() const { return top_ - begin_.get(); }
  void clear() { top_ = begin_.get(); }
  void Push(Iteration* iteration, NodeIndex node, bool dead) {
    if (top_ == end_) [[unlikely]]
      Grow(std::max(kFirstCapacity, 2 * size()));
    // Word by word: Pop reads them so, and a wider access to either would have to wait for both.
    *top_ = Ready(iteration, node, dead);
    ++top_;
  }
  Ready Pop() {
    --top_;
    Ready ready;
    ready.iteration = top_->iteration;
    ready.what = top_->what;
    return ready;
  }
  // Puts the one that was pushed first on top.
  void RaiseOldest() {
    if (!empty()) std::swap(top_[-1], begin_[0]);
  }
  // Puts a random one on top.
  void Shuffle(std::mt19937_64& random) { std::swap(top_[-1], begin_[random() % size()]); }

 private:
  static constexpr size_t kFirstCapacity = 64;

  [[gnu::noinline]] void Grow(size_t capacity) {
    auto grown = std::make_unique<Ready[]>(capacity);
    const size_t used = size();
    std::copy(begin_.get(), begin_.get() + used, grown.get());
    begin_ = std::move(grown);
    top_ = begin_.get() + used;
    end_ = begin_.get() + capacity;
  }

  std::unique_ptr<Ready[]> begin_;
  Ready* top_ = nullptr;
  Ready* end_ = nullptr;
};

}  // namespace gyre::dataflow
