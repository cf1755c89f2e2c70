// Plug-ins: shared libraries that bring ops. A plug-in registers its ops as those of src/ops/ are
// registered:
//
//   GYRE_PLUGIN(ops) {
//     ops.Add({.schema = "Cube(x: T) -> y: T {T: {float, double}}",
//              .doc = "x to the power of 3.",
//              .shape = shape::SameAsInput,
//              .gradient = {CubeGradient},
//              .kernel = ForTypes<CubeKernel, Types<float, double>>("T")});
//   }
//
// It is linked with libgyre.so, as the program that loads it is, and stays loaded to the end of the
// process. Plug-ins may be loaded from any thread; a program that is read afterwards may use their
// ops.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "gyre/core/export.h"
#include "ir/gradient_context.h"
#include "ops/registry.h"

namespace gyre {

// To be raised with every change of what a plug-in includes (the headers of include/gyre/internal
// in an installation) after which one that was built before would not work.
constexpr uint32_t kPluginInterface = 5;

// The sizes of what a plug-in and Gyre hand each other, folded into a number (FNV-1a): differs
// where compile options or another version of Abseil have changed them.
constexpr uint64_t PluginLayout() {
  uint64_t hash = 14695981039346656037u;
  for (const uint64_t size :
       {sizeof(Tensor), sizeof(PartialShape), sizeof(AttrValue), sizeof(AttrMap), sizeof(Node),
        sizeof(OpDef), sizeof(OpRegistration), sizeof(ShapeContext), sizeof(ValueInfo),
        sizeof(ExprBuilder), sizeof(RunEnv), sizeof(KernelContext), sizeof(Kernel)}) {
    hash = (hash ^ size) * 1099511628211u;
  }
  return hash;
}

// What a plug-in exports, as `gyre_plugin`. The first member means the same in all versions; the
// others are as it says.
struct PluginEntry {
  uint32_t interface = kPluginInterface;
  uint64_t layout = PluginLayout();
  void (*add)(OpRegistry& ops) = nullptr;
};

// Loads the plug-in at `path`: a file, not a name to be searched for. Loading one again does
// nothing.
//
// NOT_FOUND: there is no such file. INVALID_ARGUMENT: it is no shared library, or no plug-in, or
// one for another version of Gyre, or its ops do not fit: a schema that cannot be parsed, a name
// that is taken, an op without a kernel. Whatever the error, none of its ops has been added.
GYRE_EXPORT absl::Status LoadPlugin(const std::string& path);

}  // namespace gyre

extern "C" __attribute__((visibility("default"))) const gyre::PluginEntry gyre_plugin;

// What a plug-in consists of: a body that adds ops to `ops`, an OpRegistry&. Once per library, not
// in a namespace.
#define GYRE_PLUGIN(ops)                                            \
  static void AddOpsOfPlugin(::gyre::OpRegistry& ops);              \
  const ::gyre::PluginEntry gyre_plugin = {.add = &AddOpsOfPlugin}; \
  static void AddOpsOfPlugin(::gyre::OpRegistry& ops)
