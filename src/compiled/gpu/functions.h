// Functions of single elements: under the C library's names, of which kernels are made that call
// them; and, with the interface of ScalarFunction (ops/scalar_code.h), of ops whose function on the
// host is vector code.
#pragma once

#include "compiled/gpu/device.h"
#include "compiled/gpu/math.h"

#define GYRE_C_FUNCTION(name, F)                               \
  extern "C" double name(double x) { return gyre::gpu::F(x); } \
  extern "C" float name##f(float x) { return (float)gyre::gpu::F(x); }

GYRE_C_FUNCTION(exp, Exp)
GYRE_C_FUNCTION(expm1, Expm1)
GYRE_C_FUNCTION(log, Log)
GYRE_C_FUNCTION(log1p, Log1p)
GYRE_C_FUNCTION(tanh, Tanh)
GYRE_C_FUNCTION(sinh, Sinh)
GYRE_C_FUNCTION(cosh, Cosh)
GYRE_C_FUNCTION(erf, Erf)
GYRE_C_FUNCTION(erfc, Erfc)

#define GYRE_SCALAR_OF_TYPE(op, F, name, T)                                            \
  extern "C" bool gyre_scalar_##op##_##name(const void* const* inputs, void* output) { \
    using Type = gyre::gpu::T;                                                         \
    const auto x = *static_cast<const Type::Stored*>(inputs[0]);                       \
    const double y = gyre::gpu::F(Type::Up(x));                                        \
    *static_cast<Type::Stored*>(output) = Type::Down(static_cast<Type::Computed>(y));  \
    return true;                                                                       \
  }
#define GYRE_SCALAR(op, F)                     \
  GYRE_SCALAR_OF_TYPE(op, F, float32, Float32) \
  GYRE_SCALAR_OF_TYPE(op, F, float64, Float64) \
  GYRE_SCALAR_OF_TYPE(op, F, float16, Float16) \
  GYRE_SCALAR_OF_TYPE(op, F, bfloat16, Bfloat16)

GYRE_SCALAR(Exp, Exp)
GYRE_SCALAR(Log, Log)
GYRE_SCALAR(Tanh, Tanh)
GYRE_SCALAR(Sigmoid, Sigmoid)
