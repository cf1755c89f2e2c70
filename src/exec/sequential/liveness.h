// Which registers of a RegisterLoop may still be read.
#pragma once

#include <vector>

#include "exec/sequential/loop.h"

namespace gyre::sequential {

using Live = std::vector<bool>;  // by register

// For each instruction, the registers that are read from there on before they are written.
// Requirement: the code is complete.
std::vector<Live> LiveBefore(const RegisterLoop& loop);

// Says of each input whether it is its register's last reader, and of each kDrop what it empties.
void MarkLastReaders(RegisterLoop& loop);

// Says of each kCall what it saves. Requirement: MarkLastReaders.
void SaveAtCalls(RegisterLoop& loop);

}  // namespace gyre::sequential
