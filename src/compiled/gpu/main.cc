// All code for GPUs, as one unit: see cmake/compiled.cmake.
#include "compiled/gpu/functions.h"
#include "compiled/gpu/move.h"
#include "compiled/gpu/reduce.h"
#include "compiled/gpu/rows.h"
