// A model keeps both views of it: the description, whose blocks run on a chip, and what a training run makes of it. The
// second may be missing: then what keeps the model from being trained is thrown when it is.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "orrery/formats/huggingface/huggingface_config.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/cluster_model.h"
#include "orrery/library/reading.h"
#include "orrery/orrery.h"

namespace orrery {

struct Model::Description {
  workload::Transformer config;  // whose blocks run on a chip
  verbs::TrainingModel trained;
  std::vector<Diagnostic> refused;  // why it cannot be trained
  std::vector<Diagnostic> warnings;
};

namespace {

using formats::huggingface::Outside;

// The description with the sizes that a training run was asked for.
workload::Transformer resized(const workload::Transformer& config, const cluster::Description& asked) {
  return asked.sizes == workload::sizes_of(config) ? config : workload::with_sizes(config, asked.sizes, asked.said);
}

template <typename Description>
void train_as(const workload::Transformer& transformer, const base::Overrides& overrides, Description& description) {
  try {
    const cluster::Description asked = verbs::training_description(transformer, overrides);
    description.trained = verbs::training_model(transformer, asked);
    description.config = resized(description.config, asked);
  } catch (const InputError& error) {
    description.refused = error.diagnostics;
  }
}

// `read`: the description under one of the two rules on what is around the blocks.
template <typename Description, typename Read>
std::shared_ptr<const Description> described(const Read& read, const Reading& how) {
  auto description = std::make_shared<Description>();
  auto blocks = read(Outside::kPassed);
  description->config = std::move(blocks.transformer);
  base::Diagnostics warnings = std::move(blocks.diagnostics);
  const bool says = std::any_of(how.overrides.begin(), how.overrides.end(),
                                [](const base::Override& set) { return set.path == "seq"; });
  if (!says) verbs::warn_of_default_sequence(description->config, warnings);
  description->warnings = warnings.all();
  try {
    train_as(read(Outside::kRefused).transformer, how.overrides, *description);
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
        return verbs::load_model(directory, name, {how.ignored, outside, how.like});
      },
      how));
}

Model Model::from_text(const std::string& config_json, const Reading& how) {
  const auto file = library::source(config_json);
  return Model(described<Description>(
      [&](Outside outside) {
        formats::huggingface::ReadOptions options;
        options.ignored = how.ignored;
        options.outside = outside;
        options.like = how.like;
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
  train_as(workload::Transformer(description->config), {}, *description);
  description_ = std::move(description);
}

std::vector<workload::Operator> Model::block(Count batch, Count sequence) const {
  return operators({batch, sequence, 0}).operators;
}

workload::ModelOperators Model::operators(const workload::Phase& phase) const {
  return workload::model_operators(config(), phase);
}

const workload::Transformer& Model::config() const {
  return description_->config;
}

const cluster::Model& Model::value() const {
  if (!description_->refused.empty()) throw InputError(description_->refused);
  return description_->trained.prepared;
}

Model Model::with(const base::Overrides& sizes) const {
  value();  // what cannot be trained cannot be with other sizes, either
  auto description = std::make_shared<Description>(*description_);
  const verbs::TrainingModel& before = description_->trained;
  cluster::Description asked = verbs::training_description(before.transformer, sizes);
  const auto says = [&](const char* field) {
    return std::any_of(sizes.begin(), sizes.end(), [&](const base::Override& set) { return set.path == field; });
  };
  if (!says("seq")) asked.as.seq = before.description.as.seq;
  if (!says("document")) asked.as.document = before.description.as.document;
  if (!says("attention")) asked.as.attention = before.description.as.attention;
  description->trained = verbs::training_model(before.transformer, asked);
  description->config = resized(description_->config, asked);
  return Model(std::move(description));
}

const std::vector<Diagnostic>& Model::warnings() const {
  return description_->warnings;
}

}  // namespace orrery
