// What runs of models on texts share: threads and time, texts as examples, batches of them.
#pragma once

#include <vector>

#include "orrery/scenario/tune_texts.h"

namespace orrery::scenario {

inline constexpr base::Count kUsualBatch = 8;
inline constexpr std::size_t kUsualTokens = 512;

struct Running {
  explicit Running(const TextRequest& request)
      : limits(request.limits),
        context((limits.stop = request.interruptible ? request.interruptible() : nullptr, limits.threads)),
        budget(limits) {}
  cost::Limits limits;
  kernels::Context context;
  cost::Budget budget;
};

// Examples in batches of texts of alike lengths, so that little is padding.
std::vector<std::vector<std::size_t>> batches(const std::vector<model::Example>& examples, std::size_t batch);

// The largest batch.
model::Network::Size size_of(const std::vector<model::Example>& examples, std::size_t batch);

// Clip thresholds of these texts, where the model takes them from there: one dense pass over all of them. False: the
// budget ended it.
bool calibrate(PrunedModel& pruned, model::Network& network, const std::vector<model::Example>& examples,
               std::size_t batch, const CheckpointModel& made, const cost::Budget& budget);

// The head of a language model, else none: what the others say needs labels.
model::HeadKind language_head_of(const std::string& folder);

struct PlainExamples {
  std::vector<model::Example> examples;  // one of each row
  std::size_t cut = 0;                   // texts that were longer than `most`
};

// The texts of text_column(). Throws InputError (O1651).
PlainExamples plain_examples(const TextRows& rows, const Columns& columns, const CheckpointModel& made,
                             std::size_t most);

// O1656, where there are any.
void warn_of_cut(std::size_t cut, std::size_t most, base::Diagnostics& warnings);
void warn_of_numbers(std::string what, base::Diagnostics& warnings);  // that are not finite

}  // namespace orrery::scenario
