// Families of decoders as documents: which keys of a config.json hold which sizes, and what their absence means.
// docs/families.md is the format; those that are built in stand in catalog/families/, and `--like FILE.yaml` reads one
// of the user's own.
//
//   types:
//     arcee: {hidden_size: 2560, num_hidden_layers: 32}   # what its class has where a nested file says nothing
//   attention: {kv_heads: {absent: 32}, bias: attention_bias}
//   network: {gated: false, bias: mlp_bias}
//
// What a document cannot say: mixers that are no attention, latent attention, matrices of a family's own, layers whose
// heads or widths differ. Those families are functions (families.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/text/text_file.h"
#include "orrery/formats/huggingface/families/registry.h"

namespace orrery::formats::huggingface {

// The types of a document. Throws InputError: O0939, and what yaml::parse throws.
std::vector<Family> read_families(const std::shared_ptr<const base::SourceFile>& document);
// The same, read once for the program.
const std::vector<Family>& families_of(const std::shared_ptr<const base::SourceFile>& document);

// A built-in family's; null where no document has the type. Reads the one document that it stands in.
const Family* described_family(std::string_view model_type);
// The types of the built-in documents, in the order of their files.
std::vector<std::string> described_types();

// Every rule of the document on the keys of a config.json; what is wrong with the document is O0939.
void read_described(const Family& family, Reading& r);

// O0939: what is wrong with a document, and the way out where there is one.
void wrong_family(base::Diagnostics& found, const base::Location& where, std::string what, std::string way = {});

}  // namespace orrery::formats::huggingface
