#include "orrery/verbs/sweep/engines/engine.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/verbs/sweep/engines/map_engine.h"
#include "orrery/verbs/sweep/engines/place_engine.h"
#include "orrery/verbs/sweep/engines/request_engine.h"

namespace orrery::sweep {

const std::vector<std::string>& swept_verbs() {
  static const std::vector<std::string> names = {"map",   "map --fuse", "energy",          "train",
                                                 "place", "serve",      "sparse simulate", "tune select"};
  return names;
}

void add_inputs(const std::vector<base::Input>& more, std::vector<base::Input>& inputs) {
  for (const base::Input& input : more)
    if (!input.name.starts_with("-")) inputs.push_back(input);  // options and settings are the study's own
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
}

std::unique_ptr<Engine> make_engine(const std::string& verb, const std::vector<std::string>& arguments,
                                    const ReadRequest& read, const EngineOptions& options) {
  const std::vector<std::string>& known = swept_verbs();
  if (std::find(known.begin(), known.end(), verb) == known.end())
    base::fail("O2059", fmt::format("`{}` is no verb whose fields a study can vary", verb), {},
               base::did_you_mean(verb, known, fmt::format("verbs are {}", base::joined(known, ", "))));
  if (verb == "map") return std::make_unique<MapEngine>(arguments, read, options);
  if (verb == "place") return std::make_unique<PlaceEngine>(arguments, read, options);
  return std::make_unique<RequestEngine>(verb, arguments, read, options);
}

}  // namespace orrery::sweep
