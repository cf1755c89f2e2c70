// What FusedBatchNorm and its gradient have in common.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/shape.h"
#include "ir/program.h"
#include "ops/kernel.h"

namespace gyre {

struct BatchNormAttrs {
  explicit BatchNormAttrs(const Node& node)
      : epsilon(NodeAttr<float>(node, "epsilon")),
        factor(node.attrs.GetOr<float>("exponential_avg_factor", 1.0f)),
        is_training(NodeAttr<bool>(node, "is_training")) {
    const std::string& format = NodeAttr<std::string>(node, "data_format");
    rank = static_cast<int>(format.size());
    channel_dim = format[1] == 'C' ? 1 : rank - 1;
  }
  // Whether the inputs `mean` and `variance` matter.
  bool reads_statistics() const { return !is_training || factor != 1.0f; }

  float epsilon;
  float factor;
  bool is_training;
  int rank;
  int channel_dim;
};

// INVALID_ARGUMENT unless input i is a vector of so many elements.
absl::Status RequireChannels(const KernelContext& ctx, int i, absl::string_view what,
                             int64_t channels);

}  // namespace gyre
