// Images: normalization across channels, blocks of pixels, and numbers on a grid.
#include "ops/functions/families.h"

namespace gyre {

void RegisterImagesFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(input: tensor, depth_radius: int = 5, bias: float = 1.0, "
                              "alpha: float = 1.0, beta: float = 0.5)",
                 .api = {"nn.local_response_normalization", "nn.lrn"},
                 .op = "LRN"});
  constexpr absl::string_view kBlocks =
      "(input: tensor, block_size: int, data_format: string = NHWC)";
  functions.Add({.signature = kBlocks, .api = {"nn.space_to_depth"}, .op = "SpaceToDepth"});
  functions.Add({.signature = kBlocks, .api = {"nn.depth_to_space"}, .op = "DepthToSpace"});

  functions.Add({.signature = "(inputs: tensor, min: float = -6.0, max: float = 6.0, "
                              "num_bits: int = 8, narrow_range: bool = false)",
                 .api = {"quantization.fake_quant_with_min_max_args"},
                 .op = "FakeQuantWithMinMaxArgs"});
  functions.Add({.signature = "(gradients: tensor, inputs: tensor, min: float = -6.0, "
                              "max: float = 6.0, num_bits: int = 8, narrow_range: bool = false)",
                 .api = {"quantization.fake_quant_with_min_max_args_gradient"},
                 .op = "FakeQuantWithMinMaxArgsGradient"});
  constexpr absl::string_view kRange =
      "(inputs: tensor, min: tensor, max: tensor, num_bits: int = 8, narrow_range: bool = false)";
  functions.Add({.signature = kRange,
                 .api = {"quantization.fake_quant_with_min_max_vars"},
                 .op = "FakeQuantWithMinMaxVars"});
  functions.Add({.signature = kRange,
                 .api = {"quantization.fake_quant_with_min_max_vars_per_channel"},
                 .op = "FakeQuantWithMinMaxVarsPerChannel"});
}

}  // namespace gyre
