// Which function reads which `model_type`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/formats/huggingface/families/config_reading.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::huggingface {

struct Family {
  std::string model_type;
  void (*read)(Reading&);  // null: as `document` says
  bool dropout = false;    // its class draws masks where the file does not say
  // Sizes that the class has where a file leaves them out: hidden, layers, heads, inner width, vocabulary, positions,
  // by the keys' names. A file that is not nested in another must say all but the positions.
  std::vector<std::pair<std::string_view, long>> sizes = {};
  std::string text_type = {};                       // of its language model, where `text_config` does not say
  std::shared_ptr<const yaml::Node> document = {};  // described_family.h
};

// Those that are functions, in the order of messages.
const std::vector<Family>& families();

// A function or a built-in document; null where there is neither.
const Family* find_family(std::string_view model_type);

}  // namespace orrery::formats::huggingface
