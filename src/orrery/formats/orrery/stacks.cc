// A stack's file is a plan's fields and the software's features with origins: they are set on an empty plan, by the
// same texts as `--set`, and what the plan then says of its software is the stack. Cost: linear in the file.
#include "orrery/formats/orrery/stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/model/supported_features.h"
#include "orrery/formats/orrery/catalogue_names.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::orrery {
namespace {

using yaml::Node;

class Reader {
 public:
  // `like`: the stack that the file begins with; null: none.
  Reader(StackFile& into, const cluster::Stack* like, base::Diagnostics& found)
      : into_(into), found_(found), like_(like != nullptr) {
    if (!like_) return;
    plan_.stack = *like;
    plan_.overlap = like->overlap;
  }

  void read(const Node& root) {
    for (const Node::Entry& entry : root.entries) {
      if (entry.key == "title") into_.entry.title = entry.value.scalar;
      if (entry.key == "description") into_.entry.description = entry.value.scalar;
      if (entry.key == "sources") read_sources(entry.value);
      if (entry.key == "fields") fields_ = &entry.value;
      if (entry.key == "runs") runs_ = &entry.value;
      const std::vector<std::string> known = {"title", "description", "sources", "like", "fields", "runs"};
      if (std::find(known.begin(), known.end(), entry.key) == known.end())
        wrong(entry.key_where, fmt::format("a stack has no `{}`", entry.key), base::did_you_mean(entry.key, known));
    }
    if (fields_ == nullptr || !fields_->is_map() || into_.entry.title.empty())
      return wrong(root.where, "a stack's file has a `title` and a map `fields`", "");
    for (const Node::Entry& entry : fields_->entries)
      read_field(entry, entry.key.starts_with("overlap.") ? entry.key : "stack." + entry.key, cluster::fields(plan_));
    read_features(root);
    into_.stack = plan_.stack;
    into_.stack.overlap = plan_.overlap;
  }

 private:
  void wrong(const base::Location& where, std::string what, const std::string& way) {
    found_.error("O1911", std::move(what), where).hint(way);
  }

  void read_sources(const Node& map) {
    for (const Node::Entry& entry : map.entries) {
      sources_.push_back(entry.key);
      into_.entry.sources.push_back(fmt::format("{}: {}", entry.key, entry.value.scalar));
    }
  }

  // What a file does not say, nobody knows: it says all, or whom it is like.
  void read_features(const Node& root) {
    if (runs_ == nullptr && like_) return;
    if (runs_ == nullptr || !runs_->is_map()) return wrong(root.where, "a stack's file has a map `runs`", "");
    const base::Fields known = cluster::feature_fields(plan_.stack);
    for (const Node::Entry& entry : runs_->entries) read_field(entry, "stack.runs." + entry.key, known);
    for (const cluster::Feature& feature : cluster::features())
      if (!like_ && runs_->find(feature.name) == nullptr)
        wrong(runs_->where, fmt::format("`runs` does not say `{}`: {}", feature.name, feature.text),
              fmt::format("`{}: {{value: true, source: NAME}}`, or false", feature.name));
  }

  void read_field(const Node::Entry& entry, const std::string& path, const base::Fields& known) {
    const base::Field* field = base::find_field(known, path);
    const Node* value = entry.value.find("value");
    if (field == nullptr || value == nullptr)
      return wrong(entry.key_where,
                   field == nullptr ? fmt::format("a stack has no field `{}`", entry.key)
                                    : fmt::format("`{}` has no `value`", entry.key),
                   "docs/model/cluster.md lists a plan's fields; each is a map {value, and its origin}");
    if (!field->set(value->scalar))
      wrong(value->where, fmt::format("`{}` cannot be `{}`", entry.key, value->scalar), "it is " + field->values);
    into_.entry.figures.push_back({"stack", entry.key, fmt::format("{}; {}", value->scalar, origin(entry))});
  }

  std::string origin(const Node::Entry& entry) {
    int given = 0;
    std::string shown;
    for (const char* key : {"source", "fitted_on", "assumption"})
      if (const Node* why = entry.value.find(key)) {
        ++given;
        shown = fmt::format("{}: {}", key, why->scalar);
        if (key == std::string("source") && std::find(sources_.begin(), sources_.end(), why->scalar) == sources_.end())
          wrong(why->where, fmt::format("`{}` is not among `sources`", why->scalar), "");
      }
    if (given != 1)
      wrong(entry.key_where, fmt::format("`{}` needs one origin, and has {}", entry.key, given),
            "give one of `source`, `fitted_on`, `assumption`");
    return shown;
  }

  StackFile& into_;
  base::Diagnostics& found_;
  const bool like_;
  const Node *fields_ = nullptr, *runs_ = nullptr;
  std::vector<std::string> sources_;
  cluster::Plan plan_;
};

// Parts of one answer ask for the same file; by its text one knows whether what was read of it still holds.
struct Kept {
  std::mutex lock;
  std::string text;
  std::optional<StackFile> whole;
};

Kept& kept_of(const std::string& path) {
  static std::mutex lock;
  static std::map<std::string, Kept> all;
  std::lock_guard guard(lock);
  return all[path];
}

}  // namespace

StackFile load_stack(const std::string& directory, const std::string& name) {
  StackFile out;
  const auto& names = cluster::stacks();
  const auto known = std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.first == name; });
  if (known == names.end()) {
    std::vector<std::string> texts;
    for (const auto& one : names) texts.push_back(one.first);
    base::fail("O1910", fmt::format("there is no software stack `{}`", name), {},
               base::did_you_mean(name, texts, fmt::format("stacks are: {}", base::joined(texts, ", "))));
  }
  out.entry.name = name;
  out.entry.path = entry_path(directory, kStack, name);
  const auto file = yaml::read_file(out.entry.path);
  Kept& kept = kept_of(out.entry.path);
  if (std::lock_guard guard(kept.lock); kept.whole && kept.text == file->text) return *kept.whole;
  base::Diagnostics found;
  const std::vector<Node> documents = yaml::parse(file, base::Severity::kError, found);
  found.throw_if_errors();
  const Node* root = documents.size() == 1 ? documents[0].find("stack") : nullptr;
  if (root == nullptr) base::fail("O1911", fmt::format("`{}` has no document with the key `stack`", out.entry.path));
  if (const Node* like = root->find("like")) {
    const auto base =
        std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.first == like->scalar; });
    if (base == names.end() || base->second > cluster::StackName::kXla)
      base::fail("O1911", fmt::format("a stack cannot be like `{}`", like->scalar), like->where,
                 "it is like megatron-2021, megatron-core, pytorch-fsdp or xla");
    const StackFile whole = load_stack(directory, base->first);
    Reader(out, &whole.stack, found).read(*root);
    for (const FigureSource& figure : whole.entry.figures) {
      const auto own = std::find_if(out.entry.figures.begin(), out.entry.figures.end(),
                                    [&](const FigureSource& other) { return other.figure == figure.figure; });
      if (own == out.entry.figures.end())
        out.entry.figures.push_back({"stack", figure.figure, fmt::format("{} (as {})", figure.source, base->first)});
    }
  } else {
    Reader(out, nullptr, found).read(*root);
  }
  found.throw_if_errors();
  out.stack.name = known->second;
  if (root->find("like") == nullptr) {
    std::lock_guard guard(kept.lock);
    kept.text = file->text;
    kept.whole = out;
  }
  return out;
}

std::vector<Entry> list_stacks(const std::string& directory) {
  std::vector<Entry> entries;
  for (const std::string& name : catalogue_names(directory, kStack))
    entries.push_back(load_stack(directory, name).entry);
  return entries;
}

}  // namespace orrery::formats::orrery
