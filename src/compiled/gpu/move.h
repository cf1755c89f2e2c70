// Elements from place to place, whatever they are.
#pragma once

#include "compiled/gpu/device.h"
#include "ops/gpu_tables.h"

namespace gyre::gpu {

template <typename T>
void Move(const GpuMove& table) {
  for (uint64_t i = Thread(); i < table.n; i += Threads()) {
    uint64_t rest = i;
    int64_t from = 0, to = 0;
    for (uint64_t d = 0; d < table.rank; ++d) {
      const auto index = static_cast<int64_t>(rest % table.sizes[d]);
      rest /= table.sizes[d];
      from += index * table.from[d];
      to += index * table.to[d];
    }
    Store(table.output, static_cast<uint64_t>(to),
          Load<T>(table.input, static_cast<uint64_t>(from)));
  }
}

}  // namespace gyre::gpu

#define GYRE_MOVE(bytes, T) \
  GYRE_KERNEL gyre_move_##bytes(gyre::GpuMove table) { gyre::gpu::Move<T>(table); }

GYRE_MOVE(1, uint8_t)
GYRE_MOVE(2, uint16_t)
GYRE_MOVE(4, uint32_t)
GYRE_MOVE(8, uint64_t)
GYRE_MOVE(16, unsigned __int128)
