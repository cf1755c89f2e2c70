// The golden graphs that ask for devices: a timeline of each run shows that every node ran on the
// device that it asks for, on devices of one process and on workers.
//
// Two graphs ask for different devices for the users of one TensorArray, which stand together with
// what the program colocates with them: there, the first request holds.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "devices/device_name.h"
#include "golden/case.h"
#include "golden/compare.h"
#include "gtest/gtest.h"
#include "gyre/core/debug.h"
#include "ir/parse.h"
#include "ir/text/printer.h"
#include "session/program_file.h"
#include "session/trace/log.h"
#include "support/cluster/workers.h"
#include "support/paths.h"

namespace gyre {
namespace {

// What the nodes of a program ask for, by function ("" for the main graph) and name.
using Requests = std::map<std::pair<std::string, std::string>, DeviceName>;

Requests RequestsOf(const Program& program) {
  Requests requests;
  const auto add = [&](const std::string& function, const Node& node) {
    if (node.device.empty()) return;
    const auto device = DeviceName::Parse(node.device);
    EXPECT_TRUE(device.ok()) << device.status();
    if (device.ok()) requests.emplace(std::pair(function, node.name), *device);
  };
  for (const Node& node : program.main().nodes) add("", node);
  for (const auto& [name, function] : program.functions()) {
    for (const Node& node : function->nodes) {
      add(name, node);
      // A constant of a body fires outside of it, where another may have its name.
      if (node.op_name == "Const") requests.erase({"", node.name});
    }
  }
  return requests;
}

struct Seen {
  int proven = 0;                   // firings of nodes on the device that they ask for
  std::set<std::string> elsewhere;  // nodes that fired on another
  std::set<std::string> devices;
};

// What each graph must not do as it is asked.
const std::map<std::string, std::set<std::string>>& Contradictions() {
  static const auto* const nodes = new std::map<std::string, std::set<std::string>>{
      {"array_v1",
       {"while/TensorArrayWrite/TensorArrayWriteV3",
        "while/TensorArrayWrite/TensorArrayWriteV3/Enter", "while/add"}},
      {"map_inside_v1",
       {"while/map/while/TensorArrayReadV3", "while/map/while/TensorArrayReadV3/Enter",
        "while/map/while/TensorArrayReadV3/Enter_1"}}};
  return *nodes;
}

void Compare(const TraceRecorder& recorder, const Requests& requests, Seen* seen) {
  const trace::Timeline timeline = recorder.log().Merge();
  for (const trace::FiringEntry& firing : timeline.firings) {
    const trace::NodeEntry& node = timeline.nodes[firing.node];
    const auto device = DeviceName::Parse(node.device);
    ASSERT_TRUE(device.ok()) << node.name << " ran on \"" << node.device << "\"";
    seen->devices.insert(node.device);
    const auto request = requests.find({node.function, node.name});
    if (node.is_plumbing || request == requests.end()) continue;
    if (request->second.Matches(*device)) {
      ++seen->proven;
    } else {
      seen->elsewhere.insert(node.name);
    }
  }
}

// Runs all that the case runs; its results are as wanted, too.
Seen RunCase(const golden::Case& golden, std::shared_ptr<const Program> program,
             SessionOptions options) {
  Seen seen;
  const Requests requests = RequestsOf(*program);
  options.soft_placement = Contradictions().contains(golden.name);
  options.print = [](absl::string_view, absl::string_view) {};
  const auto session = Session::Create(std::move(program), options);
  EXPECT_TRUE(session.ok()) << session.status();
  if (!session.ok()) return seen;
  const auto run = [&](const Feeds& feeds, const std::vector<std::string>& fetches,
                       const std::vector<std::string>& targets) {
    TraceRecorder recorder;
    RunOptions run_options;
    run_options.observer = &recorder;
    auto results = (*session)->Run(feeds, fetches, targets, run_options);
    EXPECT_EQ(recorder.left_out(), 0);
    Compare(recorder, requests, &seen);
    return results;
  };
  for (const std::string& op : golden.init) EXPECT_TRUE(run({}, {}, {op}).ok());
  for (const golden::Step& step : golden.steps) {
    const auto results = run(step.feeds, step.fetches, step.targets);
    if (step.error) {
      EXPECT_EQ(results.status().code(), step.error->code) << results.status();
      continue;
    }
    EXPECT_TRUE(results.ok()) << results.status();
    if (!results.ok()) continue;
    for (size_t i = 0; i < results->size(); ++i)
      EXPECT_EQ(golden::Difference((*results)[i], step.expect[i], step.tolerance), std::nullopt);
  }
  return seen;
}

class DevicesGroup : public ::testing::TestWithParam<std::string> {
 protected:
  DevicesGroup() {
    const std::string folder = absl::StrCat(test::SourcePath("tests/golden/devices/"), GetParam());
    const auto golden = golden::ReadCase(folder);
    EXPECT_TRUE(golden.ok()) << golden.status();
    if (golden.ok()) golden_ = *golden;
    const auto program = LoadProgramFile(golden_.graph_path());
    EXPECT_TRUE(program.ok()) << program.status();
    if (program.ok()) program_ = *program;
  }
  std::set<std::string> Expected() const {
    const auto it = Contradictions().find(GetParam());
    return it == Contradictions().end() ? std::set<std::string>() : it->second;
  }
  golden::Case golden_;
  std::shared_ptr<const Program> program_;
};

TEST_P(DevicesGroup, RunsWhereItAsksOnDevicesOfAProcess) {
  SessionOptions options;
  options.devices = "cpu:2";
  const Seen seen = RunCase(golden_, program_, options);
  EXPECT_GT(seen.proven, 0);
  EXPECT_EQ(seen.elsewhere, Expected());
  EXPECT_EQ(seen.devices.size(), 2u);
}

// The second device of the graphs is that of the second worker.
TEST_P(DevicesGroup, RunsWhereItAsksOnTwoWorkers) {
  test::Workers workers(2);
  cluster::ClusterSettings settings = workers.Settings();
  for (int i = 0; i < 2; ++i)
    settings.addresses[i] = absl::StrCat("/job:localhost/task:", i, "=", settings.addresses[i]);
  const auto engine = workers.Connect(settings);
  ASSERT_TRUE(engine.ok()) << engine.status();
  SessionOptions options;
  options.cluster = *engine;
  const auto program = Parse(absl::StrReplaceAll(
      PrintProgram(*program_), {{"/task:0/device:CPU:1", "/task:1/device:CPU:0"}}));
  const Seen seen = RunCase(golden_, program, options);
  EXPECT_GT(seen.proven, 0);
  EXPECT_EQ(seen.elsewhere, Expected());
  EXPECT_EQ(seen.devices, (std::set<std::string>{"/job:localhost/replica:0/task:0/device:CPU:0",
                                                 "/job:localhost/replica:0/task:1/device:CPU:0"}));
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  const auto folders = golden::FindCases(test::SourcePath("tests/golden/devices"));
  if (!folders.ok()) return names;
  for (const std::string& folder : *folders) names.push_back(folder.substr(folder.rfind('/') + 1));
  return names;
}

INSTANTIATE_TEST_SUITE_P(Golden, DevicesGroup, ::testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gyre
