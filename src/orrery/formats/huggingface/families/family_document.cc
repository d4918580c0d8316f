// A family's document as such: its fields, its types and those of all that are built in. What it says beside the fields
// below is O0939. Cost: linear in the document; one is parsed once.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/huggingface/families/described_family.h"
#include "orrery/formats/huggingface/families/family_texts.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::huggingface {
namespace {

using Rule = yaml::Node;

const std::map<std::string, std::vector<std::string>>& fields() {
  static const std::map<std::string, std::vector<std::string>> all = {
      {"",
       {"title", "source", "types", "hidden", "layers", "vocab", "positions", "norm", "norms", "norms_around",
        "norms_shared", "attention", "window", "network", "mixture", "logits", "predicted_ahead", "layer_parameters",
        "known"}},
      {"attention",
       {"heads", "kv_heads", "width", "value_width", "bias", "output_bias", "qk_norm", "qk_norm_if", "qk_norm_bias",
        "softcap", "gate", "sinks", "latent"}},
      {"window", {"size", "if", "every", "full", "from", "layer_types"}},
      {"network", {"inner", "gated", "bias"}},
      {"mixture",
       {"experts", "per_token", "inner", "shared", "shared_inner", "shared_gate", "router_bias", "bias", "shared_bias",
        "groups", "layers", "dense_layers", "marked", "listed", "norm_behind"}},
      {"logits", {"tied", "bias"}}};
  return all;
}

void check_fields(const Rule& map, const std::string& section, base::Diagnostics& found) {
  const std::vector<std::string>& known = fields().at(section);
  if (!map.is_map())
    return wrong_family(found, map.where,
                        section.empty() ? "a family's document is a map" : fmt::format("`{}` is a map", section));
  for (const Rule::Entry& entry : map.entries)
    if (std::find(known.begin(), known.end(), entry.key) == known.end())
      wrong_family(found, entry.key_where,
                   section.empty() ? fmt::format("a family has no `{}`", entry.key)
                                   : fmt::format("a family's `{}` has no `{}`", section, entry.key),
                   base::did_you_mean(entry.key, known, fmt::format("it may have {}", fmt::join(known, ", "))));
    else if (section.empty() && fields().contains(entry.key))
      check_fields(entry.value, entry.key, found);
}

// What stands behind `  ` and before `:` in the lines after `types:`, so that no document is parsed to be found.
std::vector<std::string> types_in(std::string_view text) {
  std::vector<std::string> out;
  std::size_t begin = text.find("\ntypes:\n");
  if (begin == std::string_view::npos) return out;
  for (std::string_view line : base::split(text.substr(begin + 8), '\n')) {
    if (!line.starts_with("  ") || line.size() < 3) break;
    if (line[2] == ' ' || line[2] == '#') continue;
    out.emplace_back(line.substr(2, line.find(':') - 2));
  }
  return out;
}

}  // namespace

void wrong_family(base::Diagnostics& found, const base::Location& where, std::string what, std::string way) {
  base::Diagnostic& error = found.error("O0939", std::move(what), where);
  if (!way.empty()) error.hint(std::move(way));
}

std::vector<Family> read_families(const std::shared_ptr<const base::SourceFile>& document) {
  base::Diagnostics found;
  std::vector<Rule> documents = yaml::parse(document, base::Severity::kError, found);
  found.throw_if_errors();
  if (documents.size() != 1) base::fail("O0939", "a family is one document", {document, 0, 0, 1});
  const auto root = std::make_shared<const Rule>(std::move(documents.front()));
  check_fields(*root, "", found);
  const Rule* types = root->is_map() ? root->find("types") : nullptr;
  if (root->is_map() && (types == nullptr || !types->is_map() || types->entries.empty()))
    wrong_family(found, types == nullptr ? root->where : types->where,
                 "a family's document has a map `types`: the values of `model_type` that it reads",
                 "`types: {mine: {}}`, or with the sizes that its class has: `{hidden_size: 2560}`");
  std::vector<Family> out;
  if (types != nullptr)
    for (const Rule::Entry& type : types->entries) {
      Family family{type.key, nullptr, false, {}, {}, root};
      for (const Rule::Entry& size : type.value.entries) {
        const auto value = base::parse_number<long>(size.value.scalar);
        if (size.key == "text_config")
          family.text_type = size.value.scalar;
        else if (value && *value > 0 && *value <= kLargestSize)
          family.sizes.emplace_back(size.key, *value);
        else
          wrong_family(found, size.value.where, fmt::format("the size `{}` is a whole number of 1 or more", size.key));
      }
      out.push_back(std::move(family));
    }
  found.throw_if_errors();
  return out;
}

const std::vector<Family>& families_of(const std::shared_ptr<const base::SourceFile>& document) {
  static std::mutex lock;
  static std::map<std::string, std::vector<Family>> all;  // by their text: a document never changes
  std::lock_guard guard(lock);
  const auto found = all.find(document->text);
  return found != all.end() ? found->second : all.emplace(document->text, read_families(document)).first->second;
}

const Family* described_family(std::string_view model_type) {
  for (const auto& [name, text] : family_texts()) {
    const std::vector<std::string> types = types_in(text);
    if (std::find(types.begin(), types.end(), model_type) == types.end()) continue;
    const auto file = std::make_shared<const base::SourceFile>(base::SourceFile{std::string(name), std::string(text)});
    for (const Family& family : families_of(file))
      if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

std::vector<std::string> described_types() {
  std::vector<std::string> out;
  for (const auto& [name, text] : family_texts())
    for (std::string& type : types_in(text)) out.push_back(std::move(type));
  return out;
}

}  // namespace orrery::formats::huggingface
