// What is asked of a graph when it is looked at, not run: feeds, fetches and targets without
// values. Functions of their arguments alone; any thread.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "graphdef/meta_graph.h"
#include "passes/staged.h"

namespace gyre::cli {

// The options that ReadAsked reads, for the tables of commands.
inline constexpr Option kAskedFeed = {"--feed", "NAME[,NAME]",
                                      "these are fed; default: what has to be", 'f', true};
inline constexpr Option kAskedFetch = {
    "--fetch", "NAME[,NAME]", "these are fetched; default: all that nobody uses", 'y', true};
inline constexpr Option kAskedTarget = {"--target", "OP[,OP]",
                                        "these run for their effects; default, without --fetch:\n"
                                        "all that has effects",
                                        't', true};

// `program` with what those options ask of it. NOT_FOUND suggests names that are close.
absl::StatusOr<Staged> ReadAsked(std::shared_ptr<const Program> program,
                                 const Arguments& arguments);

// A model's program with what one of its signatures asks of it. NOT_FOUND suggests names that are
// close.
absl::StatusOr<Staged> AskForSignature(const MetaGraph& graph, absl::string_view name);

}  // namespace gyre::cli
