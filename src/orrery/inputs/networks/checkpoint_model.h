// A model's folder, ready to run: config.json, weights, tokenizer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/formats/checkpoint/checkpoint.h"
#include "orrery/formats/huggingface/networks/network_reader.h"
#include "orrery/formats/tokenizer/tokenizer.h"
#include "orrery/runtime/kernels/types.h"
#include "orrery/runtime/network/examples.h"
#include "orrery/runtime/network/parameters.h"

namespace orrery::verbs {

struct CheckpointModel {
  std::string folder;
  formats::huggingface::RunnableModel runnable;
  formats::checkpoint::Checkpoint checkpoint;
  network::Parameters parameters{network::Description{}};
  std::optional<formats::tokenizer::Tokenizer> tokenizer;
  std::vector<std::string> fresh;  // weights of the head that the checkpoint lacks: initialised
  network::BatchRules rules;
  // Keys of config.json, with their values as JSON, and files beside it that a folder with this model has, too.
  std::vector<std::pair<std::string, std::string>> added_keys, added_files;
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;

  // The most tokens that the model takes.
  std::size_t most_tokens() const;
  // Those that texts are cut to: as `asked`, or `usual`, or less where the tokenizer or the model says so. Throws
  // InputError (O1654) where more are asked for than the model takes.
  std::size_t tokens_of(std::optional<base::Count> asked, std::size_t usual) const;
};

// Throws InputError with what the readers find; O1648 where the tokenizer and the model do not fit. Weights of a head
// that the checkpoint lacks are drawn with `seed`.
CheckpointModel open_checkpoint(const std::string& folder, const formats::huggingface::HeadChoice& head,
                                kernels::Type type, std::uint64_t seed);

}  // namespace orrery::verbs
