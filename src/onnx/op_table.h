// The ops of ONNX that Gyre reads: each is a function that writes it as ops of Gyre. The table is
// made when it is first asked for; any thread.
#pragma once

#include <string>
#include <vector>

#include "onnx/node_context.h"

namespace gyre::onnx {

// Null for an op that is not there. `domain`: "" is ONNX's own.
OpFn FindOp(const std::string& domain, const std::string& op);
// "Abs", "ai.onnx.ml.Binarizer", … in order.
std::vector<std::string> OpNames();

// What a family adds its ops to.
class OpTable {
 public:
  void Add(const std::string& op, OpFn write) { ops_[op] = write; }
  const std::map<std::string, OpFn>& ops() const { return ops_; }

 private:
  std::map<std::string, OpFn> ops_;
};

// The families: files of ops/.
void AddPairOps(OpTable& table);
void AddMathOps(OpTable& table);
void AddActivationOps(OpTable& table);
void AddLogicOps(OpTable& table);
void AddReduceOps(OpTable& table);
void AddShapeOps(OpTable& table);
void AddIndexOps(OpTable& table);
void AddMatrixOps(OpTable& table);
void AddConvOps(OpTable& table);
void AddPoolOps(OpTable& table);
void AddPadOps(OpTable& table);
void AddNormOps(OpTable& table);
void AddControlOps(OpTable& table);
void AddSequenceOps(OpTable& table);
void AddRecurrentOps(OpTable& table);
void AddQuantizeOps(OpTable& table);
void AddRandomOps(OpTable& table);
void AddLossOps(OpTable& table);
void AddResizeOps(OpTable& table);
void AddImageOps(OpTable& table);
void AddSignalOps(OpTable& table);
void AddTextOps(OpTable& table);
void AddAttentionOps(OpTable& table);

}  // namespace gyre::onnx
