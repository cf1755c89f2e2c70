// Fold: what can be computed beforehand, is.
//
// A pure op whose inputs are constants becomes a constant, and so does what shapes already tell:
// Shape, Size and Rank of values whose shape is known, and what follows from them. Left alone is
//   - what fails: the error belongs to the run, if it ever gets there;
//   - what makes more than a megabyte, unless it makes no more than goes in;
//   - what is fed, and what reads a reference.
// A constant in place of something that came after an effect still comes after it.
#pragma once

#include "passes/staged.h"

namespace gyre {

absl::StatusOr<Staged> FoldPass(const Staged& staged);

}  // namespace gyre
