// GYRE_INTERNAL_EXPORT: stands before what libgyre.so shows to Gyre's own parts that are linked
// with it, and to nobody else: the Python module, and the main() of bin/gyre. No header in which it
// stands is installed, unless plug-ins need it (gyre/core/op.h). tests/project/exports.py counts
// what is shown.
#pragma once

#include "gyre/core/export.h"

#define GYRE_INTERNAL_EXPORT GYRE_EXPORT
