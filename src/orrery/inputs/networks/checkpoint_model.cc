#include "orrery/inputs/networks/checkpoint_model.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/text/text_file.h"
#include "orrery/formats/huggingface/networks/weight_names.h"
#include "orrery/formats/tokenizer/tokenizer_reader.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;
namespace hf = formats::huggingface;

// The special tokens by the names that the families give them.
constexpr const char* kSpecial[] = {"[PAD]", "[UNK]", "[CLS]",  "[SEP]", "[MASK]", "<s>",          "<pad>",
                                    "</s>",  "<unk>", "<mask>", "<cls>", "<sep>",  "<|endoftext|>"};

void check_tokenizer(const CheckpointModel& made, base::Diagnostics& found) {
  const network::Index words = made.runnable.description.embedding.words;
  const auto size = static_cast<network::Index>(made.tokenizer->vocabulary().size());
  if (size > words)
    found.error("O1648", fmt::format("the tokenizer of `{}` has {} tokens, and the model {}", made.folder, size, words))
        .hint("are both of the same model?");
}

// Sizes of config.json are believed as far as the weights bear them out: memory is not asked for before.
void check_size(const CheckpointModel& made, const std::shared_ptr<const base::SourceFile>& config) {
  constexpr double kFew = 1 << 20, kTimes = 4;  // a checkpoint that lacks some is told which
  double held = 0, bytes = 0;
  for (const formats::checkpoint::Tensor& tensor : made.checkpoint.tensors)
    held += static_cast<double>(tensor.bytes.size() / size_of(tensor.element));
  std::error_code ignored;
  for (const std::string& file : made.checkpoint.files) bytes += static_cast<double>(fs::file_size(file, ignored));
  held = std::min(held, bytes / 2);  // many tensors may be views of one storage
  const double needed = network::matrix_numbers(made.runnable.description);
  if (needed <= kTimes * held + kFew) return;
  base::Diagnostics found;
  found
      .error("O1660",
             fmt::format("the sizes make a model of {:.0f} numbers, and the checkpoint holds {:.0f}", needed, held),
             {config, 0, 0})
      .hint("is this the config.json of that checkpoint?");
  found.throw_if_errors();
}

}  // namespace

std::size_t CheckpointModel::most_tokens() const {
  const network::EmbeddingShape& shape = runnable.description.embedding;
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
  network::Description& d = made.runnable.description;
  d.encoder.layer.type = d.decoder.layer.type = type;
  network::checked(d).throw_if_errors();
  made.checkpoint = formats::checkpoint::read_checkpoint(folder, made.warnings);
  check_size(made, config);
  made.parameters = network::Parameters(d);
  network::initialise_head(made.parameters, d, seed);
  made.fresh = hf::load(made.checkpoint, made.runnable, made.parameters, made.warnings).fresh;
  made.tokenizer.emplace(formats::tokenizer::read_tokenizer(folder, made.warnings));
  base::Diagnostics found;
  check_tokenizer(made, found);
  found.throw_if_errors();

  // What stands in a padding's place is not read, so that any word of the table will do.
  made.rules.pad = made.runnable.pad < d.embedding.words ? made.runnable.pad : 0;
  made.rules.decoder_begin = made.runnable.begin.value_or(0);
  for (const char* const name : kSpecial)
    if (const auto id = made.tokenizer->find(name)) made.rules.special.push_back(*id);
  for (const std::int32_t id : made.tokenizer->special()) made.rules.special.push_back(id);
  made.rules.mask = made.tokenizer->mask().value_or(-1);
  return made;
}

}  // namespace orrery::verbs
