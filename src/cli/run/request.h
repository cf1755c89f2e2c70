// What one run of `gyre run` is asked for: names looked up, values read. Functions of their
// arguments alone; any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "gyre/core/session.h"
#include "saved_model/graph_or_model.h"

namespace gyre::cli {

// One run of the session, ready to go.
struct Request {
  Feeds feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  std::string out;                 // empty: print
  std::vector<std::string> names;  // under which the fetches are reported
};

// The run that --feed, --fetch, --target, --signature and --out describe. Errors name the option
// and what is close to a name that leads nowhere.
absl::StatusOr<Request> MakeRequest(const GraphOrModel& loaded, const Arguments& arguments);

}  // namespace gyre::cli
