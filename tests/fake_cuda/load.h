// The fake driver, for tests of CUDA devices on machines that have no NVIDIA driver.
#pragma once

#include <dlfcn.h>

#include "support/paths.h"

namespace gyre::testing {

// Makes libcuda.so.1 the fake driver where there is no other. Before this process first asks for a
// CUDA device. Any thread.
inline void LoadFakeCudaIfNeeded() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr)
    dlopen(test::BuildPath("fake_cuda/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
}

// A function of faults.h; null: the driver is a real one.
template <typename F>
F* FakeCudaFunction(const char* name) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(library, name));
}

}  // namespace gyre::testing
