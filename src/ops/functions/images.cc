// Images: normalization across channels, blocks of pixels, and numbers on a grid.
#include "absl/strings/str_cat.h"
#include "ops/functions/families.h"

namespace gyre {
namespace {

// How windows slide, from the arguments behind images and filters.
AttrMap Windows(FormulaContext& f) {
  const std::string& format = f.plain<std::string>(4);
  if (format != "NHWC") {
    f.builder().RefuseValue(absl::StrCat("data_format must be 'NHWC', but is '", format, "'"));
  }
  return {{"strides", f.plain<std::vector<int64_t>>(2)},
          {"padding", f.plain<std::string>(3)},
          {"rates", f.plain<std::vector<int64_t>>(5)}};
}

std::vector<Term> Dilation(FormulaContext& f) {
  return {f.Last("Dilation2D", {f.tensor(0), f.tensor(1)}, Windows(f))};
}

std::vector<Term> Erosion(FormulaContext& f) {
  const AttrMap windows = Windows(f);
  const Term negative = -f.tensor(0);
  const Term turned = f.op("ReverseV2", {f.tensor(1), f.builder().Ints({0, 1})});
  return {f.Last("Neg", {f.op("Dilation2D", {negative, turned}, windows)})};
}

}  // namespace

void RegisterImagesFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(input: tensor, depth_radius: int = 5, bias: float = 1.0, "
                              "alpha: float = 1.0, beta: float = 0.5)",
                 .api = {"nn.local_response_normalization", "nn.lrn"},
                 .op = "LRN"});
  constexpr absl::string_view kBlocks =
      "(input: tensor, block_size: int, data_format: string = NHWC)";
  functions.Add({.signature = kBlocks, .api = {"nn.space_to_depth"}, .op = "SpaceToDepth"});
  functions.Add({.signature = kBlocks, .api = {"nn.depth_to_space"}, .op = "DepthToSpace"});

  constexpr absl::string_view kRest =
      ", filters: T, strides: ints, padding: string, data_format: string, dilations: ints)";
  const std::string dilated = absl::StrCat("(input: T", kRest);
  const std::string eroded = absl::StrCat("(value: T", kRest);
  functions.Add({.signature = dilated,
                 .doc = "The largest sum of what a window meets of images, [batch, height, width, "
                        "channels], and of filters, [height, width, channels].",
                 .api = {"nn.dilation2d"},
                 .formula = Dilation});
  functions.Add({.signature = eroded,
                 .doc =
                     "The least difference of what a window meets of images, [batch, height, "
                     "width, channels], and of filters, [height, width, channels], turned round.",
                 .api = {"nn.erosion2d"},
                 .formula = Erosion});

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
