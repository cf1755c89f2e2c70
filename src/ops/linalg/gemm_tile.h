// A piece of one matrix product, and the vector code for it.
#pragma once

#include <cstdint>

namespace gyre {

// c[m, n] (+)= a[m, k] b[k, n]. Strides are in elements; a and b may be walked in either direction.
template <typename T>
struct GemmTile {
  int64_t m;
  int64_t n;
  int64_t k;
  const T* a;
  int64_t a_row;
  int64_t a_column;
  const T* b;
  int64_t b_row;
  int64_t b_column;
  T* c;
  int64_t c_row;
  bool accumulate;  // add to c instead of overwriting it
};

// Register-blocked vector code, chosen at run time by what the CPU can do. Meant for k <=
// kGemmBlockK. Any thread.
inline constexpr int64_t kGemmBlockK = 256;
void RunTile(const GemmTile<float>& tile);
void RunTile(const GemmTile<double>& tile);

}  // namespace gyre
