// Pooling: what a window of images comes down to, channel by channel.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/conv/window.h"
#include "ops/kernel.h"

namespace gyre {

// The sizes of one pooling, in any format of images: these are [batch, inputs, channels] in memory,
// the results [batch, outputs, channels], and windows slide over the axes in between.
struct Pooling {
  // INVALID_ARGUMENT where attributes and images do not fit together; UNIMPLEMENTED for windows
  // over pixels and channels at once.
  static absl::StatusOr<Pooling> Make(const WindowAttrs& attrs, const Shape& images);

  int64_t inputs() const { return axes[0].input * axes[1].input * axes[2].input; }
  int64_t outputs() const { return axes[0].output * axes[1].output * axes[2].output; }
  // How many elements a window meets, at most.
  int64_t window() const;
  // Places whose computation takes a while.
  int64_t grain() const;

  WindowAxes axes;
  int64_t batch = 1;
  int64_t channels = 1;
  Shape input;
  Shape output;
};

// The shape of what comes out of images, for shape rules.
absl::StatusOr<PartialShape> PooledShape(const WindowAttrs& attrs, const PartialShape& images);
// INVALID_ARGUMENT unless the shapes are equal.
absl::Status RequireShape(const Tensor& t, const Shape& shape, absl::string_view what);

// The inputs that one place of a window meets, along all axes.
struct WindowRange {
  std::array<int64_t, kWindowAxes> begin, end;
  int64_t count() const { return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]); }
};
// Of output `place`, below pooling.outputs().
WindowRange RangeOf(const Pooling& pooling, int64_t place);
// The places, along all axes, of windows that meet input `pixel`.
WindowRange PlacesOf(const Pooling& pooling, int64_t pixel);

// Calls f(pixel) for each of a range in order; pixels are counted in an image of these sizes. Stops
// where f returns false.
template <typename F>
void ForRange(const WindowRange& range, int64_t size1, int64_t size2, const F& f) {
  for (int64_t x = range.begin[0]; x < range.end[0]; ++x) {
    for (int64_t y = range.begin[1]; y < range.end[1]; ++y) {
      const int64_t row = (x * size1 + y) * size2;
      for (int64_t z = range.begin[2]; z < range.end[2]; ++z) {
        if (!f(row + z)) return;
      }
    }
  }
}

// Counts what a thread has computed, and looks from time to time whether the run is to stop.
class Looks {
 public:
  explicit Looks(const KernelContext& ctx) : ctx_(ctx) {}
  // After some more elements: whether to go on.
  bool GoOn(int64_t elements) {
    if ((done_ += elements) < (1 << 17)) return true;
    done_ = 0;
    return ctx_.Poll().ok();
  }

 private:
  const KernelContext& ctx_;
  int64_t done_ = 0;
};

}  // namespace gyre
