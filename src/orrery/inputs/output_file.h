// A file to be written, by whoever may write.
#pragma once

#include <string>

namespace orrery::verbs {

struct OutputFile {
  std::string name;  // without folder
  std::string text;
};

}  // namespace orrery::verbs
