// What one step of an engine takes: prompts' tokens and decoding sequences in, seconds, bytes and joules out. The
// closed form (evaluate.h), the simulation and the search all stand on it.
#pragma once

#include <string>
#include <string_view>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/engines/serving/model/deployment.h"
#include "orrery/engines/serving/model/served_model.h"
#include "orrery/engines/serving/model/served_roofline.h"

namespace orrery::serving {

// Of one group of attention.
struct StepWork {
  base::Count prompt_tokens = 0;  // new ones
  double prompt_pairs = 0;        // of them, each with every token that it sees
  double prompt_keys = 0;         // tokens of their sequences up to the last new one
  base::Count prompts = 0;        // sequences that they are of
  base::Count prompts_ended = 0;  // of them, those whose last token is among them
  base::Count decodes = 0;        // sequences that add one token each
  double decode_context = 0;      // tokens that they see together
  double load_seconds = 0;        // that the link to the host takes for copies which prompts need

  base::Count tokens() const { return prompt_tokens + decodes; }
  // `tokens` more of a sequence that has `context`.
  void add_prompt(base::Count tokens, base::Count context, bool ends);
  void add_decode(base::Count context) { ++decodes, decode_context += static_cast<double>(context); }
};

struct StepCost {
  double seconds = 0;                                                                        // of one stage
  double products = 0, attention = 0, experts = 0, communication = 0, others = 0, host = 0;  // add up to them, with
  double loading = 0;  // what copies from the host's memory keep it waiting
  double bytes = 0;    // from and to memory, on the accelerator with most
  double joules = 0;   // of all accelerators of the group, at their rated power; 0: not known
  // The longest of the parts: "weights", "caches", "compute", "communication", "host".
  std::string_view binds;
};

// Pure; `operators` is asked about one accelerator.
class StepModel {
 public:
  // The deployment is completed() and checked.
  StepModel(const ServedModel& model, const cluster::System& system, const Deployment& deployment,
            const machine::OperatorModel& operators);

  // Seconds of one stage; a sequence's token passes all of them.
  StepCost cost(const StepWork& work) const;
  double seconds(const StepWork& work) const { return cost(work).seconds; }

  // Of it, attention's.
  double attention_seconds(const StepWork& work) const;

  const Deployment& deployment() const { return deployment_; }

 private:
  struct Sums;
  // `queries` of each decoding sequence.
  void add_layer(const ServedLayers& kind, double layers, const StepWork& work, base::Count queries, Sums& out) const;
  double attention_seconds(const ServedLayers& kind, const StepWork& work, base::Count queries, Sums& out) const;
  double cached_attention_seconds(const ServedLayers& kind, const StepWork& work, base::Count queries, Sums& out) const;
  double index_seconds(const ServedLayers& kind, base::Count sequences, base::Count queries, double keys,
                       double share) const;
  // With weights as they are stored; where they are narrower than what is multiplied, by the roofline.
  double product_seconds(machine::MatrixProduct product, const Stored& stored) const;
  void add_drafts(const StepWork& work, Sums& out) const;
  void add_logits(base::Count rows, Sums& out) const;
  void add_experts(const ServedLayers& kind, base::Count tokens, double layers, Sums& out) const;

  ServedModel model_;  // its matrices as a rank has them
  Deployment deployment_;
  const machine::OperatorModel& operators_;
  ServedRoofline roofline_;
  collective::Fabric fabric_;
  collective::Group tensor_, expert_;
  double share_ = 1;  // of the layers, on the fullest stage
  double stage_message_fixed_ = 0, stage_message_per_byte_ = 0;
  double ridge_tokens_ = 0;  // with more, products are bound by computation, not by reading weights
  double watts_ = 0;
  double dense_bytes_ = 0;  // of weights besides routed experts'
};

}  // namespace orrery::serving
