// What runs of models on texts share: threads and time, texts as examples, batches of them.
#pragma once

#include <vector>

#include "orrery/inputs/networks/text_request.h"

namespace orrery::verbs {

inline constexpr base::Count kUsualBatch = 8;
inline constexpr std::size_t kUsualTokens = 512;

struct Running {
  explicit Running(const TextRequest& request)
      : limits(request.limits),
        context((limits.stop = request.interruptible ? request.interruptible() : nullptr, limits.threads)),
        budget(limits) {}
  base::Limits limits;
  kernels::Context context;
  base::Budget budget;
};

// Examples in batches of texts of alike lengths, so that little is padding.
std::vector<std::vector<std::size_t>> batches(const std::vector<network::Example>& examples, std::size_t batch);

// The largest batch.
network::Network::Size size_of(const std::vector<network::Example>& examples, std::size_t batch);

// Clip thresholds of these texts, where the model takes them from there: one dense pass over all of them. False: the
// budget ended it.
bool calibrate(PrunedModel& pruned, network::Network& network, const std::vector<network::Example>& examples,
               std::size_t batch, const CheckpointModel& made, const base::Budget& budget);

// The head of a language model, else none: what the others say needs labels.
network::HeadKind language_head_of(const std::string& folder);

struct PlainExamples {
  std::vector<network::Example> examples;  // one of each row
  std::size_t cut = 0;                     // texts that were longer than `most`
};

// The texts of text_column(). Throws InputError (O1651).
PlainExamples plain_examples(const TextRows& rows, const Columns& columns, const CheckpointModel& made,
                             std::size_t most);

// O1656, where there are any.
void warn_of_cut(std::size_t cut, std::size_t most, base::Diagnostics& warnings);
void warn_of_numbers(std::string what, base::Diagnostics& warnings);  // that are not finite

}  // namespace orrery::verbs
