#include "orrery/verbs/serve/launch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/serving/model/kv_memory.h"
#include "orrery/inputs/systems/this_machine.h"

namespace orrery::verbs {
namespace {

using base::Count;
using machine::Precision;
using serving::Deployment;
using serving::Engine;

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A file that is called config.json stands beside its checkpoint; the catalogue has none.
std::string checkpoint(const std::string& asked) {
  const std::size_t slash = asked.rfind('/');
  if (slash == std::string::npos || slash == 0 || asked.substr(slash) != "/config.json") return "MODEL";
  return quoted(asked.substr(0, slash));
}

// vLLM and SGLang convert a 16-bit checkpoint as they load it.
bool converts(const Deployment& d, const ServedAnswer& answer) {
  return d.precision == Precision::kFp8 && answer.weights == "fp8" && !answer.as_published &&
         d.engine != Engine::kTensorRtLlm;
}

// vLLM starts with no sequence allowed that its blocks do not hold; 0: they hold the model's longest.
Count most_that_fits(const serving::ServedModel& model, const cluster::System& system, const Deployment& d) {
  const serving::KvMemory memory = kv_memory(model, system, d);
  const auto fits = [&](Count tokens) {
    return memory.blocks_for(tokens, std::min(d.max_batched_tokens, tokens)) <= memory.blocks;
  };
  if (model.longest == 0 || fits(model.longest)) return 0;
  Count most = 1, beyond = model.longest;
  while (beyond - most > 1) (fits((most + beyond) / 2) ? most : beyond) = (most + beyond) / 2;
  return most;
}

Count longest(const serving::Lengths& of) {
  if (of.kind == serving::Lengths::Kind::kLogNormal) return std::numeric_limits<std::int32_t>::max();
  Count out = base::saturated(of.average() + 0.5);
  for (const Count tokens : of.samples) out = std::max(out, tokens);
  return out;
}

// What TensorRT-LLM may read at once is a prompt, of who may be paused also what it has produced.
bool cuts_prompts(const serving::KvMemory& memory, const Deployment& d, const serving::Load& load) {
  const Count context = base::saturated(load.prompt.average() + load.output.average() + 0.5);
  return cuts_prompts(memory, d, longest(load.prompt) + (d.evicts ? longest(load.output) - 1 : 0), context);
}

// What copies in the host's memory may have; of a `--host-hit`, which has no size, a name stands for it.
std::string host_size(const ServedAnswer& answer, const char* option, double size, const char* unknown) {
  if (answer.offload > 0) return fmt::format("{}{:.4g}", option, size);
  return answer.load.host_hit > 0 ? fmt::format("{}{}", option, unknown) : "";
}

std::string vllm(const Deployment& d, const std::string& model, Count context, const ServedAnswer& answer) {
  return fmt::format(
      "vllm serve {} --tensor-parallel-size {} --pipeline-parallel-size {} --data-parallel-size {}{}{}{}{}{} "
      "--max-num-seqs {} --max-num-batched-tokens {}{}",
      model, d.tp, d.pp, d.dp, d.ep > 1 ? " --enable-expert-parallel" : "",
      converts(d, answer) ? " --quantization fp8" : "",
      d.cache_precision == Precision::kFp8 ? " --kv-cache-dtype fp8" : "",
      d.synchronous ? " --no-async-scheduling" : "", context > 0 ? fmt::format(" --max-model-len {}", context) : "",
      d.max_sequences, d.max_batched_tokens,
      answer.system == kThisMachine ? "" : fmt::format(" --gpu-memory-utilization {:g}", d.memory_share));
}

// What its command line does not know stands in a file.
std::string trtllm(const Deployment& d, const std::string& model, const serving::KvMemory& memory,
                   const ServedAnswer& answer) {
  std::string more, caches = d.cache_precision == Precision::kFp8 ? "dtype: fp8" : "";
  const double host = answer.offload * 1e9;
  if (host > 0 || answer.load.host_hit > 0)
    caches += (caches.empty() ? "" : ", ") + std::string("host_cache_size: ") +
              (host > 0 ? fmt::format("{:.0f}", host) : "HOST_BYTES");
  if (!caches.empty()) more = "kv_cache_config: {" + caches + "}";
  const auto also = [&](const char* what) { more += std::string(more.empty() ? "" : ", ") + what; };
  if (d.dp > 1) also("enable_attention_dp: true");
  if (cuts_prompts(memory, d, answer.load)) also("enable_chunked_prefill: true");
  if (d.synchronous) also("disable_overlap_scheduler: true");
  if (d.evicts) also("scheduler_config: {capacity_scheduler_policy: MAX_UTILIZATION}");
  return fmt::format(
      "{}trtllm-serve {} --tp_size {} --pp_size {} --ep_size {} --max_batch_size {} --max_num_tokens {} "
      "--kv_cache_free_gpu_memory_fraction {:g}{}",
      more.empty() ? "" : fmt::format("echo '{{{}}}' >serve.yaml && ", more), model, d.tp * d.dp, d.pp, d.ep,
      d.max_sequences, d.max_batched_tokens, d.memory_share, more.empty() ? "" : " --extra_llm_api_options serve.yaml");
}

// Its tensor ranks are all of a stage; groups of attention divide them.
std::string sglang(const Deployment& d, const std::string& model, const ServedAnswer& answer) {
  return fmt::format(
      "python -m sglang.launch_server --model-path {} --tp-size {} --pp-size {}{} --ep-size {}{}{}{} "
      "--max-running-requests {} --chunked-prefill-size {} --mem-fraction-static {:g}",
      model, d.tp * d.dp, d.pp, d.dp > 1 ? fmt::format(" --dp-size {} --enable-dp-attention", d.dp) : "", d.ep,
      converts(d, answer) ? " --quantization fp8" : "",
      d.cache_precision == Precision::kFp8 ? " --kv-cache-dtype fp8_e4m3" : "",
      d.synchronous ? " --disable-overlap-schedule" : "", d.max_sequences * d.dp, d.max_batched_tokens * d.dp,
      d.memory_share);
}

// What no option says.
std::string note(const Deployment& d, const std::string& model, const ServedAnswer& answer, const std::string& pool) {
  const bool quantized = converts(d, answer);
  std::string out;
  if (model == "MODEL" || !quantized) out = fmt::format("{}: a checkpoint of {}", model, answer.model);
  if (!quantized) out += fmt::format(" in {}", answer.weights);
  if (d.cache_precision != Precision::kBf16 && d.cache_precision != Precision::kFp8)
    out += fmt::format("; keys and values in {}, which no option says", machine::name(d.cache_precision));
  if (d.replicas > 1) out += fmt::format("; {} of them, behind a router", d.replicas);
  if (d.drafted > 0)
    out += fmt::format("; {} guessed token{} a step, by drafts that the checkpoint has or you name", d.drafted,
                       d.drafted == 1 ? "" : "s");
  if (answer.load.host_hit > 0) out += "; HOST_...: memory for as many copies as `--host-hit` finds";
  if (!pool.empty()) out += fmt::format("; {}, with the engine's own transfer of keys and values", pool);
  return out.empty() ? "" : "  # " + (out.starts_with("; ") ? out.substr(2) : out);
}

std::string command(const Deployment& d, const std::string& asked, const serving::KvMemory& memory, Count context,
                    const ServedAnswer& answer, const std::string& pool) {
  const std::string model = checkpoint(asked);
  const std::string start = d.engine == Engine::kVllm          ? vllm(d, model, context, answer)
                            : d.engine == Engine::kTensorRtLlm ? trtllm(d, model, memory, answer)
                                                               : sglang(d, model, answer);
  // Of all ranks of a replica, in GiB.
  const double host = answer.offload * 1e9 * static_cast<double>(d.tp * d.pp) / (1 << 30);
  std::string offload;
  if (d.engine == Engine::kVllm)
    offload = host_size(answer, " --kv-offloading-backend native --kv-offloading-size ", host, "HOST_GIB");
  else if (d.engine == Engine::kSglang)
    offload = host_size(answer, " --enable-hierarchical-cache --hicache-size ", answer.offload, "HOST_GB");
  // On processors, vLLM is told what caches may have, in whole GiB.
  const bool here = answer.system == kThisMachine;
  const std::string first = here && d.engine == Engine::kVllm
                                ? fmt::format("VLLM_CPU_KVCACHE_SPACE={:.0f} ", std::floor(memory.caches / (1 << 30)))
                                : "";
  const std::string device = here && d.engine == Engine::kSglang ? " --device cpu" : "";
  return first + start + device + offload + note(d, model, answer, pool);
}

}  // namespace

std::string launch_command(const std::string& asked, const serving::ServedModel& model, const serving::PoolKinds& on,
                           const ServedAnswer& answer) {
  const auto of = [&](const Deployment& d, const cluster::System& system, const std::string& pool) {
    return command(d, asked, kv_memory(model, system, d), most_that_fits(model, system, d), answer, pool);
  };
  const auto pool = [&](const char* what, const cluster::System& system) {
    return on.prompts.system == on.decoding.system ? what : fmt::format("{} on {}", what, system.name);
  };
  const Deployment& d = answer.first().deployment;
  if (!answer.prompts()) return of(d, *on.decoding.system, "");
  return of(*answer.prompts(), *on.prompts.system, pool("prompts", *on.prompts.system)) + "\n" +
         of(d, *on.decoding.system, pool("decoding", *on.decoding.system));
}

}  // namespace orrery::verbs
