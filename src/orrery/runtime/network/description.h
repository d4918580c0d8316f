// What a whole model is: embeddings, one stack of layers or two, a head. Enough for the families of BERT, GPT-2 and
// BART.
#pragma once

#include <optional>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/runtime/layer/shape.h"

namespace orrery::network {

using layer::Index;

// Vectors of words, positions and types (segments), summed, normed if asked for, dropped.
struct EmbeddingShape {
  Index words = 0, positions = 0, types = 0;  // rows of each table; no types: 0
  Index first_position = 0;                   // the row of a sequence's first token; RoBERTa and BART begin at 2
  float scale = 1;                            // of words' vectors
  bool norm = false;
};

struct StackShape {
  layer::Shape layer;  // batch and length are the network's
  Index layers = 0;
  bool final_norm = false;  // behind the last one: of pre-norm models
};

// The probabilities to be dropped when training.
struct DropoutRates {
  layer::Dropout layer;
  double embedding = 0, head = 0;
};

enum class HeadKind { kNone, kClassification, kRegression, kSpans, kMaskedWords, kNextWord };
enum class Pick { kFirst, kLast, kAll };  // the tokens that a head reads: a sequence's first or last one, or all
enum class Squash { kNone, kTanh, kGelu, kGeluTanh, kRelu, kSilu };

// logits = out drop(norm(squash(dense drop(x)))), each part if there is one.
struct HeadShape {
  HeadKind kind = HeadKind::kNone;
  Pick pick = Pick::kAll;
  Index outputs = 0;        // classes; 1 in regression, 2 (begin, end) of spans, words of a language model
  bool dense = false;       // width x width
  bool drop_first = false;  // also before `dense`
  Squash squash = Squash::kNone;
  bool norm = false;
  bool bias = true;
  bool tied = false;        // `out` is the table of words' vectors
  bool bias_learns = true;  // BART's is a buffer
};

struct Description {
  Index width = 0;
  float epsilon = 1e-12F;  // of the norms outside of layers
  EmbeddingShape embedding;
  StackShape encoder;                   // or the only stack, causal in GPT-2
  std::optional<EmbeddingShape> later;  // of the decoder, which shares the words' vectors
  StackShape decoder;                   // layers = 0: none
  HeadShape head;
  DropoutRates dropout;

  bool has_decoder() const { return decoder.layers > 0; }
  const StackShape& last() const { return has_decoder() ? decoder : encoder; }
};

// Everything that keeps such a model from being run (O1640 and the layers' own).
base::Diagnostics checked(const Description& description);

}  // namespace orrery::network
