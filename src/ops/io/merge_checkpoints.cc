#include "bundle/writer.h"
#include "ir/shape_context.h"
#include "ops/io/files.h"
#include "ops/registry.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

struct MergeAttrs {
  explicit MergeAttrs(const Node& node)
      : options{.delete_old_folders = NodeAttr<bool>(node, "delete_old_dirs"),
                .allow_missing = NodeAttr<bool>(node, "allow_missing_files")} {}
  MergeOptions options;
};

absl::Status Merge(KernelContext& ctx, const MergeAttrs& attrs) {
  const size_t n = static_cast<size_t>(ctx.input(0).num_elements());
  GYRE_ASSIGN_OR_RETURN(const auto parts, StringVectorInput(ctx, 0, n, "checkpoint_prefixes"));
  GYRE_ASSIGN_OR_RETURN(const std::string prefix, FileNameInput(ctx, 1, "destination_prefix"));
  GYRE_RETURN_IF_ERROR(CheckMayWrite(ctx, prefix));
  GYRE_RETURN_IF_ERROR(MakeFolder(FolderOf(prefix)));
  return MergeBundles(parts, prefix, attrs.options);
}

}  // namespace

void RegisterMergeV2Checkpoints(OpRegistry& ops) {
  ops.Add({
      .schema = "MergeV2Checkpoints(checkpoint_prefixes: string, destination_prefix: string) -> "
                "{delete_old_dirs: bool = true; allow_missing_files: bool = false}",
      .doc = "Makes one checkpoint of the parts that several SaveV2 have written.",
      .traits = {.effect = Effect::kIo},
      .shape = shape::None,
      .gradient = NotDifferentiable("it has no outputs"),
      .kernel = Compute<&Merge>(),
  });
}

}  // namespace gyre
