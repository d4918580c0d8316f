// files -> documents -> merged top-level keys -> overrides. What the keys mean is chip_reading.cc's.
//
// Files are taken in order of their names, so that the order in which they were given changes nothing,
// messages included.
#include "orrery/formats/timeloop/documents/documents.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/formats/libconfig/libconfig_document.h"
#include "orrery/formats/timeloop/documents/chip_reading.h"
#include "orrery/formats/timeloop/documents/merge_documents.h"
#include "orrery/formats/timeloop/documents/overrides.h"
#include "orrery/formats/timeloop/documents/plain_document.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using Files = std::vector<std::shared_ptr<const base::SourceFile>>;

// The form of version 0.3 is read by a parser that takes duplicate keys; the front end of 0.4 refuses them.
bool is_processed(const yaml::Node& document) {
  const yaml::Node* architecture = document.find("architecture");
  return document.find("dumped_by_timeloop_front_end") != nullptr || document.find("architecture_constraints") ||
         (architecture != nullptr && architecture->find("subtree") != nullptr);
}

// Tables are, whatever stands beside them.
bool is_table(const yaml::Node& document) {
  return document.find("ERT") != nullptr || document.find("ART") != nullptr;
}

// What that parser, yaml-cpp, finds of a key that is given twice.
void keep_first(yaml::Node& node) {
  for (yaml::Node& item : node.items) keep_first(item);
  std::set<std::string> seen;
  std::erase_if(node.entries,
                [&](const yaml::Node::Entry& entry) { return !seen.insert(plain_key(entry.key)).second; });
  for (yaml::Node::Entry& entry : node.entries) keep_first(entry.value);
}

void append(const base::Diagnostics& from, bool duplicates_are_errors, base::Diagnostics& to) {
  for (base::Diagnostic diagnostic : from.all()) {
    if (diagnostic.code == "O0102" && diagnostic.severity != base::Severity::kError) {
      diagnostic.notes.front() = "the first one counts, as for Timeloop";
      if (duplicates_are_errors) {
        diagnostic.severity = base::Severity::kError;
        diagnostic.notes.clear();
        diagnostic.hint("remove one of them");
      }
    }
    to.add(std::move(diagnostic));
  }
}

std::vector<yaml::Node> parse_file(const std::shared_ptr<const base::SourceFile>& file, const Parsed& parsed,
                                   const TemplateOptions& templates, Files& included, base::Diagnostics& found) {
  const auto known = parsed.find(file.get());
  auto documents = is_template(*file)      ? expand_template(file, templates, included, found)
                   : known != parsed.end() ? *known->second
                                           : parse_plain(file, base::Severity::kWarning, found);
  if (documents.empty() && !found.has_errors()) found.warning("O0114", "the file is empty", {file, 0, 0, 1});
  return documents;
}

}  // namespace

std::vector<yaml::Node> parse_plain(const std::shared_ptr<const base::SourceFile>& file, base::Severity duplicate_keys,
                                    base::Diagnostics& found) {
  if (!libconfig::is_libconfig(*file)) return yaml::parse(file, duplicate_keys, found);
  std::vector<yaml::Node> documents;
  if (auto document = libconfig::parse(file, found)) documents.push_back(std::move(*document));
  return documents;
}

Documents Documents::gather(const Files& files, const ReadOptions& options, const Parsed& parsed) {
  Files sorted = files;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(a->name, a->text) < std::tie(b->name, b->text);
  });
  Documents gathered;
  gathered.options_ = options;
  base::Diagnostics& found = gathered.diagnostics_;
  const TemplateOptions templates = beside(options.templates, sorted);
  Files read = sorted;
  std::vector<std::pair<std::vector<yaml::Node>, base::Diagnostics>> texts(sorted.size());
  bool first_counts = false;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    texts[i].first = parse_file(sorted[i], parsed, templates, read, texts[i].second);
    first_counts = first_counts || std::any_of(texts[i].first.begin(), texts[i].first.end(), is_processed);
  }
  for (auto& [documents, own] : texts) {
    append(own, !first_counts && std::none_of(documents.begin(), documents.end(), is_table), found);
    for (yaml::Node& document : documents) {
      keep_first(document);
      merge_document(std::move(document), gathered.top_, found);
    }
  }
  found.throw_if_errors();
  for (const base::Override& set : options.overrides) apply_override(gathered.top_, set, options.overrides, found);
  found.throw_if_errors();
  for (const auto& file : read) gathered.inputs_.push_back(base::file_input(*file));
  for (const auto& [path, value] : options.overrides) gathered.inputs_.push_back(base::setting_input(path, value));
  return gathered;
}

const yaml::Node* Documents::find(std::string_view top_level_key) const {
  for (const auto& entry : top_) {
    if (plain_key(entry.key) == top_level_key) return &entry.value;
  }
  return nullptr;
}

Specification Documents::read() const {
  return ChipReading(*this).specification(nullptr);
}

Specification Documents::read_for(const workload::Einsum& einsum) const {
  return ChipReading(*this).specification(&einsum);
}

}  // namespace orrery::formats::timeloop
