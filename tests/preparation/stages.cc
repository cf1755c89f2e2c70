#include "preparation/stages.h"

#include "base/work.h"
#include "devices/device_set.h"
#include "exec/engine.h"
#include "grad/gradients.h"
#include "graphdef/export.h"
#include "graphdef/import.h"
#include "gtest/gtest.h"
#include "ir/shape_inference.h"
#include "ir/text/dot.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/summary.h"
#include "ir/verifier.h"
#include "ops/registry.h"
#include "session/form.h"
#include "session/names.h"

namespace gyre::testing {
namespace {

absl::Status Plan(const Material& material, EngineKind engine, const SessionOptions& session,
                  const char* devices, uint64_t spread_seed) {
  auto signature = MainNames(*material.program).FindSignature({"x:0"}, {"y:0"}, {});
  if (!signature.ok()) return signature.status();
  auto staged = ToForm(MakeStaged(material.program, *signature), session);
  if (!staged.ok()) return staged.status();
  EngineOptions options;
  if (*devices != 0) options.devices = *ParseDeviceSet(devices);
  options.place.spread_seed = spread_seed;
  return EngineOf(engine).Compile(staged->program, staged->signature, options).status();
}

std::function<absl::Status(const Material&)> Planned(EngineKind engine, ProgramForm form,
                                                     const char* devices = "",
                                                     uint64_t spread_seed = 0) {
  return [=](const Material& material) {
    SessionOptions options;
    options.form = form;
    return Plan(material, engine, options, devices, spread_seed);
  };
}

std::function<absl::Status(const Material&)> Differentiated(const MemoryPolicy& memory) {
  return [=](const Material& material) -> absl::Status {
    auto signature = MainNames(*material.program).FindSignature({"x:0"}, {"y:0"}, {});
    if (!signature.ok()) return signature.status();
    GradientRequest request;
    request.ys = signature->fetches;
    request.xs = signature->feeds;
    request.memory = memory;
    return DenseGradients(material.program, request).status();
  };
}

absl::Status Printed(const std::function<std::string()>& print) {
  return RunStage("printing", [&]() -> absl::StatusOr<std::string> { return print(); }).status();
}

}  // namespace

Material MaterialOf(const std::string& text) {
  Material material{text, "", nullptr};
  auto program = ParseProgram(text, Ops());
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return material;
  material.program = *std::move(program);
  auto bytes = ExportGraphDef(*material.program, GraphFormat::kBinary);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  if (bytes.ok()) material.graph_def = *std::move(bytes);
  return material;
}

const std::vector<Stage>& Stages() {
  static const auto* const stages = new std::vector<Stage>{
      {"ReadText", [](const Material& m) { return ParseProgram(m.text, Ops()).status(); }},
      {"ReadGraphDef",
       [](const Material& m) { return ImportGraphDef(m.graph_def, Ops(), {}).status(); }},
      {"WriteText",
       [](const Material& m) { return Printed([&] { return PrintProgram(*m.program); }); }},
      {"WriteGraphDef",
       [](const Material& m) { return ExportGraphDef(*m.program, GraphFormat::kBinary).status(); }},
      {"WriteGraphDefAsText",
       [](const Material& m) { return ExportGraphDef(*m.program, GraphFormat::kText).status(); }},
      {"Summarize",
       [](const Material& m) { return Printed([&] { return PrintSummary(*m.program); }); }},
      {"Draw", [](const Material& m) { return Printed([&] { return PrintDot(*m.program); }); }},
      {"Verify", [](const Material& m) { return Verify(*m.program, Dialect::kAny); }},
      {"InferShapes", [](const Material& m) { return InferShapes(*m.program).status(); }},
      {"PlanReference", Planned(EngineKind::kReference, ProgramForm::kImported)},
      {"PlanDataflow", Planned(EngineKind::kDataflow, ProgramForm::kImported)},
      {"PlanDevices", Planned(EngineKind::kDataflow, ProgramForm::kImported, "cpu:2")},
      {"PlanSpread", Planned(EngineKind::kDataflow, ProgramForm::kImported, "cpu:2", 3)},
      {"Raise", Planned(EngineKind::kReference, ProgramForm::kRaised)},
      {"Relower", Planned(EngineKind::kReference, ProgramForm::kRelowered)},
      {"Optimize", Planned(EngineKind::kReference, ProgramForm::kOptimized)},
      {"Differentiate", Differentiated({}), /*recurses=*/true},
      {"Recompute", Differentiated(MemoryPolicy::Recompute(2)), /*recurses=*/true,
       /*has_memory_policy=*/true},
      {"Checkpoint", Differentiated(MemoryPolicy::Checkpoint(200)), /*recurses=*/true,
       /*has_memory_policy=*/true},
  };
  return *stages;
}

}  // namespace gyre::testing
