// Eigen's dense matrices, as the decompositions use them: row by row, on one thread, set up by
// eigen_steps.h. Other headers of Eigen come behind this one.
//
// Headers alone. Out of memory, Eigen throws std::bad_alloc, as kernels may.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "absl/types/span.h"
#include "ops/linalg/eigen_steps.h"
// clang-format off: behind what sets it up
#include <eigen3/Eigen/Core>
// clang-format on

namespace gyre {

template <typename T>
using EigenMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using EigenVector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// The matrix of this size that starts at `data`.
template <typename T>
Eigen::Map<const EigenMatrix<T>> MatrixAt(const T* data, int64_t rows, int64_t columns) {
  return {data, rows, columns};
}
template <typename T>
Eigen::Map<EigenMatrix<T>> MatrixAt(T* data, int64_t rows, int64_t columns) {
  return {data, rows, columns};
}
template <typename T>
Eigen::Map<EigenVector<T>> VectorAt(T* data, int64_t size) {
  return {data, size};
}

// In what matrices of T are decomposed where that would take minutes to compile: complex64, which
// is rare, as complex128.
template <typename T>
using SolverType =
    std::conditional_t<std::is_same_v<T, std::complex<float>>, std::complex<double>, T>;

// The parts of a T: float for complex64.
template <typename T>
using RealOf = typename Eigen::NumTraits<T>::Real;

}  // namespace gyre

// The kernels of Eigen's products of matrices, which all decompositions use, are compiled once, in
// eigen_kernels.cc: they are most of what a decomposition takes to compile.
#define GYRE_EIGEN_KERNEL(how, T, ConjugateLhs, ConjugateRhs)                                   \
  how template struct Eigen::internal::gebp_kernel<                                             \
      T, T, Eigen::Index,                                                                       \
      Eigen::internal::blas_data_mapper<T, Eigen::Index, Eigen::ColMajor, Eigen::Unaligned, 1>, \
      Eigen::internal::gebp_traits<T, T>::mr, Eigen::internal::gebp_traits<T, T>::nr,           \
      ConjugateLhs, ConjugateRhs>;
#define GYRE_EIGEN_KERNELS(how)                              \
  GYRE_EIGEN_KERNEL(how, float, false, false)                \
  GYRE_EIGEN_KERNEL(how, double, false, false)               \
  GYRE_EIGEN_KERNEL(how, std::complex<float>, false, false)  \
  GYRE_EIGEN_KERNEL(how, std::complex<float>, true, false)   \
  GYRE_EIGEN_KERNEL(how, std::complex<float>, false, true)   \
  GYRE_EIGEN_KERNEL(how, std::complex<float>, true, true)    \
  GYRE_EIGEN_KERNEL(how, std::complex<double>, false, false) \
  GYRE_EIGEN_KERNEL(how, std::complex<double>, true, false)  \
  GYRE_EIGEN_KERNEL(how, std::complex<double>, false, true)  \
  GYRE_EIGEN_KERNEL(how, std::complex<double>, true, true)

GYRE_EIGEN_KERNELS(extern)
