#include "orrery/engines/cluster/model/names.h"

namespace orrery::cluster {

const Names<PipelineChoice>& schedules() {
  using enum PipelineChoice;
  static const Names<PipelineChoice> names = {{"gpipe", kGpipe},
                                              {"1f1b", kOneFOneB},
                                              {"interleaved", kInterleaved},
                                              {"zero-bubble", kZeroBubble},
                                              {"dualpipe", kDualPipe},
                                              {"zb-v", kZbV},
                                              {"v-half", kVHalf},
                                              {"v-min", kVMin}};
  return names;
}

PipelineChoice schedule_of(const Plan& plan) {
  if (plan.schedule == Schedule::kGpipe) return PipelineChoice::kGpipe;
  if (plan.schedule == Schedule::kZeroBubble) return PipelineChoice::kZeroBubble;
  if (plan.schedule == Schedule::kDualPipe) return PipelineChoice::kDualPipe;
  if (plan.schedule == Schedule::kZbV) return PipelineChoice::kZbV;
  if (plan.schedule == Schedule::kVHalf) return PipelineChoice::kVHalf;
  if (plan.schedule == Schedule::kVMin) return PipelineChoice::kVMin;
  return plan.interleave > 1 ? PipelineChoice::kInterleaved : PipelineChoice::kOneFOneB;
}

Schedule schedule_of(PipelineChoice choice) {
  if (choice == PipelineChoice::kGpipe) return Schedule::kGpipe;
  if (choice == PipelineChoice::kDualPipe) return Schedule::kDualPipe;
  if (choice == PipelineChoice::kZbV) return Schedule::kZbV;
  if (choice == PipelineChoice::kVHalf) return Schedule::kVHalf;
  if (choice == PipelineChoice::kVMin) return Schedule::kVMin;
  return choice == PipelineChoice::kZeroBubble ? Schedule::kZeroBubble : Schedule::kOneFOneB;
}

const Names<Order>& orders() {
  using enum Order;
  static const Names<Order> names = {{"tp-cp-dp-pp", kCpDpPp}, {"tp-cp-pp-dp", kCpPpDp}, {"tp-dp-cp-pp", kDpCpPp},
                                     {"tp-dp-pp-cp", kDpPpCp}, {"tp-pp-cp-dp", kPpCpDp}, {"tp-pp-dp-cp", kPpDpCp}};
  return names;
}

const Names<Recompute>& recomputations() {
  using enum Recompute;
  static const Names<Recompute> names = {{"none", kNone}, {"selective", kSelective}, {"full", kFull}};
  return names;
}

const Names<machine::Precision>& precisions() {
  using enum machine::Precision;
  static const Names<machine::Precision> names = {{"fp32", kFp32}, {"tf32", kTf32},   {"bf16", kBf16},
                                                  {"fp8", kFp8},   {"mxfp8", kMxfp8}, {"nvfp4", kNvfp4}};
  return names;
}

const Names<Attention>& attentions() {
  using enum Attention;
  static const Names<Attention> names = {{"materialised", kMaterialised}, {"flash", kFlash}};
  return names;
}

const Names<StackName>& stacks() {
  using enum StackName;
  static const Names<StackName> names = {{"megatron-2021", kMegatron2021},
                                         {"megatron-core", kMegatronCore},
                                         {"pytorch-fsdp", kPytorchFsdp},
                                         {"xla", kXla},
                                         {"nemo-automodel", kAutomodel},
                                         {"deepspeed", kDeepspeed},
                                         {"internevo", kInternevo},
                                         {"litgpt", kLitgpt},
                                         {"llama-factory", kLlamaFactory},
                                         {"neuronx-distributed", kNeuronx},
                                         {"primus", kPrimus},
                                         {"torchtitan", kTorchtitan},
                                         {"torchtune", kTorchtune},
                                         {"xtuner", kXtuner}};
  return names;
}

const Names<machine::AttentionKernel>& attention_kernels() {
  using enum machine::AttentionKernel;
  static const Names<machine::AttentionKernel> names = {
      {"flash1", kFlash1}, {"flash2", kFlash2}, {"flash3", kFlash3}, {"cudnn", kCudnn}, {"splash", kSplash}};
  return names;
}

}  // namespace orrery::cluster
