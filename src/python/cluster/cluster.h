// Clusters, for sessions of Python.
#pragma once

#include <memory>

#include "gyre/core/session.h"
#include "python/python.h"

namespace gyre::python {

// What is behind an object of class Cluster; TypeError for all else.
std::shared_ptr<const Engine> ClusterOf(nb::handle cluster);

}  // namespace gyre::python
