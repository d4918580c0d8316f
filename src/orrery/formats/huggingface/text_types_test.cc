// Every type that transformers generates text with, at its class's own sizes (tests/data/text_types.jsonl, counted by
// bench/text_types.py): read, with its class's parameters, FLOP and caches, or refused with what stands in the way.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/text.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/formats/huggingface/families/unread_types.h"
#include "orrery/formats/huggingface/huggingface_config.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::formats::huggingface {
namespace {

constexpr const char* kPage = ORRERY_SOURCE_DIR "/docs/models.md";
constexpr base::Count kTokens = 512;

struct Row {
  std::string type, config;                     // "TYPE varied": at small, awkward sizes
  double parameters = 0, flop = 0, cache = -1;  // 0, -1: not counted
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> out;
    std::ifstream in(ORRERY_SOURCE_DIR "/tests/data/text_types.jsonl");
    for (std::string line; std::getline(in, line);) {
      const json::Node node = json::parse_pythons(base::source(line), "O0900");
      const auto number = [&](const char* key, double absent) {
        const json::Member* member = node.find(key);
        return member == nullptr ? absent : member->value.number;
      };
      Row row{node.find("type")->value.text, "", number("parameters", 0), number("flop", 0), number("cache", -1)};
      // The file's last member, as it was written.
      if (const std::size_t at = line.find("\"config\": "); at != std::string::npos) {
        const std::size_t begin = at + 10;
        int depth = 0;
        for (std::size_t i = begin; i < line.size() && row.config.empty(); ++i) {
          depth += line[i] == '{' ? 1 : line[i] == '}' ? -1 : 0;
          if (depth == 0) row.config = line.substr(begin, i + 1 - begin);
        }
      }
      out.push_back(std::move(row));
    }
    return out;
  }();
  return all;
}

std::optional<workload::Transformer> read(const Row& row) {
  if (row.config.empty()) return std::nullopt;
  try {
    return read_config(base::source(row.config), {.outside = Outside::kPassed}).transformer;
  } catch (const base::InputError&) {
    return std::nullopt;
  }
}

const std::map<std::string, workload::Transformer>& read_rows() {
  static const std::map<std::string, workload::Transformer> all = [] {
    std::map<std::string, workload::Transformer> out;
    for (const Row& row : rows())
      if (auto model = read(row)) out.emplace(row.type, std::move(*model));
    return out;
  }();
  return all;
}

// Types that are read, but whose class has a value of its own that is refused.
const std::map<std::string, std::string>& refused_values() {
  static const std::map<std::string, std::string> all = {{"m2m_100", "O0917"},
                                                         {"paligemma", "O0917"},
                                                         {"encoder-decoder", "O0917"},
                                                         {"vision-encoder-decoder", "O0917"},
                                                         {"gemma4_unified_assistant", "O0922"},
                                                         {"qwen3_omni_moe_thinker", "O0911"}};
  return all;
}

// Whether the refusal of a row's configuration says so.
bool says(const Row& row, const std::string& why) {
  try {
    read_config(base::source(row.config), {.outside = Outside::kPassed});
  } catch (const base::InputError& error) {
    for (const base::Diagnostic& one : error.diagnostics)
      for (const std::string& note : one.notes)
        if (one.code == "O0901" && note.find(why) != std::string::npos) return true;
  }
  return false;
}

TEST(TextTypes, AreReadOrHaveAReason) {
  ASSERT_GT(rows().size(), 300U);
  std::set<std::string> listed;
  for (const Row& row : rows()) {
    listed.insert(row.type);
    SCOPED_TRACE(row.type);
    const std::string_view why = why_unread(row.type);
    if (const auto refused = refused_values().find(row.type); refused != refused_values().end()) {
      try {
        read_config(base::source(row.config), {.outside = Outside::kPassed});
        ADD_FAILURE() << "it is read";
      } catch (const base::InputError& error) {
        EXPECT_TRUE(std::any_of(error.diagnostics.begin(), error.diagnostics.end(),
                                [&](const base::Diagnostic& one) { return one.code == refused->second; }));
      }
    } else {
      EXPECT_NE(read_rows().contains(row.type), !why.empty());
      if (!why.empty() && !row.config.empty()) EXPECT_TRUE(says(row, std::string(why)));
    }
  }
  for (const UnreadTypes& one : unread_types())
    for (const std::string_view type : one.types)
      EXPECT_TRUE(listed.contains(std::string(type)) || type.ends_with("_text") || type.ends_with("_text_model"))
          << type << " is none of transformers' types";
}

TEST(TextTypes, HaveTheParametersOfTheirClasses) {
  // The class has rows for experts without weights; files have none.
  const std::set<std::string> others = {"longcat_flash"};
  for (const Row& row : rows())
    if (const auto model = read_rows().find(row.type);
        model != read_rows().end() && row.parameters > 0 && !others.contains(row.type))
      EXPECT_EQ(static_cast<double>(workload::parameters(model->second).total), row.parameters) << row.type;
}

// Whether PyTorch's count is that of the layers: programs of recurrences make products of scans, Llama 4's class runs
// every token through every expert, DeepSeek-V4's attends to entries that it joins as it goes, and sums of streams are
// half a percent of layers that are 60 wide.
bool counts(const Row& row, const workload::Transformer& model) {
  const std::set<std::string> others = {"llama4", "llama4_text", "deepseek_v4", "hy_v4 varied"};
  if (row.flop == 0 || others.contains(row.type)) return false;
  for (const workload::Block& block : model.decoder().kinds)
    if (const workload::Recurrence* r = workload::recurrence_of(block);
        r != nullptr && r->kind != workload::Recurrence::Kind::kConvolution)
      return false;
  return true;
}

// DeepSeek-V4's cache holds single tokens of a window besides.
bool caches(const Row& row) {
  return row.cache >= 0 && row.type != "deepseek_v4";
}

TEST(TextTypes, HaveTheFlopThatPyTorchCounts) {
  int counted = 0;
  for (const Row& row : rows()) {
    const auto model = read_rows().find(row.type);
    if (model == read_rows().end() || !counts(row, model->second)) continue;
    const workload::ForwardFlop flop = workload::forward_flop(model->second, kTokens);
    EXPECT_NEAR((flop.products + flop.attention) / static_cast<double>(flop.tokens) / row.flop, 1, 0.002) << row.type;
    ++counted;
  }
  EXPECT_GT(counted, 100);
}

TEST(TextTypes, HaveTheCachesOfTheirClasses) {
  int counted = 0;
  for (const Row& row : rows()) {
    const auto model = read_rows().find(row.type);
    if (model == read_rows().end() || !caches(row)) continue;
    EXPECT_EQ(static_cast<double>(workload::cache_elements(model->second)), row.cache) << row.type;
    ++counted;
  }
  EXPECT_GT(counted, 100);
}

// What the page says of them; ORRERY_ACCEPT=1 writes it.
std::string section() {
  std::string out;
  for (const UnreadTypes& one : unread_types()) {
    std::vector<std::string> types;
    for (const std::string_view type : one.types) types.push_back(fmt::format("`{}`", type));
    out += fmt::format("| {} | {} |\n", base::joined(types, ", "), one.why);
  }
  int all = 0, understood = 0, flop = 0, cached = 0;
  for (const Row& row : rows()) {
    if (row.type.ends_with(" varied")) continue;
    ++all;
    const auto model = read_rows().find(row.type);
    if (model == read_rows().end()) continue;
    ++understood;
    flop += counts(row, model->second) ? 1 : 0;
    cached += caches(row) ? 1 : 0;
  }
  return fmt::format(
      "Of {} types that transformers 5.24 generates text with, {} are read: at their classes' own sizes their "
      "language\n"
      "models have the classes' parameters (but for `longcat_flash`, above), the FLOP of 512 tokens that PyTorch "
      "counts\n"
      "(of {}; within 0.2 %) and the caches that the classes fill (of {}). Of others the class's own values are "
      "refused:\n"
      "of `m2m_100`, `paligemma`, `encoder-decoder` and `vision-encoder-decoder`\n"
      "([O0917](../catalog/errors/O0917.md): layers that are dropped, tokens that see later ones, a second sequence), "
      "of\n"
      "`gemma4_unified_assistant` ([O0922](../catalog/errors/O0922.md): all its layers use the keys of another model) "
      "and\n"
      "of `qwen3_omni_moe_thinker` ([O0911](../catalog/errors/O0911.md)). Not understood, and refused with the reason\n"
      "([O0901](../catalog/errors/O0901.md)):\n\n"
      "| types | what no kind of layer here says |\n|---|---|\n{}",
      all, understood, flop, cached, out);
}

TEST(TextTypes, StandOnThePage) {
  const std::string begin = "<!-- types: written by text_types_test.cc -->\n", end = "<!-- types end -->\n";
  std::stringstream all;
  all << std::ifstream(kPage).rdbuf();
  std::string page = all.str();
  const std::size_t from = page.find(begin), to = page.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  const std::size_t at = from + begin.size();
  if (std::getenv("ORRERY_ACCEPT") != nullptr) {
    page.replace(at, to - at, section());
    std::ofstream(kPage) << page;
    return;
  }
  EXPECT_EQ(page.substr(at, to - at), section());
}

}  // namespace
}  // namespace orrery::formats::huggingface
