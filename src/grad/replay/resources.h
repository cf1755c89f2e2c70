// Resources: which resources the handles of a program may lead to, and which of them run writes.
//
// Handles are followed through Identities, branches, loops and calls, from the nodes that make
// them. What comes from elsewhere (an argument of the main graph, an element of a list) may be any.
// Of one program, which must outlive it. Immutable.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/program.h"

namespace gyre::grad {

// Some of the resources of a run. The empty set is of handles that nobody is known to make.
struct ResourceSet {
  bool has_any = false;  // it may be any
  std::set<std::string> names;

  // Whether that was news.
  bool Join(const ResourceSet& other);
  // Whether one resource may be in both.
  bool MayMeet(const ResourceSet& other) const;
};

class Resources {
 public:
  explicit Resources(const Program& program);

  // Of a handle; `function`: empty for the main graph.
  const ResourceSet& Of(const std::string& function, Endpoint handle) const;
  // What running the node, with all that it calls, may change; `function` is the one it stands in.
  // Empty: nothing.
  ResourceSet WrittenBy(const std::string& function, const Node& node) const;

 private:
  using Rows = std::vector<std::vector<ResourceSet>>;  // by node, then output

  const Function& Find(const std::string& function) const;
  // True where the function's own rows changed; functions whose arguments did are put on `pending`.
  bool Update(const std::string& name, std::set<std::string>& pending);
  bool HandOver(const std::string& name, const Node& structured, std::set<std::string>& pending);
  ResourceSet Made(const std::string& function, const Node& node) const;
  // Of a node that calls nothing.
  void AddWrites(const std::string& function, const Node& node, ResourceSet& written) const;

  const Program& program_;
  std::map<std::string, Rows> rows_;
};

}  // namespace gyre::grad
