// Which tensor of a checkpoint is which weight of a model.
#pragma once

#include <string>
#include <vector>

#include "orrery/formats/checkpoint/checkpoint.h"
#include "orrery/formats/huggingface/networks/network_reader.h"
#include "orrery/runtime/network/parameters.h"

namespace orrery::formats::huggingface {

// A tensor and the part of a vector of weights that it is: `count` numbers from `first` on.
struct Binding {
  std::string name;  // as the family's class calls it, with the class's prefix
  std::vector<float>* values = nullptr;
  network::Index first = 0, rows = 0, columns = 0;  // columns = 0: a vector of `rows`
  bool transposed = false;                          // stored as [columns][rows]
  bool head = false;                                // of the head, which a checkpoint of the bare model lacks
  std::vector<std::string> copies = {};             // other tensors that are the same weight
};

// What a family's classes with a head put before the names of the bare model's tensors: "bert.".
std::string prefix_of(Family family);

// In the order of the class. Of a model with the family's prefix ("bert.").
std::vector<Binding> bindings(const RunnableModel& model, network::Parameters& parameters);

struct Loaded {
  std::vector<std::string> fresh;  // weights of the head that the checkpoint lacks
};

// Fills `parameters`. Weights of the head that are missing are left as they are. Throws InputError: O1645 where tensors
// are missing, O1646 where one has another shape or no numbers. Adds the warning O1647 for tensors that the model does
// not have.
Loaded load(const checkpoint::Checkpoint& from, const RunnableModel& model, network::Parameters& parameters,
            base::Diagnostics& warnings);

// The checkpoint with these parameters (fp32) in the place of its own; what the model does not have is kept as it was.
// The tensors' bytes belong to what is returned.
std::vector<checkpoint::Tensor> stored(const checkpoint::Checkpoint& from, const RunnableModel& model,
                                       network::Parameters& parameters);

}  // namespace orrery::formats::huggingface
