#include "orrery/verbs/train/plans/plan_files.h"

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/verbs/train/plans/plan_row_format.h"

namespace orrery::verbs {
namespace {

using formats::yaml::Node;

std::string value_text(const base::FieldValue& value) {
  struct Text {
    std::string operator()(base::Count number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(bool truth) const { return truth ? "true" : "false"; }
    std::string operator()(const std::string& name) const { return name; }
  };
  return std::visit(Text(), value);
}

void set_field(const std::string& path, const Node::Entry& entry, const base::Fields& fields, cluster::Plan& plan,
               std::set<std::string>& set, base::Diagnostics& found) {
  if (entry.value.is_map()) {
    for (const Node::Entry& inner : entry.value.entries)
      set_field(path + "." + inner.key, inner, fields, plan, set, found);
    return;
  }
  if (path == "microbatches") return;
  if (path == "stack.name") {
    for (const auto& [name, stack] : cluster::stacks())
      if (entry.value.is_scalar() && entry.value.scalar == name) {
        plan.stack.name = stack;
        set.insert(path);
        return;
      }
    found.error("O1945", fmt::format("`{}` is no software that Orrery knows", entry.value.scalar), entry.value.where);
    return;
  }
  const base::Field* field = base::find_field(fields, path);
  if (field == nullptr) {
    std::vector<std::string> known;
    for (const base::Field& each : fields) known.push_back(each.path);
    found.error("O1945", fmt::format("a plan has no field `{}`", path), entry.key_where)
        .hint(base::did_you_mean(path, known));
    return;
  }
  if (!entry.value.is_scalar() || !field->set(entry.value.scalar)) {
    found.error("O1945", fmt::format("`{}` cannot be `{}`", path, entry.value.scalar), entry.value.where)
        .label("it is " + field->values);
    return;
  }
  set.insert(path);
}

// The map of fields: `plan` of a file of its own, `result.plan` of an answer.
const Node* plan_of(const std::vector<Node>& documents) {
  for (const Node& document : documents) {
    if (const Node* plan = document.find("plan")) return plan;
    if (const Node* result = document.find("result"))
      if (const Node* plan = result->find("plan")) return plan;
  }
  return nullptr;
}

}  // namespace

std::string plan_text(const cluster::Plan& plan) {
  cluster::Plan copy = plan;  // fields are bound to what can be changed
  std::string out = "# A plan for `orrery train --plan FILE`; the fields are those of docs/model/cluster.md.\nplan:\n";
  std::string group;
  for (const base::Field& field : cluster::fields(copy)) {
    const std::size_t dot = field.path.find('.');
    const std::string own = dot == std::string::npos ? "" : field.path.substr(0, dot);
    if (!own.empty() && own != group) out += fmt::format("  {}:\n", own);
    if (own == "stack" && own != group)
      out += fmt::format("    name: {}\n", cluster::name_of(plan.stack.name, cluster::stacks()));
    group = own;
    out += fmt::format("{}{}: {}\n", own.empty() ? "  " : "    ", own.empty() ? field.path : field.path.substr(dot + 1),
                       value_text(field.get()));
  }
  return out;
}

std::string plans_csv(const PlanAnswer& answer) {
  std::string out = csv_header();
  int row = 0;
  for (const cluster::Candidate& each : answer.top) append_csv_row(++row, each.plan, each.iteration, out);
  return out;
}

std::set<std::string> read_plan(const std::string& path, cluster::Plan& plan, base::Input& read) {
  const auto file = formats::yaml::read_file(path);
  base::Diagnostics found;
  const std::vector<Node> documents = formats::yaml::parse(file, base::Severity::kError, found);
  found.throw_if_errors();
  const Node* map = plan_of(documents);
  if (map == nullptr || !map->is_map())
    base::fail("O1945", fmt::format("`{}` holds no plan", path), {file, 0, 0, 1},
               "a plan is a map `plan:` of fields; `orrery train ... -o DIR` writes one as DIR/plan.yaml");
  std::set<std::string> set;
  const base::Fields fields = cluster::fields(plan);
  for (const Node::Entry& entry : map->entries) set_field(entry.key, entry, fields, plan, set, found);
  found.throw_if_errors();
  read = base::file_input(*file);
  return set;
}

}  // namespace orrery::verbs
