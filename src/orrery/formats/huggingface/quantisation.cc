// Idea: every method has its own keys for width, groups and what it leaves out; each gets a small function that fills
// one description. What the classes do where a key is missing is what `transformers` 5 does; what lies in the files
// beside the weights (scales, zeros, orders) is what the methods' own libraries write:
//
//   method              a group of weights          beside each group               beside each matrix
//   awq                 `group_size` inputs         scale 16, zero `bits`
//   gptq, auto-round    `group_size` inputs         scale 16, zero `bits`           gptq: 32 bits for each input
//   fp8                 a block, 128 x 128          scale 32
//   fbgemm_fp8          an output                   scale 32
//   mxfp4               32 inputs, experts only     scale 8
//   bitsandbytes 4 bit  64 weights                  scale 32; quantised twice: 8 + 32/256
//   bitsandbytes 8 bit  an output                   scale 32
//   compressed-tensors  by `strategy`               scale 16 (nvfp4, mxfp4: 8)      shape 128; nvfp4: scale 32
//   modelopt            fp8: all; nvfp4: 16 inputs  nvfp4: scale 8                  two scales of 32
//                       mxfp4, mxfp8: 32 inputs     scale 8
//
// DeepSeek V4 has matrices by fp8 and experts of 4 bits in groups of 32 (`expert_dtype`), or NVFP4 (`moe_quant_algo`).
//   torchao, hqq        `group_size` inputs         scale 16, zero 16
//   quanto, eetq        an output; int4: 128        scale 16, int4: shift 16
//   bitnet              all                                                         scale 16
//
// Cost: linear in the text.
#include "orrery/formats/huggingface/quantisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/huggingface/families/config_keys.h"

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using json::Node;
using machine::Precision;

constexpr std::pair<std::string_view, int> kTypes[] = {
    {"float64", 64},  {"double", 64},         {"float32", 32},    {"float", 32},
    {"bfloat16", 16}, {"float16", 16},        {"half", 16},       {"float8_e4m3fn", 8},
    {"float8", 8},    {"float8_e4m3fnuz", 8}, {"float8_e5m2", 8}, {"float8_e5m2fnuz", 8}};

// What is taken, where a width is not known.
constexpr const char* kTaken = "weights are counted as though they had 16 bits";

class QuantisationReader {
 public:
  QuantisationReader(const Node& config, base::Location where, base::Diagnostics& found)
      : keys_(config, std::move(where), found), found_(found) {}

  Quantisation read() {
    out_.where = keys_.where("quant_method");
    out_.method = keys_.text("quant_method");
    for (char& c : out_.method)
      if (c == '-') c = '_';
    if (out_.method.empty()) out_.method = guessed();
    choose();
    read_caches();
    check_names();
    return std::move(out_);
  }

 private:
  // Old files do not name it.
  std::string guessed() {
    for (const std::string_view key : {"load_in_4bit", "load_in_8bit", "_load_in_4bit", "_load_in_8bit"})
      if (keys_.given(key)) return "bitsandbytes";
    if (keys_.given("config_groups")) return "compressed_tensors";
    if (keys_.given("quant_algo")) return "modelopt";
    return keys_.given("bits") ? "gptq" : "";
  }

  void choose() {
    const std::string& m = out_.method;
    if (m == "awq") {
      packed(16, keys_.flag("zero_point", true), 0);
      keep("modules_to_not_convert");
    } else if (m == "gptq" || m == "gptqmodel" || m == "marlin" || m == "auto_round" || m == "intel/auto_round") {
      // Zeros are stored whether they differ or not.
      packed(16, true, m == "gptq" || m == "gptqmodel" ? 32 : 0);
      out_.head = keys_.flag("lm_head", false);
      for (const std::string_view key : {"dynamic", "extra_config"}) say_of_exceptions(key);
    } else if (m == "fp8") {
      StoredFormat& format = add(8);
      format.products = Precision::kFp8;
      format.scale_bits = 32;
      block(format);
      out_.tower = true;
      experts_apart();
      keep_or_head(keys_.spelled({"modules_to_not_convert", "ignored_layers"}));
    } else if (m == "fbgemm_fp8") {
      StoredFormat& format = add(8);
      format.products = Precision::kFp8;
      format.scale_bits = 32;
      out_.tower = true;
      keep_or_head("modules_to_not_convert");
    } else if (m == "mxfp4") {
      StoredFormat& format = add(4);
      format.group_in = 32;
      format.scale_bits = 8;
      out_.experts_only = true;
      keep("modules_to_not_convert");
    } else if (m == "bitsandbytes") {
      bitsandbytes();
    } else if (m == "compressed_tensors") {
      compressed();
    } else if (m == "modelopt") {
      modelopt();
    } else if (m == "torchao") {
      torchao();
    } else if (m == "hqq") {
      hqq();
    } else if (m == "quanto" || m == "eetq") {
      by_output(keys_.text("weights", "int8"));
      keep_or_head("modules_to_not_convert");
    } else if (m == "bitnet") {
      StoredFormat& format = add(2);
      format.group_out = 0;
      format.module_bits = 16;
      keep_or_head("modules_to_not_convert");
    } else {
      unknown(m.empty() ? "`quantization_config` names no method (`quant_method`)"
                        : fmt::format("files of quantisation `{}` are not understood", m.substr(0, 60)));
    }
  }

  // ModelOpt names a format, compressed-tensors a scheme.
  void read_caches() {
    std::string says = keys_.text("kv_cache_quant_algo");
    if (const Node* scheme = keys_.value("kv_cache_scheme"); scheme != nullptr && scheme->is_object()) {
      ConfigKeys own(*scheme, scheme->where, found_);
      says = fmt::format("{}{}", own.text("type", "int") == "float" ? "FP" : "INT", own.size("num_bits", 16));
    }
    static constexpr std::pair<std::string_view, Precision> kCaches[] = {
        {"FP8", Precision::kFp8}, {"INT8", Precision::kInt8}, {"NVFP4", Precision::kNvfp4}};
    for (const auto& [name, format] : kCaches)
      if (name == says) out_.caches = format;
    if (!out_.caches && !says.empty() && says != "NONE") out_.unknown_caches = says.substr(0, 60);
  }

  StoredFormat& add(int bits) {
    out_.groups.emplace_back();
    out_.groups.back().format.bits = bits;
    return out_.groups.back().format;
  }

  base::Diagnostic& unknown(const std::string& message) {
    out_.groups.clear();
    return found_.warning("O0926", message, out_.where).note(kTaken);
  }

  // A width; nothing where there is none that is known, which is said.
  std::optional<int> bits(ConfigKeys& keys, std::string_view key, std::optional<int> absent = std::nullopt) {
    const Node* node = keys.value(key);
    if (node == nullptr) {
      if (!absent) unknown(fmt::format("`quantization_config` gives no `{}`", key));
      return absent;
    }
    const Count value = keys.size(key, 16);
    if (value <= 16) return static_cast<int>(value);
    if (value <= kLargestSize)
      found_.error("O0910", fmt::format("weights of {} bits are not a quantised format", value), keys.where(key))
          .label("1 to 16");
    return std::nullopt;
  }

  // `bits` in groups of `group_size` inputs; -1: all.
  void packed(double scale, bool zeros, double order) {
    const std::optional<int> width = bits(keys_, "bits", out_.method == "awq" ? std::optional(4) : std::nullopt);
    const Count group = group_size(keys_, "group_size", 128);
    if (!width) return out_.groups.clear();
    StoredFormat& format = add(*width);
    format.group_in = group;
    format.scale_bits = scale + (zeros ? *width : 0);
    format.input_bits = order;
  }

  static Count group_size(ConfigKeys& keys, std::string_view key, Count absent) {
    const Node* node = keys.value(key);
    if (node != nullptr && node->is_number() && (node->number == -1 || node->number == 0)) return 0;
    return keys.size(key, absent, absent);
  }

  // `weight_block_size`: outputs x inputs; null: one scale for all.
  void block(StoredFormat& format) {
    format.group_in = format.group_out = 0;
    if (!keys_.has("weight_block_size")) {
      format.group_in = format.group_out = 128;
      return;
    }
    if (!keys_.given("weight_block_size")) return;
    const std::vector<Count> sides = keys_.counts("weight_block_size");
    if (sides.size() == 2 && sides[0] > 0 && sides[1] > 0) {
      format.group_out = sides[0];
      format.group_in = sides[1];
    } else if (keys_.value("weight_block_size")->kind == Node::Kind::kList) {
      found_.error("O0910", "`weight_block_size` must be two positive sizes", keys_.where("weight_block_size"));
    }
  }

  void keep(std::string_view key) {
    for (const std::string& name : keys_.texts(key)) {
      if (!seen_.insert(name).second || (out_.method == "compressed_tensors" && is_room(name))) continue;
      ModulePattern pattern(name);
      if (pattern.understood()) {
        out_.kept.push_back(std::move(pattern));
        continue;
      }
      found_
          .warning("O0926",
                   fmt::format("`{}` in `{}` is an expression that is not understood", name.substr(0, 60), key),
                   keys_.where(key))
          .note("what it names is counted as converted");
    }
  }

  // compressed-tensors names modules one by one: of a room, its list says nothing about the matrices inside.
  static bool is_room(const std::string& name) {
    static constexpr std::string_view kRooms[] = {"self_attn", "linear_attn", "attn", "mlp", "mixer", "mamba"};
    return !name.starts_with("re:") && base::contains(kRooms, std::string_view(name).substr(name.rfind('.') + 1));
  }

  // Where nothing is named, the logits' matrix stays as it is.
  void keep_or_head(std::string_view key) {
    out_.head = keys_.given(key);
    keep(key);
  }

  void say_of_exceptions(std::string_view key) {
    const Node* node = keys_.value(key);
    if (node == nullptr || (node->is_object() && node->members.empty())) return;
    found_
        .warning("O0926", fmt::format("`{}` gives some modules widths of their own, which are not read", key),
                 keys_.key_where(key))
        .note("they are counted at the width of the others");
  }

  void bitsandbytes() {
    const bool four = keys_.flag("load_in_4bit", false) || keys_.flag("_load_in_4bit", false);
    const bool eight = keys_.flag("load_in_8bit", false) || keys_.flag("_load_in_8bit", false);
    const bool twice = keys_.flag("bnb_4bit_use_double_quant", false);
    out_.tower = true;
    if (four == eight) {
      unknown(four ? "`load_in_4bit` and `load_in_8bit` cannot both be true"
                   : "neither `load_in_4bit` nor `load_in_8bit` is true");
      return;
    }
    StoredFormat& format = add(four ? 4 : 8);
    format.group_in = four ? 64 : 0;
    format.scale_bits = four && twice ? 8 + 32.0 / 256 : 32;
    keep_or_head("llm_int8_skip_modules");
  }

  // int8, int4, float8 and their like.
  void by_output(const std::string& type) {
    const bool eight = type.find('8') != std::string::npos, four = type.find('4') != std::string::npos,
               two = type.find('2') != std::string::npos;
    if (eight + four + two != 1) {
      unknown(fmt::format("weights of type `{}` are not understood", type.substr(0, 60)));
      return;
    }
    StoredFormat& format = add(eight ? 8 : four ? 4 : 2);
    format.group_in = eight ? 0 : 128;
    format.scale_bits = eight ? 16 : 32;
  }

  void hqq() {
    const Node* inside = keys_.value("quant_config");
    const Node* weights = inside == nullptr || !inside->is_object() || inside->find("weight_quant_params") == nullptr
                              ? nullptr
                              : &inside->find("weight_quant_params")->value;
    if (weights == nullptr || !weights->is_object()) {
      unknown("`quantization_config` gives no `weight_quant_params`");
      return;
    }
    ConfigKeys own(*weights, weights->where, found_);
    if (const std::optional<int> width = bits(own, "nbits")) {
      StoredFormat& format = add(*width);
      format.group_in = group_size(own, "group_size", 64);
      format.scale_bits = 32;
    }
    keep_or_head("skip_modules");
  }

  void torchao() {
    const Node* type = keys_.value("quant_type");
    Count group = 128;
    std::string name;
    const auto groups_of = [&](const Node& object) {
      ConfigKeys own(object, object.where, found_);
      group = group_size(own, "group_size", group);
    };
    if (type != nullptr && type->is_text()) {
      name = type->text;
      if (const Node* more = keys_.value("quant_type_kwargs"); more != nullptr && more->is_object()) groups_of(*more);
    } else if (type != nullptr && type->is_object()) {
      const json::Member* usual = type->find("default");
      const Node& chosen = usual == nullptr ? *type : usual->value;
      if (const json::Member* called = chosen.find("_type"); called != nullptr && called->value.is_text())
        name = called->value.text;
      if (const json::Member* data = chosen.find("_data"); data != nullptr && data->value.is_object())
        groups_of(data->value);
    }
    std::string plain;
    for (const char c : name)
      if (c != '_') plain += base::lower(c);
    if (plain.starts_with("int4") || plain.find("int4weight") != std::string::npos) {
      StoredFormat& format = add(4);
      format.group_in = group;
      format.scale_bits = 32;
    } else if (plain.starts_with("int8") && plain.find("int4") == std::string::npos) {
      add(8).scale_bits = 16;
    } else if (plain.starts_with("float8")) {
      StoredFormat& format = add(8);
      format.scale_bits = 32;
      if (plain.find("dynamic") != std::string::npos) format.products = Precision::kFp8;
    } else {
      unknown(name.empty() ? "`quantization_config` gives no `quant_type`"
                           : fmt::format("weights of torchao's `{}` are not understood", name.substr(0, 60)));
    }
    if (keys_.flag("include_input_output_embeddings", false))
      found_
          .warning("O0926", "`include_input_output_embeddings` converts tables, which is not counted",
                   keys_.where("include_input_output_embeddings"))
          .note("they are counted at their own width");
    keep("modules_to_not_convert");
  }

  // In files by fp8, ModelOpt's experts: all of them, or those that are named.
  void experts_apart() {
    const std::string algorithm = keys_.text("moe_quant_algo");
    if (algorithm.empty()) {
      if (keys_.given("quantized_layers")) named_modules();
    } else if (const auto format = modelopt_format(algorithm)) {
      out_.groups.insert(out_.groups.begin(), {{ModulePattern("experts")}, *format});
    }
  }

  void modelopt() {
    const std::string algorithm = keys_.text("quant_algo");
    if (algorithm == "MIXED_PRECISION" && keys_.given("quantized_layers")) {
      named_modules();
    } else if (keys_.given("config_groups")) {
      return compressed();
    } else if (algorithm.empty()) {
      unknown("`quantization_config` gives no `quant_algo`");
    } else if (const auto format = modelopt_format(algorithm)) {
      out_.groups.push_back({{}, *format});
    }
    out_.head = out_.routers = out_.tower = true;
    keep(keys_.spelled({"ignore", "exclude_modules"}));
  }

  // By the names that `hf_quant_config.json` has for them; nothing where it is not known, which is said.
  std::optional<StoredFormat> modelopt_format(const std::string& algorithm) {
    static const std::pair<std::string_view, StoredFormat> kFormats[] = {
        {"FP8", {8, 0, 0, 0, 0, 64, Precision::kFp8}},
        {"FP8_PER_CHANNEL_PER_TOKEN", {8, 0, 1, 32, 0, 0, Precision::kFp8}},
        {"FP8_PB_WO", {8, 128, 128, 32, 0, 0, Precision::kFp8}},
        {"NVFP4", {4, 16, 1, 8, 0, 64, Precision::kNvfp4}},
        {"W4A16_NVFP4", {4, 16, 1, 8, 0, 32}},  // inputs have no scale
        {"MXFP4", {4, 32, 1, 8}},
        {"W4A8_MXFP4_FP8", {4, 32, 1, 8}},
        {"MXFP8", {8, 32, 1, 8, 0, 0, Precision::kMxfp8}}};
    for (const auto& [name, format] : kFormats)
      if (name == algorithm) return format;
    unknown(fmt::format("weights of modelopt's `{}` are not understood", algorithm.substr(0, 60)));
    return std::nullopt;
  }

  // `quantized_layers`: each module with its own algorithm; no other is converted.
  void named_modules() {
    const Node* modules = keys_.value("quantized_layers");
    if (!modules->is_object()) {
      unknown(fmt::format("`quantized_layers` must be an object, but is {}", json::describe(*modules)));
      return;
    }
    std::map<std::string, std::string> algorithms;  // by the module, the experts of a layer being one
    std::map<std::string, Quantisation::Group> groups;
    for (const json::Member& module : modules->members) {
      if (!module.value.is_object()) continue;
      ConfigKeys own(module.value, module.value.where, found_);
      const std::string algorithm = own.text("quant_algo"), name = of_any_expert(module.key);
      const auto [known, added] = algorithms.emplace(name, algorithm);
      if (!added && known->second != algorithm) {
        found_
            .warning("O0926",
                     fmt::format("experts of `{}` are stored by `{}` and by `{}`", name.substr(0, 60),
                                 known->second.substr(0, 60), algorithm.substr(0, 60)),
                     module.key_where)
            .note(fmt::format("all are counted by `{}`", known->second.substr(0, 60)));
        algorithms[name] = algorithm;  // told once
      }
      if (!added) continue;
      const auto [group, first] = groups.try_emplace(algorithm);
      if (first) {
        const auto format = modelopt_format(algorithm);
        if (!format) return;
        group->second.format = *format;
      }
      group->second.targets.emplace_back(name);
    }
    std::vector<Quantisation::Group> all;
    for (auto& [algorithm, group] : groups) all.push_back(std::move(group));
    out_.groups.insert(out_.groups.begin(), all.begin(), all.end());
  }

  // `mlp.experts.17.up_proj` as `mlp.experts.*.up_proj`.
  static std::string of_any_expert(std::string name) {
    constexpr std::string_view kRoom = ".experts.";
    const std::size_t room = name.find(kRoom);
    if (room == std::string::npos) return name;
    const std::size_t first = room + kRoom.size();
    const std::size_t end = std::min(name.find_first_not_of("0123456789", first), name.size());
    if (end > first) name.replace(first, end - first, "*");
    return name;
  }

  void compressed() {
    const Node* groups = keys_.value("config_groups");
    if (groups == nullptr || !groups->is_object() || groups->members.empty()) {
      unknown("`quantization_config` gives no `config_groups`");
      return;
    }
    const std::string form = keys_.text("format");
    for (const json::Member& member : groups->members) {
      if (!member.value.is_object()) continue;
      ConfigKeys own(member.value, member.value.where, found_);
      const Node* weights = own.value("weights");
      if (weights == nullptr || !weights->is_object()) continue;  // activations alone
      Quantisation::Group group;
      if (!compressed_format(*weights, form + own.text("format"), group.format)) return out_.groups.clear();
      // Inputs stay as they are, or are quantised as well.
      const Node* inputs = own.value("input_activations");
      const bool floats = ConfigKeys(*weights, weights->where, found_).text("type", "int") == "float";
      if (inputs == nullptr || !inputs->is_object() || (!floats && group.format.bits != 8))
        group.format.products = Precision::kBf16;
      else if (!floats)
        group.format.products = Precision::kInt8;
      else if (group.format.bits == 8)
        group.format.products = Precision::kFp8;
      else if (group.format.bits == 4 && group.format.group_in == 16)
        group.format.products = Precision::kNvfp4;
      bool every = !own.given("targets");
      for (const std::string& target : own.texts("targets")) {
        // Kinds of modules, or names.
        if (target == "Linear")
          every = true;
        else
          group.targets.emplace_back(target);
      }
      if (every) group.targets.clear();
      out_.groups.push_back(std::move(group));
    }
    // Those with names are asked first: the others pick everything.
    std::stable_partition(out_.groups.begin(), out_.groups.end(),
                          [](const auto& group) { return !group.targets.empty(); });
    out_.head = out_.routers = out_.tower = true;
    keep("ignore");
  }

  bool compressed_format(const Node& weights, const std::string& form, StoredFormat& format) {
    ConfigKeys own(weights, weights.where, found_);
    const std::optional<int> width = bits(own, "num_bits");
    if (!width) return false;
    format.bits = *width;
    const bool floats = own.text("type", "int") == "float";
    const bool zeros = !own.flag("symmetric", true);
    const bool four = floats && *width == 4;
    Count group = own.given("group_size") ? group_size(own, "group_size", 128) : 0;
    const std::string strategy = own.text("strategy", group > 0 ? "group" : "tensor");
    format.scale_bits = (four ? 8 : 16) + (zeros ? *width : 0);
    if (form.find("pack") != std::string::npos && !four) format.module_bits = 128;
    if (strategy == "tensor") {
      format.group_out = 0;
      group = 0;
    } else if (strategy == "channel" || strategy == "token") {
      group = 0;
    } else if (strategy == "group" || strategy == "tensor_group") {
      if (strategy == "tensor_group") format.module_bits = 64;
    } else if (strategy == "block") {
      const Node* sides = own.value("block_structure");
      const bool two = sides != nullptr && sides->kind == Node::Kind::kList && sides->items.size() == 2;
      const std::vector<Count> both = two ? own.counts("block_structure") : std::vector<Count>();
      format.group_out = both.size() == 2 && both[0] > 0 ? both[0] : 128;
      group = both.size() == 2 && both[1] > 0 ? both[1] : 128;
    } else {
      unknown(fmt::format("scales by `{}` are not understood", strategy.substr(0, 60)));
      return false;
    }
    format.group_in = group;
    return true;
  }

  // A slip in the name of a key that is read would pass for its absence.
  void check_names() {
    std::vector<std::string> known(keys_.read().begin(), keys_.read().end());
    std::erase_if(known, [&](const std::string& key) { return keys_.has(key); });
    int told = 0;
    for (const json::Member& member : keys_.object().members) {
      if (told == 8 || keys_.read().contains(member.key) || member.key.starts_with("bnb_")) continue;
      const std::string near = base::closest(member.key.substr(0, 100), known);
      if (near.empty()) continue;
      found_
          .warning("O0916",
                   fmt::format("nothing is known about `{}` in `quantization_config`", member.key.substr(0, 60)),
                   member.key_where)
          .hint(base::did_you_mean(near));
      ++told;
    }
  }

  ConfigKeys keys_;
  base::Diagnostics& found_;
  std::set<std::string> seen_;
  Quantisation out_;
};

// DeepSeek V4's `expert_dtype`: `fp4` are 4 bits in groups of 32 that share a scale of 8 (inference/model.py of the
// checkpoint), beside matrices by fp8.
void read_experts(const Node& type, Quantisation& into, base::Diagnostics& found) {
  const std::string name = type.is_text() ? type.text : json::describe(type);
  const bool by_fp8 = into.method == "fp8" && !into.groups.empty();
  if (by_fp8 && (name == "fp8" || into.groups.size() > 1)) return;  // as wide as the others, or told apart already
  if (by_fp8 && name == "fp4") {
    into.groups.insert(into.groups.begin(), {{ModulePattern("experts")}, {4, 32, 1, 8}});
    return;
  }
  found
      .warning("O0926",
               by_fp8 ? fmt::format("experts of type `{}` are not known", name.substr(0, 60))
                      : fmt::format("`expert_dtype` is `{}`, but there is no `quantization_config` by fp8 beside it",
                                    name.substr(0, 60)),
               type.where)
      .note("they are counted as wide as the others");
}

// Of the catalogue: how the model was published, which says how it is stored and served, not how it is trained.
constexpr std::string_view kPublished = "_quantization_config";

}  // namespace

WeightWidths read_widths(const Node& object, const Node* outer, const std::vector<std::string>& ignored,
                         bool bytes_matter, base::Diagnostics& found) {
  WeightWidths out;
  const auto value = [](const Node* in, std::string_view key) -> const Node* {
    const json::Member* member = in == nullptr ? nullptr : in->find(key);
    return member == nullptr || member->value.is_null() ? nullptr : &member->value;
  };
  for (const Node* in : {&object, outer}) {
    if (out.stated || in == nullptr) continue;
    for (const std::string_view key : {"dtype", "torch_dtype"}) {
      const Node* type = value(in, key);
      if (out.stated || type == nullptr || !type->is_text() || base::contains(ignored, key)) continue;
      std::string name = type->text;
      if (name.starts_with("torch.")) name = name.substr(6);
      if (name == "auto") continue;
      std::vector<std::string> known;
      for (const auto& [each, bits] : kTypes) {
        known.emplace_back(each);
        if (each != name) continue;
        out.bits = bits;
        out.stated = true;
      }
      if (out.stated) continue;
      found.warning("O0926", fmt::format("weights of type `{}` are not known", name.substr(0, 60)), type->where)
          .note(kTaken)
          .hint(base::did_you_mean(name, known));
      break;
    }
  }
  for (const Node* in : {&object, outer})
    for (const std::string_view key :
         {std::string_view("quantization_config"), std::string_view("compression_config"), kPublished}) {
      const Node* config = value(in, key);
      if (config == nullptr || base::contains(ignored, key) || !out.quantisation.method.empty()) continue;
      if (!config->is_object()) {
        found.error("O0903", fmt::format("`{}` must be an object, but is {}", key, json::describe(*config)),
                    config->where);
        continue;
      }
      base::Diagnostics own;
      out.quantisation = QuantisationReader(*config, config->where, own).read();
      if (bytes_matter) found.append(own);
    }
  for (const Node* in : {&object, outer})
    if (const Node* type = value(in, "expert_dtype")) {
      base::Diagnostics own;
      read_experts(*type, out.quantisation, own);
      if (bytes_matter) found.append(own);
      break;
    }
  return out;
}

}  // namespace orrery::formats::huggingface
