// What arrives: requests of a trace.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::serving {

struct Request {
  std::int64_t arrival_ns = 0;
  std::int32_t prompt = 1, output = 1;  // tokens
  // Contents of the prompt, one for every `content_tokens`: equal numbers are equal tokens, and equal ones before them.
  // Below 2^40; empty: like no other's.
  std::vector<std::uint64_t> contents = {};
  std::int32_t content_tokens = 512;

  std::int32_t length() const { return prompt + output; }
};

}  // namespace orrery::serving
