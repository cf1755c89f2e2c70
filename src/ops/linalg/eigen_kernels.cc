// The one place where the kernels of Eigen's products of matrices are compiled.
#include "ops/linalg/eigen.h"

GYRE_EIGEN_KERNELS()
