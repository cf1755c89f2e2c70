// `gyre place`: which node runs on which device, why, and what each device runs.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/asked.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "cli/table.h"
#include "devices/device_set.h"
#include "ir/text/printer.h"
#include "place/cut_program.h"
#include "session/form.h"
#include "session/program_file.h"

namespace gyre::cli {
namespace {

constexpr int64_t kMostElements = 16;

constexpr Option kOptions[] = {
    kAskedFeed,
    kAskedFetch,
    kAskedTarget,
    {"--devices", "cpu:N[,null:N]", "the devices; default: cpu:2"},
    {"--soft", "", "drop what no device meets"},
    {"--spread", "SEED", "nodes go to devices drawn from this seed"},
    {"--explain", "",
     "say of every node where it runs and why, and of every copy\n"
     "how often it is made"},
    {"--text", "", "print what each device runs"},
    kPreparationTimeout,
    kPreparationBudget,
};

struct Settings {
  std::vector<DeviceName> devices;
  place::PlaceOptions place;
};

absl::StatusOr<Settings> ReadSettings(const Arguments& arguments) {
  Settings settings;
  GYRE_ASSIGN_OR_RETURN(settings.devices,
                        ParseDeviceSet(arguments.Get("--devices").value_or("cpu:2")));
  GYRE_ASSIGN_OR_RETURN(const int64_t seed, arguments.Int("--spread", 1, INT64_MAX, 0));
  settings.place.spread_seed = static_cast<uint64_t>(seed);
  settings.place.soft = arguments.Has("--soft");
  return settings;
}

// "2 loops deep": how often what the node sends is sent.
int DepthOf(const FrameTable& frames, int frame) {
  int depth = 0;
  for (; frame > 0; frame = frames.frames[frame].parent) ++depth;
  return depth;
}

// "CPU:1"
std::string NameOf(const Settings& settings, place::DeviceIndex device) {
  const DeviceName& name = settings.devices[device.value()];
  return absl::StrCat(*name.type, ":", *name.id);
}

void PrintWhy(const place::CutProgram& cut, const Settings& settings, std::ostream& out) {
  Table table({"node", "op", "device", "why"});
  for (const Node& node : cut.whole.function.nodes) {
    if (!cut.needed[node.id]) continue;
    const place::DeviceIndex device = cut.placement.device[node.id];
    table.Add({node.name, node.op_name, device == place::kNoDevice ? "" : NameOf(settings, device),
               cut.placement.why[node.id]});
  }
  table.Print(out);
}

void PrintCopies(const place::CutProgram& cut, const Settings& settings, std::ostream& out) {
  Table table({"copied", "from", "to", "how often"});
  for (const place::Copy& copy : cut.partition.copies) {
    const int depth = DepthOf(cut.frames, copy.frame);
    table.Add({copy.edge, NameOf(settings, copy.from), NameOf(settings, copy.to),
               depth == 0
                   ? "once"
                   : absl::StrCat("in every iteration of ", cut.frames.frames[copy.frame].name)});
  }
  table.Print(out);
}

void PrintParts(const place::CutProgram& cut, const Settings& settings, std::ostream& out) {
  PrintOptions options;
  options.literals.max_elements = kMostElements;
  options.wire_extra = false;
  for (const place::Part& part : cut.partition.parts) {
    out << "\n"
        << settings.devices[part.device.value()].ToString() << ":\n"
        << PrintFunction(part.lowered.function, options);
  }
}

int Run(absl::Span<const std::string> words, const Streams& streams) {
  const absl::StatusOr<Arguments> arguments = ParseFor(kPlaceCommand, words, 1, 1);
  if (!arguments.ok()) return Misuse(kPlaceCommand, streams, arguments.status());
  const auto limit = HoldToLimits(*arguments);
  if (!limit.ok()) return Misuse(kPlaceCommand, streams, limit.status());
  const absl::StatusOr<Settings> settings = ReadSettings(*arguments);
  if (!settings.ok()) return Misuse(kPlaceCommand, streams, settings.status());
  const std::string& path = arguments->positional()[0];
  auto program = LoadProgramFile(path);
  if (!program.ok()) return NotLoaded(kPlaceCommand, streams, path, program.status());
  const auto asked = ReadAsked(*std::move(program), *arguments);
  if (!asked.ok()) return Misuse(kPlaceCommand, streams, asked.status());
  const absl::StatusOr<Staged> ready = ToForm(*asked, SessionOptions());  // as a session runs it
  if (!ready.ok()) return Failure(kPlaceCommand, streams, ready.status());
  const absl::StatusOr<place::CutProgram> cut =
      place::Cut(*ready->program, ready->signature, settings->devices, settings->place);
  if (!cut.ok()) return Failure(kPlaceCommand, streams, cut.status());
  if (arguments->Has("--explain")) {
    PrintWhy(*cut, *settings, streams.out);
    streams.out << "\n";
    PrintCopies(*cut, *settings, streams.out);
  } else {
    for (const place::Part& part : cut->partition.parts) {
      streams.out << settings->devices[part.device.value()].ToString() << ": "
                  << part.lowered.function.nodes.size() << " nodes\n";
    }
    const size_t copies = cut->partition.copies.size();
    streams.out << copies << (copies == 1 ? " value is" : " values are")
                << " copied between devices\n";
  }
  if (arguments->Has("--text")) PrintParts(*cut, *settings, streams.out);
  return kSuccess;
}

}  // namespace

const Command kPlaceCommand = {
    "place",
    "GRAPH [OPTION...]",
    "Says which device runs which node of a graph.",
    kOptions,
    "Nodes run where the graph asks them to, also within loops, branches and functions. Copies\n"
    "are made where an edge leads from one device to another.",
    &Run,
};

}  // namespace gyre::cli
