// What `map --fuse` is asked.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "orrery/engines/fused/search/optimize.h"
#include "orrery/formats/timeloop/documents/jinja.h"
#include "orrery/inputs/blocks/online_softmax.h"
#include "orrery/verbs/map/request.h"

namespace orrery::verbs {

struct BlockRequest {
  std::vector<std::string> files;                // of AccelForge
  formats::timeloop::TemplateOptions templates;  // --define, --include
  MapRequest native;                             // a model and its chips, in place of files
  fused::SearchOptions search;
  Softmax softmax = Softmax::kAuto;    // of a model
  bool overlap = false;                // of a model: operators of a group may run side by side
  std::vector<std::string> handed_on;  // TENSOR=STORAGE, demanded
  std::string weights_stay;            // of a model: the storage in which weights stay from run to run; empty: none
  std::string why;                     // TENSOR=STORAGE, to compare; empty: none
  std::string tree;                    // a file with the tree, in place of a search
  std::function<const std::atomic<bool>*()> interruptible;
};

}  // namespace orrery::verbs
