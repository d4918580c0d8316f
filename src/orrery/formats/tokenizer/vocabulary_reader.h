// Vocabularies and merges as they are written in every kind of file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/formats/json/json_document.h"
#include "orrery/formats/tokenizer/tokenizer_reader.h"

namespace orrery::formats::tokenizer {

// An object of tokens and ids. Adds O1621 to `found` where an id is none, or a token or an id stands twice.
std::shared_ptr<Vocabulary> read_vocabulary(const json::Node& object, base::Diagnostics& found);

// A token for each line, numbered from 0. Adds O1621.
std::shared_ptr<Vocabulary> read_vocabulary_lines(const File& file, base::Diagnostics& found);

// What a merge makes of two tokens; adds O1622 where one of the three is not in the vocabulary.
std::optional<Merge> merge_of(const std::string& left, const std::string& right, const Vocabulary& vocabulary,
                              const base::Location& where, base::Diagnostics& found);

// "left right": adds O1622 where it is something else.
std::optional<Merge> merge_line(std::string_view line, const Vocabulary& vocabulary, const base::Location& where,
                                base::Diagnostics& found);

// Adds the warning O1627 where bytes have no token.
void check_bytes(const Vocabulary& vocabulary, const base::Location& where, base::Diagnostics& warnings);

}  // namespace orrery::formats::tokenizer
