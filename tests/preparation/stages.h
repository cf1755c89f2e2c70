// The stages between a file and a run, each alone, for tests of what they cost. Stateless.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ir/program.h"
#include "support/large_programs.h"

namespace gyre::testing {

// What a stage starts from: a program as text, as bytes of a GraphDef, and in memory.
struct Material {
  std::string text;
  std::string graph_def;
  std::shared_ptr<const Program> program;
};

// Of a program in the text form. A failed test where it cannot be read.
Material MaterialOf(const std::string& text);

struct Stage {
  const char* name;
  std::function<absl::Status(const Material&)> run;
  // It calls itself as deep as the program nests.
  bool recurses = false;
  // It cuts loops, from the inside out: what is nested d deep is gone over d times.
  bool has_memory_policy = false;
};

// Reading, writing, verifying, each form, planning for each engine and for devices,
// differentiating, memory policies.
const std::vector<Stage>& Stages();

inline void PrintTo(const Stage& stage, std::ostream* out) { *out << stage.name; }
inline void PrintTo(const LargeProgram& program, std::ostream* out) { *out << program.name; }

}  // namespace gyre::testing
