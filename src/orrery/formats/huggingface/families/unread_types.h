// Types that `transformers` generates text with and no reader here knows: what stands in the way.
#pragma once

#include <string_view>
#include <vector>

namespace orrery::formats::huggingface {

struct UnreadTypes {
  std::string_view why;  // a part or a layout that no kind of workload::Block says: "layers run more than once ..."
  std::vector<std::string_view> types;
};
const std::vector<UnreadTypes>& unread_types();

// Why models of that type are not read; empty where nothing is known of it.
std::string_view why_unread(std::string_view model_type);

}  // namespace orrery::formats::huggingface
