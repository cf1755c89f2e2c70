// Runs one golden case and says whether what came out is what was wanted. Stateless: cases may run
// on many threads at once, each in a session of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "golden/case.h"
#include "golden/cuts.h"
#include "golden/native.h"
#include "gyre/core/session.h"

namespace gyre::golden {

enum class Outcome { kPassed, kFailed, kSkipped };

struct CheckResult {
  std::string what;  // "group/name", "group/name gradients[1]"
  Outcome outcome = Outcome::kPassed;
  std::string why;  // of a failure or a skip: one sentence
  int64_t nanos = 0;
  std::optional<CaseCuts> cuts;                   // of a case itself that is run on several devices
  std::optional<sequential::NativeShare> native;  // of one that is run as native code
};

struct CheckOptions {
  SessionOptions session;
  int64_t timeout_ms = 0;       // of runs that name none; 0: none
  MemoryPolicy memory;          // of loops when gradients are taken
  bool gradients_only = false;  // leave the forward runs out
  // Runs are written as ONNX models, read again, and run as these; those that have no form there
  // are skipped.
  bool as_onnx = false;
  std::string onnx_folder;  // where the models stay; empty: nowhere
};

// One result for the case itself (none if all it holds are gradients), and one for each of its
// gradient entries.
std::vector<CheckResult> RunCase(const Case& golden, const CheckOptions& options);

}  // namespace gyre::golden
