// The order of what shape inference knows: from "no value ever gets here" up to "anything may".
//
// `Join` of two facts is the narrowest fact that allows what either allows. A chain of joins can
// only grow a bounded number of times, and `JoinRepeated` makes that number small, so fixed points
// are reached.
#pragma once

#include <optional>
#include <vector>

#include "ir/shape_context.h"

namespace gyre {

bool SameInfo(const ValueInfo& a, const ValueInfo& b);
ValueInfo Join(const ValueInfo& a, const ValueInfo& b);

// `info` without a constant too large to be a shape, an axis or the like; with a shape where only a
// value is known.
ValueInfo Normalized(ValueInfo info);

// What is known of a row of values: the outputs of a node, or the arguments or results of a
// function. nullopt: no way has been found yet in which they are ever computed.
using ValueInfos = std::optional<std::vector<ValueInfo>>;

ValueInfos UnknownInfos(size_t n);
bool SameInfos(const ValueInfos& a, const ValueInfos& b);
// Rows of different lengths join to a row that is as long as the longer one and knows nothing.
ValueInfos JoinInfos(const ValueInfos& a, const ValueInfos& b);

// Replaces `known` by JoinInfos(known, more) and says whether that changed anything. `changes`
// counts the changes of `known`; after a few of them, what still changes gives up its dimensions,
// then its rank.
bool JoinRepeated(ValueInfos& known, const ValueInfos& more, int& changes);

}  // namespace gyre
