#include "orrery/formats/sanger/model_config.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "orrery/formats/json/json_document.h"

namespace orrery::formats::sanger {
namespace {

using json::Member;
using json::Node;

constexpr std::array kKeys = {"quant_qk", "normalize_qk", "prune_score", "static_sparsity"};

class Reader {
 public:
  explicit Reader(const Node& root) : root_(root) {}

  ModelConfig read(base::Diagnostics& warnings) {
    quantiser();
    normalisation();
    rule();
    pattern();
    found_.throw_if_errors();
    for (const json::Repeated& twice : json::repeated(root_))
      if (std::find(kKeys.begin(), kKeys.end(), twice.last->key) != kKeys.end()) replaced(twice, warnings);
    for (const char* key : kKeys)
      if (const Member* const member = find(root_, key); member != nullptr && member->value.is_object())
        for (const json::Repeated& twice : json::repeated(member->value)) replaced(twice, warnings);
    if (out_.bits && !out_.threshold)
      unused("quant_qk", "without `prune_score`, predicted scores decide nothing", warnings);
    if (out_.normalises && !out_.bits)
      unused("normalize_qk", "without `quant_qk`, nothing is quantised that could be normalised", warnings);
    for (const Member& member : root_.members)
      if (std::find(kKeys.begin(), kKeys.end(), member.key) == kKeys.end()) out_.others.push_back(member.key);
    return out_;
  }

 private:
  // Null where the key is absent, null or false, as Sanger's code asks for it.
  const Member* find(const Node& node, const char* key) const {
    const Member* const member = node.find(key);
    if (member == nullptr || member->value.is_null()) return nullptr;
    return member->value.kind == Node::Kind::kTruth && !member->value.truth ? nullptr : member;
  }
  void bad(const Node& value, const std::string& what) {
    found_.error("O1870", fmt::format("{}, not {}", what, json::describe(value)), value.where);
  }
  void unused(const char* key, const char* why, base::Diagnostics& warnings) const {
    warnings.warning("O1871", fmt::format("`{}` changes nothing", key), root_.find(key)->key_where).note(why);
  }

  static void replaced(const json::Repeated& twice, base::Diagnostics& warnings) {
    warnings.warning("O1871", fmt::format("`{}` is given twice", twice.last->key), twice.last->key_where)
        .label("this one counts")
        .also(twice.first->key_where, "given here first");
  }

  const Node* object(const char* key) {
    const Member* const member = find(root_, key);
    if (member == nullptr) return nullptr;
    if (member->value.is_object()) return &member->value;
    bad(member->value, fmt::format("`{}` must be an object", key));
    return nullptr;
  }
  // What stands at a key of an object that must have it.
  const Node* demand(const Node& of, const char* name, const char* key) {
    const Member* const member = of.find(key);
    if (member != nullptr) return &member->value;
    found_.error("O1870", fmt::format("`{}` lacks `{}`", name, key), of.where);
    return nullptr;
  }

  void quantiser() {
    const Node* const node = object("quant_qk");
    if (node == nullptr) return;
    const Node* const method = demand(*node, "quant_qk", "method");
    if (method != nullptr && (!method->is_text() || method->text != "sym"))
      bad(*method, "the method of `quant_qk` must be \"sym\"");
    const Node* const width = demand(*node, "quant_qk", "bitwidth");
    if (width == nullptr) return;
    for (const int bits : {2, 4, 6, 8})
      if (width->is_number() && width->number == bits) out_.bits = bits;
    if (!out_.bits) bad(*width, "the bitwidth of `quant_qk` must be 2, 4, 6 or 8");
  }

  void normalisation() {
    const Member* const member = find(root_, "normalize_qk");
    if (member == nullptr) return;
    out_.normalises = member->value.is_text() && member->value.text == "inner_product";
    if (!out_.normalises) bad(member->value, "`normalize_qk` must be \"inner_product\"");
  }

  void rule() {
    const Node* const node = object("prune_score");
    if (node == nullptr) return;
    const Node* const method = demand(*node, "prune_score", "method");
    if (method != nullptr &&
        (!method->is_text() || (method->text != "probablity_threshold" && method->text != "probability_threshold")))
      bad(*method, "the method of `prune_score` must be \"probablity_threshold\" (so it is spelled)");
    const Node* const threshold = demand(*node, "prune_score", "threshold");
    if (threshold == nullptr) return;
    if (threshold->is_number() && threshold->number > 0 && threshold->number < 1)
      out_.threshold = threshold->number;
    else
      bad(*threshold, "the threshold of `prune_score` must be a probability between 0 and 1");
  }

  void pattern() {
    const Member* const member = find(root_, "static_sparsity");
    if (member == nullptr) return;
    if (!member->value.is_text() || member->value.text.empty())
      return bad(member->value, "`static_sparsity` must be the path of a file");
    out_.pattern = member->value.text;
    out_.pattern_where = member->value.where;
  }

  const Node& root_;
  ModelConfig out_;
  base::Diagnostics found_;
};

}  // namespace

ModelConfig read_model_config(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& warnings) {
  const Node root = json::parse(file, "O1870", "a configuration is one JSON object, as a model's config.json");
  if (!root.is_object())
    base::fail("O1870", fmt::format("a configuration is one JSON object, and this is {}", json::describe(root)),
               root.where);
  return Reader(root).read(warnings);
}

}  // namespace orrery::formats::sanger
