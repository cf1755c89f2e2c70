// Where a program's nodes were written, on their way to workers: a GraphDef has no field for it, so
// it travels as an attribute. Stateless; any thread.
#pragma once

#include <memory>

#include "ir/program.h"

namespace gyre::cluster {

// The program with each node's source, where it has one, among its attributes. To be sent.
std::shared_ptr<const Program> WithSourcesAmongAttributes(const Program& program);

// What that was made of. Of what was received.
std::shared_ptr<const Program> WithSourcesOfAttributes(const Program& program);

}  // namespace gyre::cluster
