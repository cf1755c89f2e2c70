// Where variables, queues and the like live that a session finds by name. Stateless; any thread.
//
// Several runs of a program share them, and each is placed by itself: what one run needs may not
// hold the node that asks for a variable's device. So the whole program decides.
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "ir/program.h"

namespace gyre::place {

// "container;name" of the state that `node`, called `node_name` in the program, is the handle of;
// "" if it is none.
std::string StateName(const Node& node, absl::string_view node_name);

// The same of what stands under `name` in `container`.
std::string StateName(absl::string_view container, absl::string_view name);

// By StateName, the device that the handle asks for or, if it asks for none, the first of the nodes
// that use it and ask for one. State that nobody asks for is not listed.
std::map<std::string, std::string> HomesOfState(const Program& program);

}  // namespace gyre::place
