// What every device must do, for all types alike: the interface (device.h), and programs
// (programs.h). A type joins with a file that says
//
//   GYRE_TEST_DEVICE(Null, "NULL");
#pragma once

#include "devices/conformance/device.h"
#include "devices/conformance/programs.h"

#define GYRE_TEST_DEVICE(suite, type)                                          \
  INSTANTIATE_TEST_SUITE_P(suite, DeviceConformance, ::testing::Values(type)); \
  INSTANTIATE_TEST_SUITE_P(suite, DevicePrograms, ::testing::Values(type))
