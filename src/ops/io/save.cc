#include "bundle/writer.h"
#include "ir/shape_context.h"
#include "ops/io/files.h"
#include "ops/registry.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

constexpr int kFirstTensor = 3;

absl::Status Save(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const std::string prefix, FileNameInput(ctx, 0, "prefix"));
  const size_t n = static_cast<size_t>(ctx.num_inputs() - kFirstTensor);
  GYRE_ASSIGN_OR_RETURN(const auto names, StringVectorInput(ctx, 1, n, "tensor_names"));
  GYRE_ASSIGN_OR_RETURN(const auto slices, StringVectorInput(ctx, 2, n, "shape_and_slices"));
  GYRE_RETURN_IF_ERROR(CheckMayWrite(ctx, prefix));
  std::vector<BundleItem> items;
  for (size_t i = 0; i < n; ++i) {
    GYRE_ASSIGN_OR_RETURN(auto slice, ParseSliceSpec(slices[i]));
    items.push_back({names[i], ctx.input(kFirstTensor + static_cast<int>(i)), std::move(slice)});
  }
  GYRE_RETURN_IF_ERROR(MakeFolder(FolderOf(prefix)));
  return WriteBundle(prefix, items);
}

}  // namespace

void RegisterSaveV2(OpRegistry& ops) {
  ops.Add({
      .schema = "SaveV2(prefix: string, tensor_names: string, shape_and_slices: string, "
                "tensors: dtypes) -> {dtypes: list(type) >= 1}",
      .doc = "Writes a checkpoint: tensors by name, each whole ('') or as a slice of one.",
      .traits = {.effect = Effect::kIo},
      .shape = shape::None,
      .gradient = NotDifferentiable("it has no outputs"),
      .kernel = Compute<&Save>(),
  });
}

}  // namespace gyre
