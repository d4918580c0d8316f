// Answers of `sparse pack`: a table, the JSON document "orrery.sparse_pack/1" and the files of -o.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/masks/pack_array.h"
#include "orrery/inputs/output_file.h"
#include "orrery/present/answer.h"
#include "orrery/verbs/sparse/pack/run.h"

namespace orrery::verbs {

Document<SparsePack> sparse_pack_document();
std::string sparse_pack_table(const SparsePack& answer);

// control_words.npy (uint8 [blocks, PE rows, PEs, 5]: c1 and c2 while scores are computed, c1 and c2 while values are,
// c4) and blocks.json (what stands where, and the phases with c3 and c5). Throws InputError O1839 where a code does not
// fit a byte.
std::vector<OutputFile> sparse_pack_files(const SparsePack& answer);

// A scheme's figures, without its name.
Record<masks::PackedScheme> packed_scheme();

}  // namespace orrery::verbs
