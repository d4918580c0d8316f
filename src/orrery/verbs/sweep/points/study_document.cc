#include "orrery/verbs/sweep/points/study_document.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/verbs/sweep/points/values.h"

namespace orrery::sweep {
namespace {

using YamlNode = formats::yaml::Node;

constexpr const char* kStudyDocumentKeys[] = {"version",   "title", "verb",  "files",   "base",
                                              "arguments", "vary",  "where", "budgets", "objectives"};

// Only who types a command line may give these: documents come from anywhere, and `check` is what one runs on them.
constexpr const char* kStartPrograms[] = {"--cacti", "--pytorch"};
constexpr const char* kWriteFiles[] = {"--force", "--output",      "-o",    "--dot",  "--hdf5",
                                       "--html",  "--latency-svg", "--svg", "--trace"};

class Reader {
 public:
  explicit Reader(base::Diagnostics& found) : found_(found) {}

  Study read(const YamlNode& node) {
    Study study;
    if (!node.is_map()) {
      wrong(node, "`study` must be a map", "see `orrery schema study`");
      return study;
    }
    const std::vector<std::string> known(std::begin(kStudyDocumentKeys), std::end(kStudyDocumentKeys));
    for (const YamlNode::Entry& entry : node.entries)
      if (std::find(known.begin(), known.end(), entry.key) == known.end())
        found_.error("O2045", fmt::format("a study has no `{}`", entry.key), entry.key_where)
            .hint(base::did_you_mean(entry.key, known, fmt::format("its keys are {}", base::joined(known, ", "))));
    if (const YamlNode* version = node.find("version"); version != nullptr && version->scalar != "1")
      wrong(*version, fmt::format("this Orrery reads studies of version 1, not `{}`", version->scalar), "");
    if (const YamlNode* title = node.find("title")) study.title = scalar(*title);
    if (const YamlNode* verb = node.find("verb")) study.verb = scalar(*verb);
    for (const char* key : {"files", "arguments"})
      if (const YamlNode* list = node.find(key))
        for (const YamlNode* item : items(*list)) add_argument(scalar(*item), item->where, study);
    if (const YamlNode* base = node.find("base")) read_base(*base, study);
    if (const YamlNode* vary = node.find("vary")) read_groups(*vary, study);
    std::vector<std::string> paths;
    for (const Axis* axis : study.axes()) paths.push_back(axis->path);
    if (const YamlNode* where = node.find("where"))
      for (const YamlNode* item : items(*where))
        collect([&] { study.where.emplace_back(scalar(*item), item->where, paths); });
    if (const YamlNode* budgets = node.find("budgets")) {
      if (!budgets->is_map()) wrong(*budgets, "`budgets` must be a map", "write `budgets: {area: 4e6}`");
      for (const YamlNode::Entry& entry : budgets->entries)
        collect([&] {
          study.budgets.push_back(read_budget(entry.key, scalar(entry.value), entry.key_where, entry.value.where));
        });
    }
    if (const YamlNode* objectives = node.find("objectives"))
      for (const YamlNode* item : items(*objectives))
        collect([&] { study.objectives.push_back(objective_of(scalar(*item), item->where)); });
    return study;
  }

 private:
  void wrong(const YamlNode& node, const std::string& message, const std::string& hint) {
    found_.error("O2045", message, node.where).hint(hint);
  }

  template <typename Do>
  void collect(const Do& what) {
    try {
      what();
    } catch (const base::InputError& error) {
      found_.append(error.diagnostics);
    }
  }

  std::string scalar(const YamlNode& node) {
    if (!node.is_scalar()) wrong(node, "a single value is expected here", "write a number or a text");
    return node.scalar;
  }

  // Of a list, or the one value.
  static std::vector<const YamlNode*> items(const YamlNode& node) {
    std::vector<const YamlNode*> out;
    if (!node.is_sequence()) return {&node};
    for (const YamlNode& item : node.items) out.push_back(&item);
    return out;
  }

  void add_argument(std::string argument, const base::Location& where, Study& study) {
    refuse_unsafe(argument, where);
    study.arguments.push_back(std::move(argument));
  }

  void refuse_unsafe(const std::string& argument, const base::Location& where) {
    std::string name = argument.substr(0, argument.find('='));
    if (name.starts_with("-") && !name.starts_with("--") && name.find('o') != std::string::npos)
      name = "-o";  // -qoFILE
    const auto is = [&](const char* option) { return name == option; };
    const bool starts = std::any_of(std::begin(kStartPrograms), std::end(kStartPrograms), is);
    if (starts || std::any_of(std::begin(kWriteFiles), std::end(kWriteFiles), is))
      found_
          .error("O2059",
                 fmt::format("`{}` {}, which no document may", name, starts ? "starts a program" : "writes files"),
                 where)
          .hint(fmt::format("leave it out, and give it yourself where you trust it: `orrery sweep FILE {} ...`", name));
  }

  void read_base(const YamlNode& base, Study& study) {
    if (!base.is_map()) return wrong(base, "`base` must be a map of options", "write `base: {model: bert-large}`");
    for (const YamlNode::Entry& entry : base.entries)
      for (const YamlNode* item : items(entry.value)) {
        if (item->is_map())  // set: {arch.Scratchpad.depth: 1024}
          for (const YamlNode::Entry& set : item->entries)
            add_argument(fmt::format("--{}={}={}", entry.key, set.key, scalar(set.value)), entry.key_where, study);
        else if (const std::string value = scalar(*item); value == "true")
          add_argument("--" + entry.key, entry.key_where, study);
        else if (value != "false")
          add_argument(fmt::format("--{}={}", entry.key, value), entry.key_where, study);
      }
  }

  void read_groups(const YamlNode& vary, Study& study) {
    if (vary.is_map()) {
      for (const YamlNode::Entry& entry : vary.entries) study.groups.push_back({{axis(entry)}});
      return;
    }
    for (const YamlNode* item : items(vary)) {
      if (!item->is_map()) {
        wrong(*item, "what varies is a map of paths", "write `vary: {arch.Scratchpad.depth: 16Ki..64Ki:x2}`");
        continue;
      }
      Group group;
      for (const YamlNode::Entry& entry : item->entries) group.axes.push_back(axis(entry));
      if (!group.axes.empty()) study.groups.push_back(std::move(group));
    }
  }

  Axis axis(const YamlNode::Entry& entry) {
    Axis out{entry.key, {}, entry.key_where};
    refuse_unsafe("--" + entry.key, entry.key_where);
    collect([&] {
      if (entry.value.is_scalar() && entry.value.scalar.empty() && !entry.value.quoted) return;
      if (!entry.value.is_sequence()) {
        out.values = values_of(scalar(entry.value), entry.value.where);
        return;
      }
      for (const YamlNode& item : entry.value.items)
        if (item.quoted)
          out.values.push_back(item.scalar);
        else
          append_values(scalar(item), item.where, out.values);
    });
    if (out.values.empty() && !found_.has_errors())
      found_.error("O2047", fmt::format("`{}` has no values", entry.key), entry.key_where)
          .hint("give it one at least, or leave it out");
    return out;
  }

  base::Diagnostics& found_;
};

std::string quoted_of_study_document(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

std::string list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + quoted_of_study_document(text);
  return "[" + out + "]";
}

}  // namespace

bool is_study(const base::SourceFile& file) {
  return file.text.starts_with("study:") || file.text.find("\nstudy:") != std::string::npos;
}

Study read_study(const std::shared_ptr<const base::SourceFile>& file) {
  base::Diagnostics found;
  const std::vector<YamlNode> documents = formats::yaml::parse(file, base::Severity::kError, found);
  found.throw_if_errors();
  Study study;
  bool seen = false;
  for (const YamlNode& document : documents)
    for (const YamlNode::Entry& entry : document.entries) {
      if (entry.key != "study") {
        found.error("O2045", fmt::format("`{}` beside a study", entry.key), entry.key_where)
            .hint("a study stands alone in its file and names the others in `files`");
        continue;
      }
      study = Reader(found).read(entry.value);
      seen = true;
    }
  if (!seen && !found.has_errors()) found.error("O2045", "there is no `study` in this file", {file, 0, 0, 1});
  found.throw_if_errors();
  return study;
}

std::string study_text(const Study& study) {
  std::string out = "study:\n  version: 1\n";
  if (!study.title.empty()) out += fmt::format("  title: {}\n", quoted_of_study_document(study.title));
  out += fmt::format("  verb: {}\n  arguments: {}\n  vary:\n", study.verb, list(study.arguments));
  for (const Group& group : study.groups) {
    const char* lead = "  - ";
    for (const Axis& axis : group.axes) {
      out += fmt::format("{}{}: {}\n", lead, quoted_of_study_document(axis.path), list(axis.values));
      lead = "    ";
    }
  }
  std::vector<std::string> where, objectives;
  for (const Filter& filter : study.where) where.push_back(filter.text());
  if (!where.empty()) out += fmt::format("  where: {}\n", list(where));
  if (!study.budgets.empty()) {
    out += "  budgets:\n";
    for (const Budget& budget : study.budgets)
      out += fmt::format("    {}: {}\n", store::column(budget.figure), budget.most);
  }
  for (const Objective& objective : study.objectives) objectives.push_back(objective.name);
  if (!objectives.empty()) out += fmt::format("  objectives: {}\n", list(objectives));
  return out;
}

Group read_vary(const std::string& text) {
  const auto file = std::make_shared<const base::SourceFile>(base::SourceFile{"<--vary>", text});
  Group group;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    const std::size_t equals = text.find('=', at);
    if (equals >= end || equals == at)
      base::fail("O2046", fmt::format("`{}` names no field and its values", text.substr(at, end - at)),
                 {file, 1, static_cast<int>(at) + 1, std::max(1, static_cast<int>(end - at))},
                 "write `--vary PATH=VALUES`, such as `--vary arch.Scratchpad.depth=16Ki..64Ki:x2`");
    Axis axis{text.substr(at, equals - at), {}, {file, 1, static_cast<int>(at) + 1, static_cast<int>(equals - at)}};
    if (equals + 1 == end)
      base::fail("O2046", fmt::format("`{}` has no values", axis.path), axis.where,
                 "write a list `8,16,32`, a range `1..8` or `0.1..0.5:0.1`, or powers `64Ki..1Mi:x2`");
    axis.values = values_of(text.substr(equals + 1, end - equals - 1),
                            {file, 1, static_cast<int>(equals) + 2, static_cast<int>(end - equals) - 1});
    group.axes.push_back(std::move(axis));
    at = end + 1;
  }
  return group;
}

Budget read_budget(const std::string& name, const std::string& value, const base::Location& name_where,
                   const base::Location& value_where) {
  const store::Figure figure = figure_of(name, name_where);
  double most = 0;
  if (!is_number(value, most) || !(most > 0))
    base::fail("O2045", fmt::format("`{}` is no budget", value), value_where,
               "write a number above 0, such as `area=4e6` (um^2)");
  return {figure, most, name_where};
}

}  // namespace orrery::sweep
