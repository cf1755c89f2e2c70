// ## The plug-in
//
// An op has a schema, a sentence about it, a rule for the shapes of its results, a rule for its
// gradient and a kernel. `ForTypes` makes one kernel for each type of element that it names.
#include "gyre/core/op.h"

namespace {

template <typename T>
struct CubeKernel {
  static absl::Status Run(gyre::KernelContext& ctx) {
    // Memory comes from the run, which may have a budget; nobody else's input is written to.
    GYRE_ASSIGN_OR_RETURN(gyre::Tensor y,
                          ctx.ReuseOrAllocate(0, ctx.output_dtype(0), ctx.input(0).shape()));
    const auto x = ctx.input(0).values<T>();
    const auto out = y.mutable_values<T>();
    for (size_t i = 0; i < out.size(); ++i) out[i] = x[i] * x[i] * x[i];
    ctx.set_output(0, std::move(y));
    return absl::OkStatus();
  }
};

// A gradient rule writes nodes. What they compute is differentiated by their rules again.
void CubeGradient(gyre::GradientContext& g) {
  const gyre::Expr x = g.input(0);
  g.Add(0, g.grad() * (3.0 * x * x));
}

}  // namespace

GYRE_PLUGIN(ops) {
  ops.Add({.schema = "Cube(x: T) -> y: T {T: {float, double}}",
           .doc = "x to the power of 3, element by element.",
           .traits = {.elementwise = true},
           .shape = gyre::shape::SameAsInput,
           .gradient = {CubeGradient},
           .kernel = gyre::ForTypes<CubeKernel, gyre::Types<float, double>>("T")});
}
