// Variables: what they hold is an initializer, and nothing changes it.
#include "absl/strings/str_cat.h"
#include "onnx/write/op_writer.h"

namespace gyre::onnx {
namespace {

ModelValue Held(OpWriter& w, int i) {
  const ModelValue& x = w.in(i);
  if (x.handle == nullptr || x.handle->initializer.empty()) {
    const std::string name = x.handle == nullptr ? "?" : x.handle->name;
    w.model().Fail(absl::FailedPreconditionError(absl::StrCat(
        "variable '", name, "' has no value: give it one before the program is written")));
    return ModelValue();
  }
  ModelValue value;
  value.name = x.handle->initializer;
  value.dtype = x.handle->dtype;
  value.shape = x.handle->shape;
  return value;
}

void WriteRead(OpWriter& w) { w.out(0, Held(w, 0)); }
void WriteResourceGather(OpWriter& w) {
  if (w.IntOfAttr("batch_dims") != 0) return w.Unsupported("batch axes");
  w.out(0, w.Gather(Held(w, 0), w.in(1), 0));
}
void WriteResourceGatherNd(OpWriter& w) {
  w.out(0, w.Op("GatherND", {Held(w, 0), w.AsInt64(w.in(1))}));
}
void WriteVariableShape(OpWriter& w) { w.out(0, w.Index(w.ShapeOf(Held(w, 0)), w.out_dtype())); }
void WriteIsInitialized(OpWriter& w) { w.out(0, Emitter::Known(Tensor::Scalar(true))); }

}  // namespace

void AddStateWriters(WriteTable& t) {
  t.AddForAll("IsVariableInitialized", WriteIsInitialized);
  t.AddForAll("ReadVariableOp", WriteRead);
  t.AddForAll("ResourceGather", WriteResourceGather);
  t.AddForAll("ResourceGatherNd", WriteResourceGatherNd);
  t.AddForAll("VarIsInitializedOp", WriteIsInitialized);
  t.AddForAll("VariableShape", WriteVariableShape);
}

}  // namespace gyre::onnx
