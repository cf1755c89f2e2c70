#include "ops/families.h"
#include "ops/special/special_functions.h"

namespace gyre {

#define SPECIAL_OPS(X) X(Bessel) X(Gamma) X(IncompleteGamma) X(Integrals) X(NoNan) X(Quantiles)

GYRE_DEFINE_FAMILY(Special, SPECIAL_OPS)

void AddSpecialOp(OpRegistry& ops, absl::string_view schema, std::vector<absl::string_view> api,
                  absl::string_view types, absl::string_view doc, KernelFactory kernel,
                  Gradient gradient) {
  ops.Add({.schema = absl::StrCat(schema, " {T: ", types, "}"),
           .doc = doc,
           .api = std::move(api),
           .traits = {.elementwise = true},
           .shape = shape::Broadcast,
           .gradient = std::move(gradient),
           .failure = fails::ByShapes,
           .kernel = std::move(kernel)});
}

}  // namespace gyre
