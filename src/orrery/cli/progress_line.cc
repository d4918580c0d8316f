#include "orrery/cli/progress_line.h"

namespace orrery::verbs {
namespace {

constexpr const char* kWipe = "\r\x1b[K";

}  // namespace

ProgressLine::~ProgressLine() {
  if (shown_) console_.err << kWipe << std::flush;
}

void ProgressLine::show(const std::string& text) {
  shown_ = true;
  console_.err << kWipe << text << std::flush;
}

}  // namespace orrery::verbs
