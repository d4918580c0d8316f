#include "orrery/scenario/checkpoint_model.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/text_file.h"
#include "orrery/formats/huggingface/networks/weight_names.h"
#include "orrery/formats/tokenizer/reader.h"

namespace orrery::scenario {
namespace {

namespace fs = std::filesystem;
namespace hf = formats::huggingface;

// The special tokens by the names that the families give them.
constexpr const char* kSpecial[] = {"[PAD]", "[UNK]", "[CLS]",  "[SEP]", "[MASK]", "<s>",          "<pad>",
                                    "</s>",  "<unk>", "<mask>", "<cls>", "<sep>",  "<|endoftext|>"};

void check_tokenizer(const CheckpointModel& made, base::Diagnostics& found) {
  const model::Index words = made.runnable.description.embedding.words;
  const auto size = static_cast<model::Index>(made.tokenizer->vocabulary().size());
  if (size > words)
    found.error("O1648", fmt::format("the tokenizer of `{}` has {} tokens, and the model {}", made.folder, size, words))
        .hint("are both of the same model?");
}

}  // namespace

std::size_t CheckpointModel::most_tokens() const {
  const model::EmbeddingShape& shape = runnable.description.embedding;
  return static_cast<std::size_t>(shape.positions - shape.first_position);
}

std::size_t CheckpointModel::tokens_of(std::optional<base::Count> asked, std::size_t usual) const {
  const std::size_t most = most_tokens();
  if (!asked) return std::min({most, usual, tokenizer->most_tokens().value_or(usual)});
  if (static_cast<std::size_t>(*asked) > most)
    base::fail("O1654", fmt::format("--max-tokens {} is more than the {} that the model takes", *asked, most));
  return static_cast<std::size_t>(*asked);
}

CheckpointModel open_checkpoint(const std::string& folder, const hf::HeadChoice& head, kernels::Type type,
                                std::uint64_t seed) {
  CheckpointModel made;
  made.folder = folder;
  const auto config = base::read_file((fs::path(folder) / "config.json").string());
  made.inputs.push_back(base::file_input(*config));
  made.runnable = hf::read_runnable(config, head);
  made.warnings = made.runnable.diagnostics;
  model::Description& d = made.runnable.description;
  d.encoder.layer.type = d.decoder.layer.type = type;
  model::checked(d).throw_if_errors();
  made.checkpoint = formats::checkpoint::read_checkpoint(folder, made.warnings);
  made.parameters = model::Parameters(d);
  model::initialise_head(made.parameters, d, seed);
  made.fresh = hf::load(made.checkpoint, made.runnable, made.parameters, made.warnings).fresh;
  made.tokenizer.emplace(formats::tokenizer::read_tokenizer(folder, made.warnings));
  base::Diagnostics found;
  check_tokenizer(made, found);
  found.throw_if_errors();

  made.rules.pad = made.runnable.pad;
  made.rules.decoder_begin = made.runnable.begin.value_or(0);
  for (const char* const name : kSpecial)
    if (const auto id = made.tokenizer->find(name)) made.rules.special.push_back(*id);
  for (const char* const name : {"[MASK]", "<mask>"})
    if (const auto id = made.tokenizer->find(name)) made.rules.mask = *id;
  return made;
}

}  // namespace orrery::scenario
