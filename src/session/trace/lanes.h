// Which track each slice of a timeline stands on. Viewers show slices of one track inside each
// other; slices that overlap without one holding the other need tracks beside each other.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "session/trace/log.h"

namespace gyre::trace {

// From the beginning of a place's first firing to the end of its last; begin > end: nothing fired.
struct Interval {
  int64_t begin = INT64_MAX;
  int64_t end = INT64_MIN;
};

struct PlaceSlice {
  int32_t place = 0;
  Interval time;
  int track = 0;
};

struct PlaceTracks {
  std::vector<std::string> names;  // by track
  std::vector<PlaceSlice> slices;  // each after the one around it
};

// A place stands within its parent's slice as long as no sibling does at that time; otherwise on a
// track that it shares with places of the same name alone.
PlaceTracks LayOutPlaces(const Timeline& timeline);

// For each firing, 0 or, where it would overlap an earlier one of its thread (a node that was
// waited for), the number of the track beside it.
std::vector<int> LayOutFirings(const Timeline& timeline);

// "outer", "cond: then", "f": what the place is called on its track.
std::string PlaceName(const PlaceEntry& place);
// "outer[3] inner[2]": all places around and at `place`, the innermost ones if they are many.
std::string PlacePath(const Timeline& timeline, int32_t place);

}  // namespace gyre::trace
