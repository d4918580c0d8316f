// The catalogue's models are those of their papers.
#include "orrery/formats/huggingface/huggingface_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <source_dir.h>

#include "orrery/formats/huggingface/config_test_util.h"

namespace orrery::formats::huggingface {
namespace {

using base::source;

TEST(CatalogueModels, DeepSeekV3HasItsExpertsAndItsLatents) {
  std::stringstream text;
  text << std::ifstream(std::string(ORRERY_SOURCE_DIR) + "/catalog/models/deepseek-v3.json").rdbuf();
  const workload::Transformer model = read_config(source(text.str()), {Strictness::kCatalogue}).transformer;
  const workload::Experts& experts = experts_of(model);
  const workload::Attention& attention = attention_of(model);
  ASSERT_TRUE(attention.latent);
  EXPECT_EQ(experts.count, 256);
  EXPECT_EQ(experts.top_k, 8);
  EXPECT_EQ(experts.expert.inner, 2048);
  EXPECT_EQ(experts.shared, 1);
  EXPECT_EQ(std::count(model.decoder().layers.begin(), model.decoder().layers.end(), 0), 3) << "dense layers";
  EXPECT_EQ(attention.latent->q_rank, 1536);
  EXPECT_EQ(attention.latent->kv_rank, 512);
  EXPECT_EQ(attention.width, 192) << "of queries and keys: with and without position";
  EXPECT_EQ(model.training_sequence, 4096);
}

struct Published {
  const char* name;
  base::Count hidden, layers, heads, kv_heads, head_dim, feed_forward;
  double parameters;  // of the blocks' matrices
};

TEST(CatalogueModels, EachEntryIsStrictAndHasItsPublishedSize) {
  const std::vector<Published> published = {
      {"bert-base", 768, 12, 12, 12, 64, 3072, 85e6},
      {"bert-large", 1024, 24, 16, 16, 64, 4096, 302e6},
      {"gpt2-small", 768, 12, 12, 12, 64, 3072, 85e6},
      {"gpt2-medium", 1024, 24, 16, 16, 64, 4096, 302e6},
      {"gpt2-large", 1280, 36, 20, 20, 64, 5120, 708e6},
      {"gpt2-xl", 1600, 48, 25, 25, 64, 6400, 1.475e9},
      {"gpt3-6.7b", 4096, 32, 32, 32, 128, 16384, 6.44e9},
      {"gpt3-175b", 12288, 96, 96, 96, 128, 49152, 174e9},
      {"llama3-8b", 4096, 32, 32, 8, 128, 14336, 6.98e9},
      {"llama3-70b", 8192, 80, 64, 8, 128, 28672, 68.5e9},
      {"llama3-405b", 16384, 126, 128, 8, 128, 53248, 401.6e9},
      {"megatron-1.7b", 2304, 24, 24, 24, 96, 9216, 1.529e9},
      {"megatron-3.6b", 3072, 30, 32, 32, 96, 12288, 3.397e9},
      {"megatron-7.5b", 4096, 36, 32, 32, 128, 16384, 7.248e9},
      {"megatron-18.4b", 6144, 40, 48, 48, 128, 24576, 18.12e9},
      {"megatron-39.1b", 8192, 48, 64, 64, 128, 32768, 38.65e9},
      {"megatron-76.1b", 10240, 60, 80, 80, 128, 40960, 75.5e9},
      {"megatron-145.6b", 12288, 80, 96, 96, 128, 49152, 145e9},
      {"megatron-310.1b", 16384, 96, 128, 128, 128, 65536, 309.2e9},
      {"megatron-529.6b", 20480, 105, 128, 128, 160, 81920, 528.5e9},
      {"megatron-1t", 25600, 128, 160, 160, 160, 102400, 1007e9},
      {"mt-nlg-530b", 20480, 105, 128, 128, 160, 81920, 528.5e9},
      {"nemotron4-15b", 6144, 32, 48, 8, 128, 24576, 12.5e9},
      {"nemotron4-340b", 18432, 96, 96, 8, 192, 73728, 331.6e9},
  };
  const std::filesystem::path directory = std::filesystem::path(ORRERY_SOURCE_DIR) / "catalog/models";
  for (const Published& model : published) {
    SCOPED_TRACE(model.name);
    std::stringstream text;
    text << std::ifstream(directory / (std::string(model.name) + ".json")).rdbuf();
    const ConfigDocument read = read_config(source(text.str(), model.name), {Strictness::kCatalogue});
    const workload::Transformer& t = read.transformer;
    const workload::Attention& a = attention_of(t);
    const workload::FeedForward& f = feed_forward_of(t);
    const auto layers = static_cast<base::Count>(t.decoder().layers.size());
    EXPECT_EQ(t.name, model.name);
    EXPECT_EQ(t.decoder().width, model.hidden);
    EXPECT_EQ(layers, model.layers);
    EXPECT_EQ(a.heads, model.heads);
    EXPECT_EQ(a.kv_heads, model.kv_heads);
    EXPECT_EQ(a.width, model.head_dim);
    EXPECT_EQ(f.inner, model.feed_forward);
    base::Count matrices = 0;
    for (const workload::Projection& p : workload::projections(t.decoder().kinds.front(), model.hidden))
      matrices += p.in * p.out;
    EXPECT_NEAR(static_cast<double>(layers * matrices), model.parameters, 0.005 * model.parameters);
  }
}

}  // namespace
}  // namespace orrery::formats::huggingface
