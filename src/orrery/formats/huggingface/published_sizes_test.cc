// The catalogue's models have as many parameters as their papers print, so that a slip in a figure shows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/formats/huggingface/huggingface_config.h"

namespace orrery::formats::huggingface {
namespace {

// What the paper or the model's card prints, or the count of the checkpoint where that is finer.
struct PublishedSize {
  std::string name;
  std::string total = {};
  std::string bare = {};                // without tables and output matrix
  std::string active = {};              // in a token's path
  std::string active_less_tokens = {};  // without the table of tokens, of which a token reads a row
  double images = 0;                    // of the total, in the part that reads images, which is no entry's
};

const PublishedSize kPublished[] = {
    {.name = "bert-base", .total = "0.11B"},
    {.name = "bert-large", .total = "0.34B"},
    {.name = "deepseek-v3", .total = "671B", .active = "37B"},
    {.name = "gemma3-1b", .bare = "698M"},
    {.name = "gemma3-4b", .bare = "3209M"},
    {.name = "gemma3-12b", .bare = "10759M"},
    {.name = "gemma3-27b", .total = "27.0B", .bare = "25600M"},
    {.name = "gpt-oss-20b", .total = "20.91B", .active_less_tokens = "3.61B"},
    {.name = "gpt-oss-120b", .total = "116.83B", .active_less_tokens = "5.13B"},
    {.name = "gpt2-small", .total = "124M"},
    {.name = "gpt2-medium", .total = "355M"},
    {.name = "gpt2-large", .total = "774M"},
    {.name = "gpt2-xl", .total = "1558M"},
    {.name = "gpt3-6.7b", .total = "6.7B"},
    {.name = "gpt3-175b", .total = "175B"},
    {.name = "kimi-k2", .total = "1.03T", .active_less_tokens = "32B"},
    {.name = "llama2-7b", .total = "6.7B"},
    {.name = "llama2-70b", .total = "69.0B"},
    {.name = "llama3-8b", .total = "8.03B"},
    {.name = "llama3-70b", .total = "70.6B"},
    {.name = "llama3-405b", .total = "405B"},
    {.name = "llama3.1-8b", .total = "8.03B"},
    {.name = "llama3.1-70b", .total = "70.6B"},
    {.name = "llama3.1-405b", .total = "405B"},
    {.name = "llama3.3-70b", .total = "70.6B"},
    {.name = "llama4-scout", .total = "108.6B", .active = "17B", .images = 0.87e9},
    {.name = "llama4-maverick", .total = "401.6B", .active = "17B", .images = 0.87e9},
    {.name = "mamba2-2.7b", .total = "2.7B"},
    {.name = "megatron-1.7b", .total = "1.7B"},
    {.name = "megatron-3.6b", .total = "3.6B"},
    {.name = "megatron-7.5b", .total = "7.5B"},
    {.name = "megatron-18.4b", .total = "18.4B"},
    {.name = "megatron-39.1b", .total = "39.1B"},
    {.name = "megatron-76.1b", .total = "76.1B"},
    {.name = "megatron-145.6b", .total = "145.6B"},
    {.name = "megatron-310.1b", .total = "310.1B"},
    {.name = "megatron-529.6b", .total = "529.6B"},
    {.name = "megatron-1t", .total = "1008.0B"},
    {.name = "mimo-v2-flash", .total = "309B", .active = "15B"},
    {.name = "minimax-m2.5", .total = "229B", .active_less_tokens = "10B"},
    {.name = "mistral-7b-v0.1", .total = "7.24B"},
    {.name = "mistral-7b-v0.3", .total = "7.25B"},
    {.name = "mistral-small-3.1-24b", .total = "23.6B"},
    {.name = "mixtral-8x7b", .total = "46.7B", .active = "12.9B"},
    {.name = "mt-nlg-530b", .total = "530B"},
    {.name = "nemotron4-15b", .bare = "12.5B"},
    {.name = "nemotron4-340b", .bare = "331.6B"},
    {.name = "nemotron3-nano-30b-a3b", .total = "31.6B", .active = "3.6B"},
    {.name = "phi-4", .total = "14.7B"},
    {.name = "qwen1.5-7b", .total = "7.72B"},
    {.name = "qwen2.5-7b", .total = "7.61B", .bare = "6.53B"},
    {.name = "qwen2.5-72b", .total = "72.7B"},
    {.name = "qwen3-8b", .total = "8.19B", .bare = "6.95B"},
    {.name = "qwen3-32b", .total = "32.8B", .bare = "31.2B"},
    {.name = "qwen3-30b-a3b", .total = "30.5B", .bare = "29.9B", .active = "3.3B"},
    {.name = "qwen3-235b-a22b", .total = "235B", .bare = "234B", .active = "22B"},
    {.name = "qwen3-vl-32b", .total = "33B", .images = 0.595e9},
    {.name = "qwen3.5-27b", .total = "27B", .images = 0.461e9},
    {.name = "qwen3.5-35b-a3b", .total = "35B", .active = "3B", .images = 0.446e9},
    {.name = "qwen3.5-122b-a10b", .total = "122B", .active = "10B", .images = 0.451e9},
    {.name = "qwen3.5-397b-a17b", .total = "397B", .active = "17B", .images = 0.456e9},
    {.name = "qwen3-0.6b", .total = "0.6B"},
    {.name = "qwen3-1.7b", .total = "1.7B"},
    {.name = "qwen3-coder-480b-a35b", .total = "480B", .active = "35B"},
    {.name = "qwen3-vl-2b", .total = "2B", .images = 0.407e9},
    {.name = "qwen3-vl-4b", .total = "4B", .images = 0.415e9},
    {.name = "qwen3-vl-8b", .total = "8B", .images = 0.576e9},
    {.name = "qwen3-vl-30b-a3b", .total = "31B", .active = "3B", .images = 0.539e9},
    {.name = "qwen3-vl-235b-a22b", .total = "235B", .active = "22B", .images = 0.576e9},
    {.name = "qwen3.6-27b", .total = "27B", .images = 0.461e9},
    {.name = "qwen3.6-35b-a3b", .total = "35B", .active = "3B", .images = 0.446e9},
    {.name = "mimo-7b", .total = "7B"},
    {.name = "deepseek-v3.2", .total = "671B", .active_less_tokens = "37B"},
    {.name = "deepseek-v4-flash", .total = "284B", .active = "13B"},
    {.name = "deepseek-v4-pro", .total = "1.6T", .active = "49B"},
    {.name = "gemma4-e2b", .total = "5.1B", .images = 0.45e9},  // and in the part that hears
    {.name = "gemma4-e4b", .total = "8B", .images = 0.45e9},
    {.name = "gemma4-26b-a4b", .total = "25.2B", .active = "3.8B"},
    {.name = "gemma4-31b", .total = "30.7B"},
    {.name = "mixtral-8x22b", .total = "141B", .active = "39B"},
    {.name = "kimi-k2.5", .total = "1.03T", .active_less_tokens = "32B"},
    {.name = "glm-5", .total = "744B", .active_less_tokens = "40B"},
    {.name = "glm-5.2", .total = "743.4B"},
    {.name = "minimax-m2.7", .total = "229B", .active_less_tokens = "10B"},
    {.name = "nemotron3-super-120b-a12b", .total = "120B", .active = "12B"},
    {.name = "nemotron3-ultra-550b-a55b", .total = "549.3B", .active_less_tokens = "55B"},
    {.name = "nemotron-h-56b", .total = "56B"},
    {.name = "llama3.3-nemotron-super-49b", .total = "49.9B"},
    {.name = "step-3.7-flash", .total = "196B", .active = "11B"},
};

// To the last digit that is printed, rounded or cut.
void expect_printed(const std::string& text, double counted, const char* what) {
  if (text.empty()) return;
  const double factor = text.back() == 'T' ? 1e12 : text.back() == 'B' ? 1e9 : 1e6;
  const std::size_t point = text.find('.');
  const std::size_t decimals = point == std::string::npos ? 0 : text.size() - 2 - point;
  const double printed = std::stod(text) * factor, digit = factor * std::pow(10, -static_cast<double>(decimals));
  EXPECT_TRUE(counted >= printed - digit / 2 && counted < printed + digit)
      << fmt::format("{}: {} printed, {:.0f} counted", what, text, counted);
}

workload::Parameters counted(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  const ConfigDocument read = read_config(base::source(text.str(), file.string()), {Strictness::kCatalogue});
  EXPECT_EQ(read.transformer.name, file.stem());
  return workload::parameters(read.transformer);
}

TEST(PublishedSizes, AreThoseOfTheCatalogue) {
  const std::filesystem::path directory = std::filesystem::path(ORRERY_SOURCE_DIR) / "catalog/models";
  std::set<std::string> entries, known;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) entries.insert(entry.path().stem());
  for (const PublishedSize& model : kPublished) {
    SCOPED_TRACE(model.name);
    known.insert(model.name);
    const workload::Parameters p = counted(directory / (model.name + ".json"));
    const auto total = static_cast<double>(p.total), active = static_cast<double>(p.active);
    const auto tables = static_cast<double>(p.embedding), head = static_cast<double>(p.head);
    expect_printed(model.total, total + model.images, "all");
    expect_printed(model.bare, total - tables - head, "without tables");
    expect_printed(model.active, active, "active");
    expect_printed(model.active_less_tokens, active - tables, "active, without the table of tokens");
  }
  EXPECT_EQ(entries, known);
}

}  // namespace
}  // namespace orrery::formats::huggingface
