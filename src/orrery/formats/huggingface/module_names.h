// Names of a model's modules, and the patterns that pick some of them: what quantised files list as left unconverted.
//
// A module is known by what its name has behind the number of its layer, `self_attn.q_proj`, since the part before it
// (`model.layers.`, `language_model.model.layers.`, `transformer.h.`) tells only where the stack hangs. Families name
// the same matrix differently, so that a module has several names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::formats::huggingface {

// One matrix. Of experts, `*` stands for the number.
struct ModuleName {
  bool tower = false;                     // of what reads no text
  std::optional<base::Count> layer;       // nothing: around the layers
  std::vector<std::string> names;         // any of them
  std::optional<base::Count> ahead = {};  // it predicts ahead: behind the last layer, the first being 0
};

// A name, or part of one between dots (`mlp.gate` picks `model.layers.3.mlp.gate`, not `mlp.gate_proj`), in which `*`
// stands for any bytes, dots among them (`model.layers.*.self_attn`, `model.layers.1*`, which is 1 and 10 to 19), or an
// expression (`re:.*mlp.gate$`), which must match from the start of the name.
class ModulePattern {
 public:
  explicit ModulePattern(std::string_view text);

  const std::string& text() const { return text_; }
  // False: an expression with more than literals, `.`, `.*`, `\d+`, `\.`, classes, `^`, `$` and alternatives.
  bool understood() const { return understood_; }
  // The layer that it names; nothing where it may pick from several.
  std::optional<base::Count> layer() const { return layer_; }
  bool of_tower() const { return tower_; }
  // Of layers that predict tokens beyond the next (`mtp.layers.0`).
  bool of_prediction() const { return prediction_; }
  // Whether it must be asked layer by layer, though it names none.
  bool asks_layers() const { return asks_layers_; }
  bool names_layer(base::Count layer) const;
  bool picks(const ModuleName& module) const;

 private:
  struct Atom {
    std::string set;  // bytes that it takes; empty: any
    bool negated = false;
    bool optional = false, repeated = false;
  };
  using Sequence = std::vector<Atom>;

  void read_name();
  bool read_room(std::size_t at);
  void read_expression(std::string_view expression);
  bool picks_name(const ModuleName& module) const;
  bool picks_ahead(const ModuleName& module) const;
  static bool begins(const Sequence& sequence, bool to_the_end, std::string_view name);

  std::string text_;
  bool expression_ = false, understood_ = true, asks_layers_ = false;
  bool tower_ = false, projector_ = false, text_only_ = false, prediction_ = false;
  std::optional<base::Count> layer_;
  std::string layers_;                                   // the layer with `*`; empty: as `layer_` says
  std::vector<std::string> parts_;                       // of a name, behind the layer
  std::vector<std::pair<Sequence, bool>> alternatives_;  // each with whether `$` ends it
};

}  // namespace orrery::formats::huggingface
