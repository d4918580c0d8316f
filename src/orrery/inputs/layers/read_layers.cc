#include "orrery/inputs/layers/read_layers.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "orrery/formats/timeloop/architecture/apply_estimates.h"
#include "orrery/inputs/layers/gathered_diagnostics.h"
#include "orrery/inputs/layers/priced_chip.h"

namespace orrery::verbs {
namespace {

using formats::timeloop::Documents;
using formats::timeloop::LayerReading;
using formats::timeloop::Specification;

void sort_once(std::vector<base::Input>& inputs) {
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
}

}  // namespace

ReadLayers read_layers(const std::vector<LayerTask>& tasks, Estimators& estimators) {
  ReadLayers result;
  Gathered gathered;
  std::map<const Documents*, std::unique_ptr<PricedChip>> chips;
  for (const LayerTask& task : tasks) {
    std::unique_ptr<PricedChip>& chip = chips[task.documents];
    if (!chip) chip = std::make_unique<PricedChip>(*task.documents);
    try {
      LayerReading read = chip->reading().layer(task.einsum ? &*task.einsum : nullptr);
      base::Diagnostics missing;
      require_parts(chip->reading().architecture().has_value(), read.problem.has_value(),
                    ", `--model NAME` or `--gemm M,K,N`; `orrery catalog` lists the models", missing);
      missing.throw_if_errors();
      LayerQuestion question;
      chip->give(estimators, question, read.diagnostics);
      chip->give_sparse(std::move(read.sparse), question, read.diagnostics);
      question.einsum = std::move(read.problem->einsum);
      question.name = task.name.empty() ? question.einsum.name : task.name;
      question.instances = task.instances;
      question.space = std::move(read.problem->space);
      question.objective = std::move(read.mapper.objective);
      result.questions.push_back(std::move(question));
      result.threads = std::max(result.threads, read.mapper.threads);
      gathered.add(read.diagnostics.all());
      for (const auto* inputs : {&task.documents->inputs(), &std::as_const(read.inputs)})
        result.inputs.insert(result.inputs.end(), inputs->begin(), inputs->end());
    } catch (const base::InputError& error) {
      gathered.add(error.diagnostics);
    }
  }
  gathered.all().throw_if_errors();
  result.warnings = gathered.all();
  if (std::none_of(result.questions.begin(), result.questions.end(), [](const auto& one) { return one.estimates; }))
    mention_unused(estimators.setup(), result.warnings);
  sort_once(result.inputs);
  return result;
}

ReadMapping read_mapping(const Documents& documents, Estimators& estimators) {
  PricedChip chip(documents);
  LayerReading read = chip.reading().layer(nullptr);
  base::Diagnostics missing;
  require_parts(chip.reading().architecture().has_value(), read.problem.has_value(), ", as its `problem`", missing);
  // A mapping is read against chip and problem: where one of them is missing, it is not known yet.
  if (!read.mapping && (documents.find("mapping") == nullptr || missing.all().empty()))
    missing.error("O1003", "no file has a `mapping`")
        .hint("give the mapping to evaluate, or let `orrery map` find the best one");
  missing.throw_if_errors();

  ReadMapping result;
  chip.give(estimators, result.question, read.diagnostics);
  chip.give_sparse(std::move(read.sparse), result.question, read.diagnostics);
  result.question.einsum = std::move(read.problem->einsum);
  result.question.name = result.question.einsum.name;
  result.question.space = std::move(read.problem->space);
  result.mapping = std::move(*read.mapping);
  result.places = std::move(read.mapping_places);
  result.inputs = documents.inputs();
  result.inputs.insert(result.inputs.end(), read.inputs.begin(), read.inputs.end());
  sort_once(result.inputs);
  Gathered gathered;
  gathered.add(read.diagnostics.all());
  result.warnings = gathered.all();
  if (!result.question.estimates) mention_unused(estimators.setup(), result.warnings);
  return result;
}

Estimates complete(Specification& specification, Estimators& estimators) {
  if (!specification.chip || specification.has_energy_tables || specification.components.empty()) return nullptr;
  Estimates estimates = estimators.estimate(specification.components, specification.diagnostics);
  specification.diagnostics.throw_if_errors();
  formats::timeloop::apply_estimates(*estimates, *specification.chip);
  return estimates;
}

}  // namespace orrery::verbs
