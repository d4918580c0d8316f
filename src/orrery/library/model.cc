// A model keeps both views of it: the configuration, whose blocks run on a chip, and the workload of a training run. A
// description may have only the first: then what keeps it from being trained is thrown when it is.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "orrery/cluster/names.h"
#include "orrery/formats/huggingface/config.h"
#include "orrery/library/reading.h"
#include "orrery/orrery.h"
#include "orrery/scenario/catalogue.h"
#include "orrery/scenario/cluster_model.h"

namespace orrery {

struct Model::Description {
  std::optional<workload::Transformer> config;
  cluster::Model value;
  std::vector<Diagnostic> refused;  // why it cannot be trained
  std::vector<Diagnostic> warnings;

  void train_as(cluster::Model model) { value = cluster::completed(std::move(model)); }
};

namespace {

using formats::huggingface::Outside;

// `read`: the description under one of the two rules on what is around the blocks.
template <typename Description, typename Read>
std::shared_ptr<const Description> described(const Read& read, const Reading& how) {
  auto description = std::make_shared<Description>();
  auto blocks = read(Outside::kPassed);
  description->config = std::move(blocks.transformer);
  description->warnings = blocks.diagnostics.all();
  try {
    description->train_as(scenario::training_model(read(Outside::kRefused).transformer, how.overrides));
  } catch (const InputError& error) {
    description->refused = error.diagnostics;
  }
  return description;
}

}  // namespace

Model Model::named(const std::string& name, const Reading& how) {
  const std::string directory = library::directory_of(how);
  return Model(described<Description>(
      [&](Outside outside) {
        return scenario::load_model(directory, name, {{}, outside});
      },
      how));
}

Model Model::from_text(const std::string& config_json, const Reading& how) {
  const auto file = library::source(config_json);
  return Model(described<Description>(
      [&](Outside outside) {
        formats::huggingface::ReadOptions options;
        options.outside = outside;
        return formats::huggingface::read_config(file, options);
      },
      how));
}

Model::Model(workload::Transformer config) {
  const auto whole = [](const workload::Stack& stack) {
    const auto kinds = static_cast<int>(stack.kinds.size());
    return !stack.layers.empty() && stack.width > 0 &&
           std::all_of(stack.layers.begin(), stack.layers.end(), [&](int kind) { return kind >= 0 && kind < kinds; });
  };
  if (config.stacks.empty() || !std::all_of(config.stacks.begin(), config.stacks.end(), whole))
    throw std::invalid_argument("Model::Model: a transformer has stacks of a width, whose layers are of their kinds");
  auto description = std::make_shared<Description>();
  description->config = std::move(config);
  try {
    description->train_as(scenario::training_model(*description->config));
  } catch (const InputError& error) {
    description->refused = error.diagnostics;
  }
  description_ = std::move(description);
}

Model::Model(cluster::Model value) {
  auto description = std::make_shared<Description>();
  description->train_as(std::move(value));
  description_ = std::move(description);
}

std::vector<workload::Operator> Model::block(Count batch, Count sequence) const {
  return operators({batch, sequence, 0}).operators;
}

workload::ModelOperators Model::operators(const workload::Phase& phase) const {
  if (!config()) throw std::invalid_argument("Model::operators: a model made of a cluster::Model has no configuration");
  return workload::model_operators(*config(), phase);
}

const std::optional<workload::Transformer>& Model::config() const {
  return description_->config;
}

const cluster::Model& Model::value() const {
  if (!description_->refused.empty()) throw InputError(description_->refused);
  return description_->value;
}

Model Model::with(cluster::Model changed) const {
  value();  // what cannot be trained cannot be with other sizes, either
  auto description = std::make_shared<Description>(*description_);
  description->train_as(std::move(changed));
  return Model(std::move(description));
}

const std::vector<Diagnostic>& Model::warnings() const {
  return description_->warnings;
}

}  // namespace orrery
