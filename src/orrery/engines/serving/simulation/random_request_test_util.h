// Requests of tests: short, and with prompts that share beginnings.
#pragma once

#include "orrery/base/numbers/split_mix.h"
#include "orrery/engines/serving/simulation/request.h"

namespace orrery::serving {

inline Request random_request(base::SplitMix& random, std::uint64_t longest_output) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random.next() % n); };
  Request request;
  request.prompt = 1 + below(40);
  request.output = 1 + below(longest_output);
  request.content_tokens = 8;
  // Ids stand for what was before them, too: a walk down a tree.
  std::uint64_t node = 1;
  for (std::int32_t t = 0; below(3) > 0 && t < request.prompt; t += 8) {
    node = node * 3 + static_cast<std::uint64_t>(below(2));
    request.contents.push_back(node);
  }
  return request;
}

}  // namespace orrery::serving
