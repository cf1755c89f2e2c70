// Ops of arrays, as they are called.
#include "ops/functions/families.h"

namespace gyre {

void RegisterArrayFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(input: tensor, type: type)",
                 .doc =
                     "The same bytes as elements of another type; where sizes differ, a dimension "
                     "more or less.",
                 .api = {"bitcast"},
                 .op = "Bitcast"});
  functions.Add({.signature = "(input: tensor, axis: tensor)",
                 .doc = "A dimension of size 1 more, before `axis` (-1: at the end).",
                 .api = {"expand_dims"},
                 .op = "ExpandDims"});
}

}  // namespace gyre
