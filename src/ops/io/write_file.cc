#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/io/files.h"
#include "ops/registry.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

absl::Status Write(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const std::string path, FileNameInput(ctx, 0, "filename"));
  const Tensor& contents = ctx.input(1);
  if (contents.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("contents must be a scalar, but has shape ", contents.shape().ToString()));
  }
  GYRE_RETURN_IF_ERROR(CheckMayWrite(ctx, path));
  GYRE_RETURN_IF_ERROR(MakeFolder(FolderOf(path)));
  return WriteFile(path, {contents.scalar<std::string>()});
}

}  // namespace

void RegisterWriteFile(OpRegistry& ops) {
  ops.Add({
      .schema = "WriteFile(filename: string, contents: string) ->",
      .doc = "Makes or replaces a file, and its folder if there is none.",
      .traits = {.effect = Effect::kIo},
      .shape = shape::None,
      .gradient = NotDifferentiable("it has no outputs"),
      .kernel = Compute<&Write>(),
  });
}

}  // namespace gyre
