// Folders laid out as those of Timeloop-Experiments (github.com/EMJzero/Timeloop-Experiments), whose scripts take the
// name of a layer and gather its documents: `arch/`, `constraints/`, `mapper/` and `layers/` beside each other, or
// `arch.yaml` with `problems/`, or `top.yaml.jinja` with `inputs/`.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/inputs.h"

namespace orrery::verbs {

struct Checkout {
  bool found = false;                       // one of the files is such a folder
  std::size_t layers = 0;                   // that were taken from it
  std::vector<std::string> normalisations;  // documents of the chip that runs normalisations, and these; or none
  std::string level;                        // the word after the layers: where they are fused
};

// Puts into `request.files` what the folder's run.py reads, in place of the folder and of the words beside it that name
// its layers (`KTQ`, `vgg/vggL1`; `all` or none: those that run.py knows) or another of its chips (`eyeriss`): the chip
// and constraints of products, and those that end in `_NOs` for normalisations. Estimation tables of the folder and of
// its neighbours are added unless the request has some. `with_layers`: without a word, all layers are taken. Where
// neither a folder nor a chip is named, a word may name a layer of the working directory. Any other request stays as it
// is. Throws InputError O1106, O1107 for words that name nothing, or too much.
Checkout enter_checkout(DocumentRequest& request, bool with_layers);

// A folder below this one that enter_checkout() takes; or "".
std::string checkout_below(const std::string& folder);

}  // namespace orrery::verbs
