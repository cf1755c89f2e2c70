#include "ir/text/arg.h"

namespace gyre {

Node PlainArgNode(const OpLookup* ops, NodeId id, const FunctionArg& arg) {
  Node node;
  node.id = id;
  node.name = arg.name;
  node.op_name = "_Arg";
  node.op = ops == nullptr ? nullptr : ops->Find(node.op_name);
  node.attrs = arg.attrs;
  node.attrs.Set("T", arg.dtype);
  node.attrs.Set("index", int64_t{id});
  node.signature.outputs.push_back({arg.dtype, arg.is_ref});
  return node;
}

}  // namespace gyre
