// What the verbs' command lines say of themselves: the keyword arguments of the package's functions.
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.h"
#include "orrery/cli/command_line.h"
#include "orrery/program/command.h"
#include "orrery/program/verbs.h"

namespace orrery::python {
namespace {

namespace nb = nanobind;

std::vector<std::pair<std::string, std::string>> verbs_and_summaries() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const verbs::Verb& verb : verbs::verbs()) out.emplace_back(verb.name, verb.summary);
  return out;
}

nb::dict described(const verbs::Described& line) {
  nb::list options;
  for (const verbs::Described::Option& option : line.options) {
    nb::dict one;
    one["heading"] = option.heading;
    one["names"] = option.names;
    one["type"] = option.type;
    one["text"] = option.text;
    one["positional"] = option.positional;
    options.append(one);
  }
  nb::dict out;
  out["options"] = options;
  out["subverbs"] = line.subverbs;
  out["example"] = line.example;
  return out;
}

nb::dict describe(std::vector<std::string> words) {
  words.push_back(verbs::kDescribe);
  std::ostringstream out, err;
  try {
    verbs::run(words, out, err, false);
  } catch (const verbs::Described& line) {
    return described(line);
  }
  throw nb::value_error(("there is no verb `" + words.front() + "`").c_str());
}

}  // namespace

void define_describe(nb::module_& m) {
  m.def(
      "verbs",
      [] {
        nb::list out;
        for (const auto& [name, summary] : verbs_and_summaries()) out.append(nb::make_tuple(name, summary));
        return out;
      },
      "(name, summary) of each verb.");
  m.def("describe", &describe, nb::arg("words"), "The options of a verb, as its --help lists them.");
}

}  // namespace orrery::python
