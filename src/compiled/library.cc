#include "compiled/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <new>

#include "absl/strings/str_cat.h"
#include "base/shipped_library.h"
#include "base/status.h"
#include "base/work.h"
#include "compiled/code_cache.h"
#include "compiled/symbols.h"
#include "devices/cuda/code.h"

namespace gyre::compiled {
namespace {

absl::StatusOr<const CompilerLibrary*> Load() {
  const absl::StatusOr<void*> library = OpenShippedLibrary(GYRE_COMPILED_LIBRARY);
  if (!library.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "compiling loops needs ", GYRE_COMPILED_LIBRARY,
        ", which Gyre is built with if LLVM 19 is there (Debian: llvm-19-dev, clang-19): ",
        library.status().message()));
  }
  const auto* entry = static_cast<const CompilerLibrary*>(dlsym(*library, "gyre_compiled"));
  if (entry == nullptr || entry->interface != CompilerLibrary().interface) {
    return absl::FailedPreconditionError(
        absl::StrCat(GYRE_COMPILED_LIBRARY, " is of another version of Gyre"));
  }
  return entry;
}

absl::StatusOr<const CompilerLibrary*> LoadedCompiler() {
  static const auto* const loaded = new absl::StatusOr<const CompilerLibrary*>(Load());
  return *loaded;
}

// GPUs' kernels come from here, wherever a program is placed.
const bool gives_ptx =
    (cuda::UsePtxMaker({.of_code = &ScalarPtx, .of_function = &ScalarPtx, .kernel = &GpuKernelPtx}),
     true);

bool MustStop() noexcept {
  try {
    return !WorkLimit::Check().ok();
  } catch (const std::bad_alloc&) {  // of the text that says why
    return true;
  }
}

struct KeptError : CompileError {
  KeptError() {
    must_stop = &MustStop;
    say = [](CompileError* self, const char* text) noexcept {
      try {
        static_cast<KeptError*>(self)->why = text;
      } catch (const std::bad_alloc&) {  // then it stays unsaid
      }
    };
  }
  // That it was stopped or lacked memory; OK where something else is wrong.
  absl::Status WhyUnfinished() const {
    if (is_stopped) return internal::Stopped(WorkLimit::Check(), "compiling");
    if (lacks_memory) return absl::ResourceExhaustedError("there is no memory to compile with");
    return absl::OkStatus();
  }
  std::string why;
};

// As the `take` of a request whose `to` is a string.
void TakeText(void* to, const char* made, size_t bytes) {
  static_cast<std::string*>(to)->assign(made, bytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<const NativeCode>> CompileRegion(const Region& region) {
  GYRE_ASSIGN_OR_RETURN(const CompilerLibrary* const library, LoadedCompiler());
  GYRE_ASSIGN_OR_RETURN(const CodeCache* const cache, CodeCache::Get());
  KeptError error;
  std::unique_ptr<const NativeCode> code(library->compile(region, cache, &error));
  if (code != nullptr) {
    if (!region.names.empty()) TellPerf(region, *code);
    return code;
  }
  GYRE_RETURN_IF_ERROR(error.WhyUnfinished());
  return BugError(absl::StrCat("native code of ", region.name, ": ", error.why));
}

namespace {

absl::StatusOr<std::string> MakeScalarPtx(PtxRequest request, absl::Span<const size_t> input_bytes,
                                          size_t output_bytes) {
  GYRE_ASSIGN_OR_RETURN(const CompilerLibrary* const library, LoadedCompiler());
  std::string text;
  request.num_inputs = static_cast<uint32_t>(input_bytes.size());
  request.output_bytes = static_cast<uint32_t>(output_bytes);
  request.take = &TakeText;
  request.to = &text;
  if (input_bytes.size() > std::size(request.input_bytes))
    return absl::UnimplementedError("it has more than three inputs");
  std::copy(input_bytes.begin(), input_bytes.end(), request.input_bytes);
  KeptError error;
  if (library->ptx(request, &error)) return text;
  GYRE_RETURN_IF_ERROR(error.WhyUnfinished());
  return absl::UnimplementedError(error.why);
}

}  // namespace

absl::StatusOr<std::string> ScalarPtx(const ScalarCode& code, absl::Span<const size_t> input_bytes,
                                      size_t output_bytes) {
  return MakeScalarPtx({.code = &code}, input_bytes, output_bytes);
}

absl::StatusOr<std::string> ScalarPtx(const std::string& function,
                                      absl::Span<const size_t> input_bytes, size_t output_bytes) {
  return MakeScalarPtx({.function = function.c_str()}, input_bytes, output_bytes);
}

absl::StatusOr<std::string> GpuKernelPtx(const std::string& name) {
  GYRE_ASSIGN_OR_RETURN(const CompilerLibrary* const library, LoadedCompiler());
  std::string text;
  KeptError error;
  if (library->gpu_kernel({.name = name.c_str(), .take = &TakeText, .to = &text}, &error))
    return text;
  GYRE_RETURN_IF_ERROR(error.WhyUnfinished());
  return absl::UnimplementedError(error.why);
}

absl::StatusOr<std::string> ObjectFile(ObjectRequest request, uint32_t& refused) {
  GYRE_ASSIGN_OR_RETURN(const CompilerLibrary* const library, LoadedCompiler());
  std::string file;
  request.to = &file;
  request.take = &TakeText;
  KeptError error;
  ObjectRefusal refusal;
  if (library->object(request, &refusal, &error)) return file;
  refused = refusal.instruction;
  if (!refusal.knows_cpu)
    return absl::InvalidArgumentError(absl::StrCat("there is no processor '", request.cpu, "'"));
  GYRE_RETURN_IF_ERROR(error.WhyUnfinished());
  return absl::UnimplementedError(error.why);
}

}  // namespace gyre::compiled
