// UnicodeScript: the script of each character, by ICU.
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/codec/library.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// ICU's uscript_getScript, whose name and library carry the version.
using GetScript = int (*)(int32_t code, int* error);

// Of this version of ICU.
absl::StatusOr<GetScript> OpenVersion(int version) {
  const std::string file = absl::StrCat("libicuuc.so.", version);
  GYRE_ASSIGN_OR_RETURN(void* const library,
                        codec::OpenLibrary(file.c_str(), absl::StrCat("libicu", version)));
  void* function = nullptr;
  const std::string name = absl::StrCat("uscript_getScript_", version);
  if (!codec::FindFunction(library, name.c_str(), &function))
    return absl::FailedPreconditionError(absl::StrCat(file, " has no ", name));
  return reinterpret_cast<GetScript>(function);
}

// That of Debian 12 if it is there, else the newest.
absl::StatusOr<GetScript> OpenIcu() {
  constexpr int kUsual = 72, kNewest = 90, kOldest = 60;
  absl::StatusOr<GetScript> usual = OpenVersion(kUsual);
  if (usual.ok()) return usual;
  for (int version = kNewest; version >= kOldest; --version) {
    if (absl::StatusOr<GetScript> other = OpenVersion(version); other.ok()) return other;
  }
  return usual.status();
}

absl::StatusOr<GetScript> TheIcu() {
  static const absl::StatusOr<GetScript>* const icu = new absl::StatusOr<GetScript>(OpenIcu());
  return *icu;
}

absl::Status Scripts(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const GetScript script_of, TheIcu());
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kInt32, ctx.input(0).shape()));
  const int32_t* from = ctx.input(0).values<int32_t>().data();
  int32_t* to = out.mutable_values<int32_t>().data();
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(out.num_elements(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int error = 0;
      const int script = script_of(from[i], &error);
      to[i] = error > 0 ? -1 : script;  // beyond all characters: none
    }
  }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace

void RegisterUnicodeScript(OpRegistry& ops) {
  ops.Add({.schema = "UnicodeScript(input: int32) -> output: int32",
           .doc = "The number of the script that each code point belongs to, as ICU counts them; "
                  "-1: it is none.",
           .api = {"strings.unicode_script"},
           .traits = {.elementwise = true},
           .shape = shape::SameAsInput,
           .gradient = NotDifferentiable("code points have no derivative"),
           .kernel = Compute<&Scripts>()});
}

}  // namespace gyre
