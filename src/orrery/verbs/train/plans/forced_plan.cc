#include "orrery/verbs/train/plans/forced_plan.h"

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/names.h"

namespace orrery::verbs {
namespace {

using cluster::Variable;

std::vector<std::string> variable_names() {
  std::vector<std::string> names;
  for (const Variable variable : cluster::kVariables) names.emplace_back(cluster::name(variable));
  return names;
}

// One choice, `text` of the whole from `begin` on.
struct Choice {
  std::shared_ptr<const base::SourceFile> file;
  std::size_t begin = 0;
  std::string text;

  base::Location place(std::size_t from, std::size_t length) const {
    return {file, 1, static_cast<int>(begin + from) + 1, std::max(1, static_cast<int>(length))};
  }
};

void force_one(const Choice& choice, const cluster::Model& model, cluster::Space& space, std::set<Variable>& forced,
               base::Diagnostics& found) {
  const std::size_t equals = choice.text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == choice.text.size()) {
    found
        .error("O1942", fmt::format("`{}` does not say a choice and its value", choice.text),
               choice.place(0, choice.text.size()))
        .hint("write it as `tp=4`; several as `tp=4,recompute=full`");
    return;
  }
  std::string path = choice.text.substr(0, equals);
  const std::string value = choice.text.substr(equals + 1);
  std::replace(path.begin(), path.end(), '-', '_');
  const std::vector<std::string> names = variable_names();
  const auto known = std::find(names.begin(), names.end(), path);
  if (known == names.end()) {
    found.error("O1942", fmt::format("`{}` is not a choice of a plan", path), choice.place(0, equals))
        .note(fmt::format("the choices are {}", base::joined(names, ", ")))
        .hint(base::did_you_mean(path, names));
    return;
  }
  cluster::Plan plan;
  const base::Fields fields = cluster::fields(plan);
  const base::Field* field = base::find_field(fields, path);
  if (!field->set(value)) {
    found.error("O1942", fmt::format("`{}` cannot be `{}`", path, value), choice.place(equals + 1, value.size()))
        .note(fmt::format("it is {}", field->values));
    return;
  }
  const Variable variable = cluster::kVariables[static_cast<std::size_t>(known - names.begin())];
  if (!forced.insert(variable).second) {
    found.error("O1942", fmt::format("`{}` is forced twice", path), choice.place(0, choice.text.size()))
        .hint("force one value; ask again for the other");
    return;
  }
  space.of(variable) = {get(plan, variable)};
  if (variable == Variable::kSchedule && space.open(Variable::kInterleave)) space.of(Variable::kInterleave) = {1};
  if (variable == Variable::kSchedule &&
      value == cluster::name_of(cluster::PipelineChoice::kInterleaved, cluster::schedules())) {
    space.of(Variable::kInterleave).clear();
    for (base::Count chunks = 2; chunks <= std::max<base::Count>(2, model.layers); ++chunks)
      space.of(Variable::kInterleave).push_back(chunks);
  }
}

}  // namespace

void force(const std::string& text, const cluster::Model& model, cluster::Space& space) {
  const auto file = std::make_shared<base::SourceFile>(base::SourceFile{"<--why>", text});
  base::Diagnostics found;
  std::set<Variable> forced;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    force_one({file, begin, text.substr(begin, end - begin)}, model, space, forced, found);
    begin = end + 1;
  }
  found.throw_if_errors();
}

}  // namespace orrery::verbs
