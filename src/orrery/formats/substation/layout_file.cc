#include "orrery/formats/substation/layout_file.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include <fmt/format.h>

#include "orrery/base/text/mapped_file.h"
#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/json/json_document.h"
#include "orrery/formats/pickle/pickle.h"
#include "orrery/formats/substation/measurement_source.h"

namespace orrery::formats::substation {
namespace {

constexpr const char* kHint =
    "a layout file has input, output, special_dims, algorithms, params, forward_interm and backward_interm; "
    "`orrery tune select DIR --output_config FILE` writes one";

// In the order of the original's files. KKQQVV and BKQV stand for three tensors each.
constexpr const char* kParams = "WKQV BKQV WO BO S1 B1 LINB1 LINW1 S2 B2 LINB2 LINW2";
constexpr const char* kForward =
    "KKQQVV WKKWQQWVV BETA ALPHA ATTN_DROP_MASK ATTN_DROP GAMMA ATT DROP1MASK SB1 SB1_LINW1 DROP2 LIN1 DROP2_LINW2 "
    "LIN2 "
    "LN2 LN2STD LN2DIFF DROP2MASK DROP3MASK LN1 LN1STD LN1DIFF";
constexpr const char* kBackward =
    "DLN2 DRESID2 DLIN2 DDROP2 DLIN1 DLIN1_LINW1 DLN1 DRESID1 DATT DXATT DGAMMA DATTN_DROP DBETA DKKQQVV";

// What both kinds of files are made of: texts, lists of them, dictionaries.
struct Member;
struct Value {
  enum class Kind { kText, kList, kDict, kOther } kind = Kind::kOther;
  std::string text;
  std::vector<Value> items;     // of lists
  std::vector<Member> members;  // of dictionaries
  base::Location where;
};
struct Member {
  std::string name;
  Value value;
};

Value value_of(const json::Node& node) {
  Value out;
  out.where = node.where;
  if (node.is_text()) {
    out.kind = Value::Kind::kText;
    out.text = node.text;
  } else if (node.kind == json::Node::Kind::kList) {
    out.kind = Value::Kind::kList;
    for (const json::Node& item : node.items) out.items.push_back(value_of(item));
  } else if (node.is_object()) {
    out.kind = Value::Kind::kDict;
    for (const json::Member& member : node.members) out.members.push_back({member.key, value_of(member.value)});
  }
  return out;
}

constexpr int kDeepest = 8;
constexpr std::size_t kMostValues = 10'000;

// Lists may hold themselves or the same part often; what is deep or large is no layout file.
Value value_of(const pickle::Pickle& from, pickle::PickleRef ref, const base::Location& whole, int depth,
               std::size_t& values) {
  using Kind = pickle::PickleValue::Kind;
  if (depth > kDeepest || ++values > kMostValues)
    base::fail("O1718", "the pickle is not a layout file: its values are too deep or too many", whole, kHint);
  const pickle::PickleValue& value = from.at(ref);
  Value out;
  out.where = whole;
  if (value.kind == Kind::kText) {
    out.kind = Value::Kind::kText;
    out.text = std::string(value.text);
  } else if (value.kind == Kind::kList || value.kind == Kind::kTuple) {
    out.kind = Value::Kind::kList;
    for (const pickle::PickleRef item : value.items)
      out.items.push_back(value_of(from, item, whole, depth + 1, values));
  } else if (value.kind == Kind::kDict) {
    out.kind = Value::Kind::kDict;
    for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
      const pickle::PickleValue& key = from.at(value.items[i]);
      out.members.push_back({key.kind == Kind::kText ? std::string(key.text) : std::string("?"),
                             value_of(from, value.items[i + 1], whole, depth + 1, values)});
    }
  }
  return out;
}

class LayoutFileReader {
 public:
  explicit LayoutFileReader(const Value& top) : top_(top) {}

  LayoutFile read() {
    LayoutFile out;
    if (top_.kind != Value::Kind::kDict) {
      error("the layout file is not a dictionary", top_.where);
      found_.throw_if_errors();
    }
    for (const auto& [key, value] : top_.members)
      if (key != "input" && key != "output" && key != "special_dims" && key != "algorithms" && key != "params" &&
          key != "forward_interm" && key != "backward_interm")
        error(fmt::format("a layout file has no `{}`", key), value.where);
    if (const Value* value = get("input")) out.input = pair(*value, "input");
    if (const Value* value = get("output")) out.output = pair(*value, "output");
    out.params = pairs("params");
    out.forward_interm = pairs("forward_interm");
    out.backward_interm = pairs("backward_interm");
    out.special_dims = texts("special_dims");
    out.algorithms = texts("algorithms");
    found_.throw_if_errors();
    return out;
  }

 private:
  void error(const std::string& message, const base::Location& where) {
    found_.error("O1718", message, where).hint(kHint);
  }
  const Value* get(const char* key) {
    const Value* last = nullptr;
    for (const auto& [name, value] : top_.members)
      if (name == key) last = &value;
    if (last == nullptr) error(fmt::format("the layout file lacks `{}`", key), top_.where);
    return last;
  }
  LayoutPair pair(const Value& value, const char* key) {
    if (value.kind == Value::Kind::kList && value.items.size() == 2 && value.items[0].kind == Value::Kind::kText &&
        value.items[1].kind == Value::Kind::kText && !value.items[1].text.empty())
      return {value.items[0].text, value.items[1].text, value.items[1].where};
    error(fmt::format("`{}` is made of pairs of a name and a layout", key), value.where);
    return {};
  }
  std::vector<LayoutPair> pairs(const char* key) {
    std::vector<LayoutPair> out;
    const Value* value = get(key);
    if (value == nullptr) return out;
    if (value->kind == Value::Kind::kDict)
      for (const auto& [name, item] : value->members) out.push_back({name, item.text, item.where});
    else if (value->kind != Value::Kind::kList)
      error(fmt::format("`{}` is not a list", key), value->where);
    for (const Value& item : value->items) out.push_back(pair(item, key));
    return out;
  }
  std::vector<std::pair<std::string, std::string>> texts(const char* key) {
    std::vector<std::pair<std::string, std::string>> out;
    const Value* value = get(key);
    if (value == nullptr) return out;
    if (value->kind != Value::Kind::kDict) error(fmt::format("`{}` is not a dictionary", key), value->where);
    for (const auto& [name, item] : value->members) {
      if (item.kind != Value::Kind::kText) error(fmt::format("`{}` of `{}` is not text", name, key), item.where);
      out.emplace_back(name, item.text);
    }
    return out;
  }

  const Value& top_;
  base::Diagnostics found_;
};

void append_pairs(std::string& out, const char* key, const std::vector<LayoutPair>& pairs) {
  out += fmt::format(" \"{}\": [", key);
  for (std::size_t i = 0; i < pairs.size(); ++i)
    out += fmt::format("{}\n  [\"{}\", \"{}\"]", i > 0 ? "," : "", pairs[i].name, pairs[i].layout);
  out += "\n ]";
}

void append_texts(std::string& out, const char* key, const std::vector<std::pair<std::string, std::string>>& texts) {
  out += fmt::format(" \"{}\": {{", key);
  for (std::size_t i = 0; i < texts.size(); ++i)
    out += fmt::format("{}\n  \"{}\": \"{}\"", i > 0 ? "," : "", texts[i].first, texts[i].second);
  out += "\n }";
}

// Libraries that compute products beside a GPU's, by name.
constexpr const char* kLibraries[] = {"openblas", "onednn"};

// "tc3" is ALGO3, "tc_default" DEFAULT; the fp16 programs of the original have the number alone, which it cuts away.
std::string algorithm(const std::string& implementation) {
  if (implementation.find("default") != std::string::npos) return "DEFAULT";
  for (const char* library : kLibraries)
    if (implementation == library) return base::upper(library);
  const bool number =
      std::all_of(implementation.begin(), implementation.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return "ALGO" + (number && implementation.size() <= 2
                       ? implementation
                       : implementation.substr(std::min<std::size_t>(2, implementation.size())));
}

}  // namespace

LayoutFile parse_layout_json(const std::shared_ptr<const base::SourceFile>& file) {
  const Value top = value_of(json::parse(file, "O1718", kHint));
  return LayoutFileReader(top).read();
}

LayoutFile parse_layout_pickle(std::string_view bytes, const base::Location& whole) {
  const auto nothing = [](std::string_view, std::string_view) { return false; };
  const pickle::Pickle from = pickle::read_pickle(
      bytes, 0, nothing, whole, {"layouts", "write the dictionary as JSON", "write the dictionary as JSON"});
  std::size_t values = 0;
  const Value top = value_of(from, from.top, whole, 0, values);
  return LayoutFileReader(top).read();
}

LayoutFile read_layout_file(const std::string& path) {
  const auto first = base::first_bytes(path, 1);
  // A pickle begins with its protocol; of the oldest two, with a mark or a dictionary.
  if (!first || first->empty() || std::string_view("\x80(}").find((*first)[0]) == std::string_view::npos)
    return parse_layout_json(base::read_file(path));
  const base::MappedFile file(path);
  return parse_layout_pickle(file.bytes(),
                             {std::make_shared<const base::SourceFile>(base::SourceFile{path, {}}), 0, 0});
}

std::vector<LayoutPair> layouts_of(const LayoutFile& file) {
  std::vector<LayoutPair> out;
  const auto add = [&](const LayoutPair& pair) {
    const std::string layout = dimensions(pair.layout);
    const std::string part = layout.empty() ? layout : layout.substr(1);
    if (pair.name == "BKQV") {
      for (const char* one : {"BK", "BV", "BQ"}) out.push_back({one, part, pair.where});
    } else if (pair.name == "KKQQVV") {
      std::string keys = part;
      std::replace(keys.begin(), keys.end(), 'j', 'k');
      out.push_back({"QQ", part, pair.where});
      for (const char* one : {"KK", "VV"}) out.push_back({one, keys, pair.where});
    } else {
      out.push_back({pair.name, layout, pair.where});
    }
  };
  for (const LayoutPair* one : {&file.input, &file.output}) add(*one);
  for (const auto* list : {&file.params, &file.forward_interm, &file.backward_interm})
    for (const LayoutPair& one : *list) add(one);
  return out;
}

LayoutFile make_layout_file(const tuning::Graph& graph, const tuning::Selection& selection,
                            const std::function<LayoutPair(const std::string& tensor)>& pair) {
  LayoutFile out;
  out.input = pair(graph.forward_input);
  out.output = pair(graph.forward_output);
  for (const tuning::ChosenOperator& one : selection.operators) {
    const tuning::Operator& op = *graph.find(one.name);
    for (const auto& [special, value] : one.specials)
      if (op.kind == tuning::Kind::kContraction)
        out.algorithms.emplace_back(op.outputs.front().variable, algorithm(value));
      else
        out.special_dims.emplace_back(
            (one.name == "softmax" ? "SM" : base::upper(one.name)) + "_" + base::upper(special), base::upper(value));
  }
  const auto list = [&](const char* names, std::vector<LayoutPair>& to) {
    std::istringstream in(names);
    for (std::string name; in >> name;) {
      const bool biases = name == "BKQV", stack = name == "KKQQVV";
      const std::string layout = pair(biases ? "BK" : stack ? "QQ" : name).layout;
      to.push_back({name, (biases || stack ? "Q" : "") + layout, {}});
    }
  };
  list(kParams, out.params);
  list(kForward, out.forward_interm);
  list(kBackward, out.backward_interm);
  return out;
}

std::string layout_text(const LayoutFile& file) {
  std::string out = fmt::format("{{\n \"input\": [\"{}\", \"{}\"],\n \"output\": [\"{}\", \"{}\"],\n", file.input.name,
                                file.input.layout, file.output.name, file.output.layout);
  append_texts(out, "special_dims", file.special_dims);
  out += ",\n";
  append_texts(out, "algorithms", file.algorithms);
  for (const auto& [key, pairs] : {std::pair{"params", &file.params},
                                   {"forward_interm", &file.forward_interm},
                                   {"backward_interm", &file.backward_interm}}) {
    out += ",\n";
    append_pairs(out, key, *pairs);
  }
  return out + "\n}\n";
}

}  // namespace orrery::formats::substation
