#include <unistd.h>

#include <iostream>
#include <streambuf>
#include <string>
#include <vector>

#include "orrery/base/limits/stop_signal.h"
#include "orrery/cli/console.h"
#include "orrery/cli/end_on_signals.h"
#include "orrery/program/command.h"

namespace {

// Standard output, of which half a document would be worthless.
class Answer : public std::streambuf {
 public:
  explicit Answer(std::streambuf& to) : to_(to) {}

 private:
  int_type overflow(int_type byte) override {
    orrery::verbs::answer_begins();
    return traits_type::eq_int_type(byte, traits_type::eof()) ? traits_type::not_eof(byte)
                                                              : to_.sputc(traits_type::to_char_type(byte));
  }
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    orrery::verbs::answer_begins();
    return to_.sputn(bytes, count);
  }
  int sync() override { return to_.pubsync(); }

  std::streambuf& to_;
};

}  // namespace

int main(int argc, char** argv) {
  using namespace orrery;
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  verbs::end_on_signals(arguments);
  Answer answer(*std::cout.rdbuf());
  std::ostream out(&answer);
  const int code = verbs::run(arguments, out, std::cerr, isatty(STDERR_FILENO) != 0);
  return base::stop_requested && code != verbs::kInternal ? verbs::kInterrupted : code;
}
