#include "orrery/verbs/serve/launch.h"

#include <cctype>

#include <fmt/format.h>

#include "orrery/engines/cluster/model/names.h"

namespace orrery::verbs {
namespace {

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

std::string vllm(const Deployment& d, const std::string& model, const ServedAnswer& answer) {
  return fmt::format(
      "vllm serve {} --tensor-parallel-size {} --pipeline-parallel-size {} --data-parallel-size {}{}{}{}{} "
      "--max-num-seqs {} --max-num-batched-tokens {} --gpu-memory-utilization {:g}",
      model, d.tp, d.pp, d.dp, d.ep > 1 ? " --enable-expert-parallel" : "",
      converts(d, answer) ? " --quantization fp8" : "",
      d.cache_precision == Precision::kFp8 ? " --kv-cache-dtype fp8" : "",
      d.synchronous ? " --no-async-scheduling" : "", d.max_sequences, d.max_batched_tokens, d.memory_share);
}

// What its command line does not know stands in a file.
std::string trtllm(const Deployment& d, const std::string& model) {
  std::string more;
  if (d.cache_precision == Precision::kFp8) more = "kv_cache_config: {dtype: fp8}";
  const auto also = [&](const char* what) { more += std::string(more.empty() ? "" : ", ") + what; };
  if (d.dp > 1) also("enable_attention_dp: true");
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
std::string note(const Deployment& d, const std::string& model, const ServedAnswer& answer, const char* pool) {
  const bool quantized = converts(d, answer);
  std::string out;
  if (model == "MODEL" || !quantized) out = fmt::format("{}: a checkpoint of {}", model, answer.model);
  if (!quantized) out += fmt::format(" in {}", answer.weights);
  if (d.cache_precision != Precision::kBf16 && d.cache_precision != Precision::kFp8)
    out += fmt::format("; keys and values in {}, which no option says", machine::name(d.cache_precision));
  if (d.drafted > 0)
    out += fmt::format("; {} guessed token{} a step, by drafts that the checkpoint has or you name", d.drafted,
                       d.drafted == 1 ? "" : "s");
  if (*pool != '\0') out += fmt::format("; {}, with the engine's own transfer of keys and values", pool);
  return out.empty() ? "" : "  # " + (out.starts_with("; ") ? out.substr(2) : out);
}

std::string command(const Deployment& of, const std::string& asked, const ServedAnswer& answer, const char* pool) {
  const Deployment d = serving::completed(of);
  const std::string model = checkpoint(asked);
  const std::string start = d.engine == Engine::kVllm          ? vllm(d, model, answer)
                            : d.engine == Engine::kTensorRtLlm ? trtllm(d, model)
                                                               : sglang(d, model, answer);
  // Of all ranks of a replica, in GiB.
  const double host = answer.offload * 1e9 * static_cast<double>(d.tp * d.pp) / (1 << 30);
  const std::string offload =
      host > 0 ? fmt::format(" --kv-offloading-backend native --kv-offloading-size {:.4g}", host) : "";
  return start + offload + note(d, model, answer, pool);
}

}  // namespace

std::string launch_command(const std::string& asked, const ServedAnswer& answer) {
  const Deployment& d = answer.first().deployment;
  if (!answer.prompts()) return command(d, asked, answer, "");
  return command(*answer.prompts(), asked, answer, "prompts") + "\n" + command(d, asked, answer, "decoding");
}

}  // namespace orrery::verbs
