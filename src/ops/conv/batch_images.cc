#include "ops/conv/batch_images.h"

#include "base/status.h"

namespace gyre {
namespace {

Expr Elements(BatchContext& c, Expr vector, int begin, int end) {
  ExprBuilder& b = c.builder();
  if (end < 0) return batch::Behind(vector);
  return c.op("StridedSlice", {vector, b.Ints({begin}), b.Ints({end}), b.Ints({1})});
}

}  // namespace

absl::Status BatchOfImages(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  GYRE_RETURN_IF_ERROR(c.NeedRank(0).status());
  const Expr dims = c.row_dims(0);
  const Expr images = Elements(c, dims, 0, 1);
  std::vector<Expr> inputs = c.inputs();
  inputs[0] =
      Reshape(inputs[0], batch::Joined({c.op("Mul", {images, c.rows()}), batch::Behind(dims)}));
  const Expr result = c.op(c.node().op_name, inputs, c.node().attrs);
  return c.EmitAs("Reshape",
                  {result, c.with_rows(batch::Joined({images, batch::Behind(ShapeOf(result))}))});
}

}  // namespace gyre
