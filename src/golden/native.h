// How much of a golden case's programs becomes native code. Stateless; any thread.
#pragma once

#include "exec/sequential/explain.h"
#include "golden/case.h"
#include "gyre/core/session.h"

namespace gyre::golden {

// Of all different runs of a case together, in the form that `options` names. `session` has loaded
// the case.
sequential::NativeShare CountNative(const Case& golden, const Session& session,
                                    const SessionOptions& options);

}  // namespace gyre::golden
