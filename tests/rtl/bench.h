// What every bench includes.
#pragma once

#include <gtest/gtest.h>

#include "tests/rtl/dut.h"
#include "tests/rtl/expect.h"
