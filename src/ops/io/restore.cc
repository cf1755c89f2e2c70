#include "absl/strings/str_cat.h"
#include "bundle/reader.h"
#include "ir/shape_context.h"
#include "ops/io/files.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status RestoreFrom(const BundleReader& bundle, absl::Span<const std::string> names,
                         absl::Span<const std::string> slices, KernelContext& ctx) {
  for (size_t i = 0; i < names.size(); ++i) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_ASSIGN_OR_RETURN(const auto slice, ParseSliceSpec(slices[i]));
    const BundleEntry* entry = bundle.Find(names[i]);
    const DType wanted = ctx.output_dtype(static_cast<int>(i));
    if (entry != nullptr && entry->dtype != wanted) {
      return absl::InvalidArgumentError(absl::StrCat("tensor '", names[i], "' of ", bundle.prefix(),
                                                     " is ", DTypeName(entry->dtype), ", not ",
                                                     DTypeName(wanted)));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor value, slice ? bundle.ReadSlice(names[i], *slice, ctx.alloc())
                                              : bundle.Read(names[i], ctx.alloc()));
    ctx.set_output(static_cast<int>(i), std::move(value));
  }
  return absl::OkStatus();
}

absl::Status Restore(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const std::string prefix, FileNameInput(ctx, 0, "prefix"));
  const size_t n = static_cast<size_t>(ctx.num_outputs());
  GYRE_ASSIGN_OR_RETURN(const auto names, StringVectorInput(ctx, 1, n, "tensor_names"));
  GYRE_ASSIGN_OR_RETURN(const auto slices, StringVectorInput(ctx, 2, n, "shape_and_slices"));
  return ReadBundle(prefix, ctx.env().sandbox, [&](const BundleReader& bundle) {
    return RestoreFrom(bundle, names, slices, ctx);
  });
}

}  // namespace

void RegisterRestoreV2(OpRegistry& ops) {
  ops.Add({
      .schema = "RestoreV2(prefix: string, tensor_names: string, shape_and_slices: string) -> "
                "tensors: dtypes {dtypes: list(type) >= 1}",
      .doc = "Tensors of a checkpoint by name; of each the whole (''), or a slice as in "
             "'7 4 3,2:0,4'.",
      .traits = {.effect = Effect::kIo, .role = Role::kRestores},
      .shape = shape::Unknown,
      .gradient = NotDifferentiable("its inputs are strings"),
      .kernel = Compute<&Restore>(),
  });
}

}  // namespace gyre
