#include "ops/io/files.h"

#include "absl/strings/str_cat.h"
#include "tensor/io/file.h"

namespace gyre {

absl::StatusOr<std::string> FileNameInput(const KernelContext& ctx, int i, absl::string_view what) {
  const Tensor& input = ctx.input(i);
  if (input.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be a scalar, but has shape ", input.shape().ToString()));
  }
  const std::string& name = input.scalar<std::string>();
  if (name.find('\0') == std::string::npos) return name;
  return absl::InvalidArgumentError(absl::StrCat(what, " has a zero byte in it"));
}

absl::StatusOr<absl::Span<const std::string>> StringVectorInput(const KernelContext& ctx, int i,
                                                                size_t length,
                                                                absl::string_view what) {
  const Tensor& input = ctx.input(i);
  if (input.rank() == 1 && static_cast<size_t>(input.num_elements()) == length)
    return input.values<std::string>();
  return absl::InvalidArgumentError(absl::StrCat(what, " must be a list of ", length,
                                                 " strings, one for each tensor, but has shape ",
                                                 input.shape().ToString()));
}

absl::Status CheckMayRead(const KernelContext& ctx, const std::string& path) {
  const std::string& sandbox = ctx.env().sandbox;
  return sandbox.empty() ? absl::OkStatus() : CheckWithin(path, sandbox);
}

absl::Status CheckMayWrite(const KernelContext& ctx, const std::string& path) {
  if (ctx.env().sandbox.empty()) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("this run may not write files, and not ", path));
}

}  // namespace gyre
