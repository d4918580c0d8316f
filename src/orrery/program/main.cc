#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "orrery/program/command.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  orrery::verbs::end_on_signals(arguments);
  return orrery::verbs::run(arguments, std::cout, std::cerr, isatty(STDERR_FILENO) != 0);
}
