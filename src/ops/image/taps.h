// Taps: which samples of one axis, and with which weights, make each position of another. Resizing
// an image, and the adjoint of that, is a table for the rows and one for the columns.
//
// Tables are charged to the run. Values; read from any thread.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"
#include "ops/kernel.h"

namespace gyre::image {

class Taps {
 public:
  // Of `size` positions, which together have `total` taps.
  static absl::StatusOr<Taps> Make(const KernelContext& ctx, int64_t size, int64_t total);

  int64_t size() const { return size_; }
  // The taps of position i are [begin(i), begin(i + 1)).
  int64_t begin(int64_t i) const { return begins_[i]; }
  int64_t from(int64_t tap) const { return froms_[tap]; }
  float weight(int64_t tap) const { return weights_[tap]; }
  const int32_t* froms() const { return froms_; }
  const float* weights() const { return weights_; }

  // For who fills them: positions in order, each with its taps.
  void Add(int64_t from, float weight) {
    froms_[filled_] = static_cast<int32_t>(from);
    weights_[filled_++] = weight;
  }
  void EndPosition() { begins_[++ended_] = filled_; }

  // The table of the adjoint: by sample of an axis of `size` samples, the positions that it goes
  // to.
  absl::StatusOr<Taps> Transposed(const KernelContext& ctx, int64_t size) const;

 private:
  Tensor begin_tensor_, from_tensor_, weight_tensor_;
  int64_t* begins_ = nullptr;
  int32_t* froms_ = nullptr;
  float* weights_ = nullptr;
  int64_t size_ = 0, ended_ = 0, filled_ = 0;
};

// How positions of one axis lie on another.
struct Scaling {
  bool align_corners = false;
  bool half_pixel_centers = false;
};
// Samples of the input for one of the output.
float ScaleOf(int64_t in, int64_t out, const Scaling& scaling);

// Two for each position: the weight of the second is how far the position is from the first.
absl::StatusOr<Taps> BilinearTaps(const KernelContext& ctx, int64_t in, int64_t out,
                                  const Scaling& scaling);
// Four for each position (Keys, Cubic convolution interpolation, 1981); with half_pixel_centers a =
// -0.5 and weights of what lies outside zero, else a = -0.75 and borders repeated.
absl::StatusOr<Taps> BicubicTaps(const KernelContext& ctx, int64_t in, int64_t out,
                                 const Scaling& scaling);
// What lies under a position, weighted by how much of it does.
absl::StatusOr<Taps> AreaTaps(const KernelContext& ctx, int64_t in, int64_t out,
                              const Scaling& scaling);
// One for each position: the nearest sample.
absl::StatusOr<Taps> NearestTaps(const KernelContext& ctx, int64_t in, int64_t out,
                                 const Scaling& scaling);

// A function that weighs samples by their distance, zero from `radius` on.
struct Filter {
  float radius;
  float (*weigh)(float distance, float radius);
};
// 'lanczos3', 'triangle' and others. INVALID_ARGUMENT for a name that is none.
absl::StatusOr<Filter> FilterNamed(absl::string_view name);
// Positions of the output lie at scale * x + translation of the input.
absl::StatusOr<Taps> FilterTaps(const KernelContext& ctx, const Filter& filter, int64_t in,
                                int64_t out, float scale, float translation, bool antialias);

}  // namespace gyre::image
