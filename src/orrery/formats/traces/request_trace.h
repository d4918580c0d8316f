// Traces of requests, as others write them: when each came, and how long prompt and answer were.
#pragma once

#include <memory>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/serving/simulation/request.h"

namespace orrery::formats::traces {

// Of tables (CSV) the columns, of JSON lines the members:
//
//   Azure         TIMESTAMP (a date and time), ContextTokens, GeneratedTokens
//   BurstGPT      Timestamp (s), Request tokens, Response tokens
//   Vidur         arrived_at (s), num_prefill_tokens, num_decode_tokens; of lengths alone no times, all are 0
//   Mooncake      timestamp (ms), input_length, output_length, hash_ids of 512 tokens each
//   Bailian       timestamp (s), input_length, output_length, hash_ids of 16 tokens each; known by its chat_id
//   LLMServingSim arrival_time (s) or arrival_time_ns, input_toks, output_toks
//   ShareGPT      prompt_len, output_len, as benchmarks count its conversations; no times
//
// The latter two and Mooncake's also without times, and as a list in the place of lines.
// Times are from the first request on. Requests without a prompt or an answer (failures) are left out, with a warning
// (O2079). Throws InputError: O2079 for a file that is none of these, what is missing, times that are negative or
// go back, and hash_ids of another number than the prompt has blocks.
std::vector<serving::Request> read_requests(const std::shared_ptr<const base::SourceFile>& file,
                                            base::Diagnostics& warnings);

}  // namespace orrery::formats::traces
