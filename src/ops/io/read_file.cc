#include "ir/shape_context.h"
#include "ops/io/files.h"
#include "ops/registry.h"
#include "ops/text/string_bytes.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

absl::Status Read(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const std::string path, FileNameInput(ctx, 0, "filename"));
  GYRE_RETURN_IF_ERROR(CheckMayRead(ctx, path));
  {
    GYRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
    GYRE_RETURN_IF_ERROR(CheckStringBytes(ctx, file.size()));
  }
  GYRE_ASSIGN_OR_RETURN(std::string contents, ReadFile(path));
  GYRE_ASSIGN_OR_RETURN(Tensor out, TextScalar(ctx, std::move(contents)));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace

void RegisterReadFile(OpRegistry& ops) {
  ops.Add({
      .schema = "ReadFile(filename: string) -> contents: string",
      .doc = "What a file holds, when it runs.",
      .traits = {.effect = Effect::kIo},
      .shape = shape::Scalar,
      .gradient = NotDifferentiable("its result is a string"),
      .kernel = Compute<&Read>(),
  });
}

}  // namespace gyre
