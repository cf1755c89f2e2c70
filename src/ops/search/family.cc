#include "ops/families.h"

namespace gyre {

#define SEARCH_OPS(X) X(Bincount) X(EditDistance) X(Histogram) X(InTopK) X(SearchSorted)

GYRE_DEFINE_FAMILY(Search, SEARCH_OPS)

}  // namespace gyre
