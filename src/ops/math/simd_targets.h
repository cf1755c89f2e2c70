// Which instruction sets the vector code of this folder is compiled for. Included before any header
// of Highway.
//
// On x86: AVX-512, AVX2 (every server and desktop since 2013), and portable code for the rest. Each
// further target costs a compilation of everything.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
