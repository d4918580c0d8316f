// The catalogue: chips and models that Orrery knows by name.
//
// A chip is a Timeloop v4 file with one more top-level key, `orrery`, that says what the file is and
// where its figures come from. A model is a Hugging Face config.json. Both may also be the user's own
// file: wherever a NAME stands, a path may stand.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/describe/workload/transformer.h"
#include "orrery/describe/workload/transformer_operators.h"
#include "orrery/formats/huggingface/huggingface_config.h"
#include "orrery/formats/orrery/entry.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::verbs {

using formats::orrery::Entry;
using formats::orrery::FigureSource;

// A chip's document, ready for formats::timeloop::Documents::gather({file}, ...).
struct ChipFile {
  Entry entry;
  std::shared_ptr<const base::SourceFile> file;
  std::vector<formats::yaml::Node> parsed;  // the file; empty where that gave a diagnostic
  // The chip on which softmax and layernorm run, as Timeloop-Experiments splits them; null: this one.
  std::shared_ptr<const ChipFile> normalisation;
  base::Diagnostics diagnostics;  // warnings

  // The document that runs operators of a role.
  const ChipFile& for_role(workload::OperatorRole role) const;
};

struct ModelFile {
  Entry entry;
  std::shared_ptr<const base::SourceFile> file;
  workload::Transformer transformer;
  formats::huggingface::StoredWeights weights;
  base::Diagnostics diagnostics;  // warnings
  // "--ignore KEY" and a hash of what the file says there, for the inputs of an answer.
  std::vector<base::Input> ignored;
};

// The directory that holds `chips` and `models`: environment variable ORRERY_CATALOG, else
// ../share/orrery/catalog beside the executable's directory, else, of an executable in the build folder, the checkout
// that is built there. Throws InputError O1110 naming the places tried.
std::string catalogue_directory();

// A path, where names stand, too: it has a `/`, or one of the suffixes .yaml, .yml, .json.
bool names_a_file(const std::string& text);

// Every entry, sorted by name. Throws InputError when an entry is broken.
std::vector<Entry> list_chips(const std::string& directory);
std::vector<Entry> list_models(const std::string& directory);
std::vector<Entry> list_systems(const std::string& directory);
std::vector<Entry> list_stacks(const std::string& directory);

// By catalogue name, or by path when the text names a file (it has a `/` or a suffix .yaml, .yml,
// .json). Throws InputError: O1111 (chip) and O1112 (model) for unknown names, with the nearest name and
// the list; O0100 for unreadable files; O1113 to O1115 for a broken `orrery` block.
ChipFile load_chip(const std::string& directory, const std::string& name_or_path, bool with_normalisation = true);
//
// Of a model, `ignored` keys of its config.json are left out of account (O0919), and `outside`
// says what becomes of keys of what is around its blocks.
struct ModelUse {
  std::vector<std::string> ignored = {};
  formats::huggingface::Outside outside = formats::huggingface::Outside::kRefused;
  std::string like = {};                  // read a config.json as one of this `model_type`; empty: as its own
  std::optional<base::Count> ahead = {};  // as formats::huggingface::ReadOptions::ahead
  bool ahead_apart = false;
};
ModelFile load_model(const std::string& directory, const std::string& name_or_path, const ModelUse& use = {});

}  // namespace orrery::verbs
