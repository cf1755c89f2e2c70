// OpWriter: what the function for an op of Gyre sees of one node, and how it says what the node is
// in ONNX.
//
//   void WriteSquare(OpWriter& w) { w.out(0, w.Mul(w.in(0), w.in(0))); }
//
// One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "ir/shape_context.h"
#include "onnx/write/emitter.h"

namespace gyre::onnx {

class OpWriter : public Emitter {
 public:
  // `infos`: what is known of the outputs.
  OpWriter(ModelWriter& model, const Node& node, std::vector<ModelValue> inputs,
           const std::vector<const ValueInfo*>& infos)
      : Emitter(model), node_(node), inputs_(std::move(inputs)), infos_(infos) {
    outputs_.resize(node.signature.outputs.size());
  }

  const Node& node() const { return node_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  // INVALID_ARGUMENT, remembered, where there is none.
  const ModelValue& in(int i);
  const std::vector<ModelValue>& ins() const { return inputs_; }
  DType dtype(int i) { return in(i).dtype; }
  DType out_dtype(int i = 0) const { return node_.signature.outputs[i].dtype; }
  const PartialShape& out_shape(int i = 0) const { return infos_[i]->shape; }
  // Input `i`, a list, an array's flow, or, of an array, its handle.
  const ModelValue& list(int i);

  template <typename T>
  T attr(absl::string_view name, T fallback) const {
    return node_.attrs.GetOr<T>(name, std::move(fallback));
  }
  bool Flag(absl::string_view name) const { return attr<bool>(name, false); }
  int64_t IntOfAttr(absl::string_view name, int64_t fallback = 0) const {
    return attr<int64_t>(name, fallback);
  }
  std::vector<int64_t> IntsOfAttr(absl::string_view name) const {
    return attr<std::vector<int64_t>>(name, {});
  }
  std::string TextOfAttr(absl::string_view name) const { return attr<std::string>(name, ""); }

  void out(int i, ModelValue value) {
    if (i < num_outputs()) outputs_[i] = std::move(value);
  }
  std::vector<ModelValue>& outputs() { return outputs_; }

 private:
  const Node& node_;
  const std::vector<ModelValue> inputs_;
  const std::vector<const ValueInfo*>& infos_;
  std::vector<ModelValue> outputs_;
};

using WriteFn = void (*)(OpWriter&);

// What loops look at: whether they fill a list, and how often they run.
enum class LoopPart : uint8_t {
  kOther,
  kAppends,   // to the list that input 0 is, input 1
  kSets,      // in the list that input 0 is, at input 1, input 2
  kWrites,    // to the array whose flow is input 3, at input 1, input 2
  kStacks,    // asks for elements of one shape, or for none
  kCompares,  // whether input 0 is less than input 1
  kBoth,      // whether both conditions hold
};

struct WriteRule {
  WriteFn write = nullptr;
  bool takes_others = false;  // inputs that are no tensors: lists, optionals, handles
  LoopPart part = LoopPart::kOther;
};

// The ops of Gyre that are written: made when it is first asked for; any thread.
class WriteTable {
 public:
  void Add(const std::string& op, WriteFn write, LoopPart part = LoopPart::kOther) {
    rules_[op] = {write, false, part};
  }
  void AddForAll(const std::string& op, WriteFn write, LoopPart part = LoopPart::kOther) {
    rules_[op] = {write, true, part};
  }
  const HashMap<std::string, WriteRule>& rules() const { return rules_; }

 private:
  HashMap<std::string, WriteRule> rules_;
};

// Null for an op that has no form in ONNX.
const WriteRule* FindWriteRule(const std::string& op);
LoopPart LoopPartOf(const Node& node);
std::vector<std::string> WrittenOps();

// The families.
void AddMathWriters(WriteTable& table);
void AddShapeWriters(WriteTable& table);
void AddIndexWriters(WriteTable& table);
void AddReduceWriters(WriteTable& table);
void AddMatrixWriters(WriteTable& table);
void AddImageWriters(WriteTable& table);
void AddGradientWriters(WriteTable& table);
void AddListWriters(WriteTable& table);
void AddStateWriters(WriteTable& table);

}  // namespace gyre::onnx
