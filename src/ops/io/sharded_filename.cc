#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/io/files.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status ShardedFilename(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const std::string basename, FileNameInput(ctx, 0, "basename"));
  GYRE_ASSIGN_OR_RETURN(const int64_t shard, ctx.IntScalar(1, "shard"));
  GYRE_ASSIGN_OR_RETURN(const int64_t num_shards, ctx.IntScalar(2, "num_shards"));
  ctx.set_output(0, Tensor::Scalar(absl::StrCat(basename, "-", absl::Dec(shard, absl::kZeroPad5),
                                                "-of-", absl::Dec(num_shards, absl::kZeroPad5))));
  return absl::OkStatus();
}

}  // namespace

void RegisterShardedFilename(OpRegistry& ops) {
  ops.Add({
      .schema = "ShardedFilename(basename: string, shard: int32, num_shards: int32) -> "
                "filename: string",
      .doc = "'BASENAME-SSSSS-of-NNNNN': the name of a file that is one of several.",
      .shape = shape::Scalar,
      .gradient = NotDifferentiable("its result is a string"),
      .kernel = Compute<&ShardedFilename>(),
  });
}

}  // namespace gyre
