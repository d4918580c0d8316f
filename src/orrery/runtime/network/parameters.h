// A model's weights, fp32, and what an optimiser must know of each.
#pragma once

#include <string>
#include <vector>

#include "orrery/runtime/layer/shape.h"
#include "orrery/runtime/network/description.h"

namespace orrery::network {

struct EmbeddingWeights {
  std::vector<float> words;      // [words][width]; of the decoder empty: shared
  std::vector<float> positions;  // [positions][width]
  std::vector<float> types;      // [types][width]
  std::vector<float> scale, shift;
};

struct StackWeights {
  std::vector<layer::Weights> layers;
  std::vector<float> scale, shift;  // of the final norm
};

struct HeadWeights {
  std::vector<float> dense, dense_bias;  // [width][width]
  std::vector<float> scale, shift;
  std::vector<float> out, out_bias;  // [outputs][width]; out is empty where it is tied
};

struct Parameters {
  EmbeddingWeights embedding, later;
  StackWeights encoder, decoder;
  HeadWeights head;

  explicit Parameters(const Description& description);  // zeros; scales 1
};

// How many numbers the tables and matrices below the head have, without making them: no more than Parameters has.
double matrix_numbers(const Description& description);

struct Parameter {
  std::string name;  // "encoder.3.qkv_bias"
  std::vector<float>* values = nullptr;
  bool decays = false;  // matrices do; biases and norms do not, as Hugging Face's trainer has it
  bool learns = true;
};

// Those that are not empty, always in the same order.
std::vector<Parameter> list(Parameters& parameters, const Description& description);

// to += from, of two of the same description.
void add(Parameters& to, const Parameters& from);

// As the models' classes begin: matrices and tables normal with this deviation, biases 0, scales 1. The same for a seed
// on every machine.
void initialise(Parameters& parameters, const Description& description, std::uint64_t seed, double deviation = 0.02);

// The same numbers, of the head alone: what a checkpoint may lack.
void initialise_head(Parameters& parameters, const Description& description, std::uint64_t seed);

}  // namespace orrery::network
