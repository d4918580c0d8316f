// Source: the classes' code in transformers 5.24. Held against its list of types by text_types_test.cc.
#include "orrery/formats/huggingface/families/unread_types.h"

#include <algorithm>

namespace orrery::formats::huggingface {

const std::vector<UnreadTypes>& unread_types() {
  static const std::vector<UnreadTypes> all = {
      {"layers run more than once for a token", {"dory", "hrm_text", "inkling2_loop", "inkling2_loop_text"}},
      {"one block of attention serves several layers, each with an adapter of its own", {"zamba", "zamba2"}},
      {"keys and values pass short convolutions before they are cached",
       {"inkling_mm_model", "inkling_text", "inkling2", "inkling2_text", "zaya"}},
      {"queries are made by a mixture of experts", {"jetmoe"}},
      {"attention is the difference of two softmaxes, on values twice as wide as keys", {"diffllama"}},
      {"a mask that is computed from the values says which keys count", {"doge"}},
      {"ranks of latent attention differ between the layers",
       {"mistral_large4", "mistral_large4_text", "dots3_note", "dots3_note_text"}},
      {"norms hold networks of their own, and one matrix makes queries and gates of two latents", {"axk2"}},
      {"an index scores blocks of keys that are pooled",
       {"glm5_next", "glm5_next_text", "qwen4_exp", "qwen4_exp_text"}},
      {"a second mixture of experts in each layer, for tokens of pictures",
       {"ernie4_5_vl_moe", "ernie4_5_vl_moe_text"}},
      {"a window beside tokens of the picture, which every layer keeps", {"unlimited_ocr", "unlimited_ocr_text"}},
      {"norms inside the layers are steered by the delay of the sound", {"voxtral_realtime", "voxtral_realtime_text"}},
      {"layers attend to pictures, proteins or sound besides",
       {"mllama", "mllama_text_model", "idefics", "evolla", "blip", "trocr", "udop", "pix2struct", "moshi", "musicgen",
        "musicgen_melody", "pp_formulanet"}},
      {"tokens of pictures meet weights of their own, or adapters", {"phi4_multimodal", "pi0"}},
      {"text is made in blocks that are refined over and over", {"diffusion_gemma"}},
      {"a drafter that reads another model's cache", {"gemma4_assistant"}},
      {"bytes are joined to patches by models before and behind", {"blt"}},
      {"a memory of matrices with gates of its own (mLSTM)", {"xlstm"}},
      {"keys are found by hashing, and layers keep no activations", {"reformer"}},
      {"two streams of attention, and states of the segment before", {"xlnet"}},
      {"attention to blocks at random and at the edges", {"big_bird", "bigbird_pegasus"}},
      {"windows with tokens that see all, or blocks joined to one, in the encoder", {"led", "longt5", "pegasus_x"}},
      {"several tokens are predicted at once by streams of n-grams", {"prophetnet"}},
      {"tables of one width before the layers, of another behind them", {"rembert"}},
      {"tables of sounds and shapes of characters", {"roc_bert"}},
      {"a table of languages, or an adapter for each of them in every layer", {"xlm", "xmod"}},
      {"an encoder whose positions turn queries and keys", {"roformer"}},
      {"logits of a matrix with a bias, without a transform", {"bert-generation"}},
      {"tokens of pictures before those of text, which see each other", {"git"}},
      {"norms inside of attention and of the network, on elements of all heads", {"kosmos-2", "kosmos-2.5"}},
      {"an encoder that is a language model makes tokens of pictures", {"deepseek_ocr2"}},
      {"the last layer alone has a bias behind its attention", {"gpt_neox_japanese"}},
      {"a vocabulary for either stack", {"fsmt"}},
      {"experts in an encoder and a decoder", {"nllb-moe", "switch_transformers"}},
      {"a table of distances for each layer of an encoder and a decoder", {"umt5"}},
      {"one attention of a decoder to its own tokens and to an encoder's", {"t5gemma", "t5gemma2"}},
      {"an encoder of speech with convolutions", {"seamless_m4t", "seamless_m4t_v2"}},
      {"a weight for each distance of two tokens, taken apart by segments", {"cpmant"}},
  };
  return all;
}

std::string_view why_unread(std::string_view model_type) {
  // vLLM's name of it, which checkpoints have.
  if (model_type.starts_with("qwen3_8_flash_next")) model_type = "qwen4_exp";
  for (const UnreadTypes& one : unread_types())
    if (std::find(one.types.begin(), one.types.end(), model_type) != one.types.end()) return one.why;
  return {};
}

}  // namespace orrery::formats::huggingface
