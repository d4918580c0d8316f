// The documents of catalog/families/, compiled into the program (cmake/embed_families.cmake).
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace orrery::formats::huggingface {

// Names of files and their texts, sorted by name.
std::span<const std::pair<std::string_view, std::string_view>> family_texts();

}  // namespace orrery::formats::huggingface
