// A file to be written, by whoever may write.
#pragma once

#include <string>

namespace orrery::verbs {

struct OutputFile {
  std::string name;  // within the folder that it is written in
  std::string text;
};

}  // namespace orrery::verbs
