// Precompiled for all test programs (cmake/targets.cmake).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/pch.h"
