// Cross entropies of labels and logits, one for each example, for formulas that are made of them.
// Stateless. Each ends with `Last`.
#pragma once

#include "ops/functions/formula.h"

namespace gyre::formula {

Term SoftmaxCrossEntropy(FormulaContext& f, Term labels, Term logits);
Term SparseSoftmaxCrossEntropy(FormulaContext& f, Term labels, Term logits);
Term SigmoidCrossEntropy(FormulaContext& f, Term labels, Term logits);

}  // namespace gyre::formula
