// The manual page and the shells' completions, written from what the verbs themselves declare.
#pragma once

#include <string>
#include <vector>

#include "orrery/cli/console.h"

namespace orrery::verbs {

// A verb's command line. CommandLine::read throws it when it is given kDescribe alone, which nobody can type: arguments
// of a process have no zero bytes.
inline const std::string kDescribe("\0describe", 9);
struct Described {
  struct Option {
    std::string heading;
    std::vector<std::string> names;  // with their dashes; a positional argument has its name alone
    std::string type;                // empty: takes no value
    std::string text;
    bool positional = false;
    std::vector<std::string> values;  // what a completion offers; empty: files
  };
  std::string example;
  std::vector<Option> options;
  std::vector<std::string> subverbs;
};

// `orrery write-for man|bash|zsh|fish`: what the installation asks, and no help mentions.
int write_for(const std::vector<std::string>& arguments, Console& console);

}  // namespace orrery::verbs
