// Tokenizers from the files that models come with.
#pragma once

#include <memory>
#include <string>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/tokenizer/tokenizer.h"

namespace orrery::formats::tokenizer {

// From a model's folder, by `tokenizer.json`, `vocab.txt`, `vocab.json` with `merges.txt`, `spiece.model` or
// `tokenizer.model`, the first that is there, or from one of these files. Throws InputError: O0100, O0103, O0104 (a
// file), O1620 (none in the folder), O1621 (vocabularies), O1622 (merges), O1623, O1624 (tokenizer.json), O1629, O1630
// (SentencePiece). Adds the warnings O1627 (what is not applied).
Tokenizer read_tokenizer(const std::string& path, base::Diagnostics& warnings);

using File = std::shared_ptr<const base::SourceFile>;

// The same from texts; `config` (tokenizer_config.json) may be null.
Tokenizer read_word_piece(const File& vocabulary, const File& config, base::Diagnostics& warnings);
Tokenizer read_byte_pairs(const File& vocabulary, const File& merges, const File& config, base::Diagnostics& warnings);
Tokenizer read_tokenizer_json(const File& file, const File& config, base::Diagnostics& warnings);

// A model of SentencePiece; the second from its file and the tokenizer_config.json beside it.
Tokenizer read_sentence_piece(const std::string& name, std::string_view bytes, const File& config,
                              base::Diagnostics& warnings);
Tokenizer read_sentence_piece(const std::string& path, base::Diagnostics& warnings);

// Null where there is none.
File optional_file(const std::string& path);

}  // namespace orrery::formats::tokenizer
