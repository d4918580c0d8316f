// The channel to the memory: requests out, their words in and out.
//
// Interface: `ask`: a request of `beats` words for `what` (requests.svh), bank `bank`, `tokens` tokens of `token_beats` words each;
//   `taken` in the cycle in which the memory takes it (`request_ready`), or else it stays. `free`: one may be asked. Words in
//   come in the order of the requests and are always taken: `data` is beat `beat` of token `token` of `in_what`, `in_bank`; behind the tokens
//   words have `validity`, with `beat` counting them, and those of a mask `mask`. A word that nobody asked for is dropped. `arrived`: the last word of a request is here, by what. Words out are
//   asked for by `out_token`, `out_beat`, in the same cycle, and wait for `out_ready`; `out_done` tells that the memory has a request's.
// Timing: a request holds the channel for its number of words, one out until they are taken, too. Reset: `rst`, synchronous: idle. Limits: with 16
//   requests unanswered it is not free.
module channel #(
    parameter int BEAT_BITS = 8
) (
    input  logic clk,
    input  logic rst,
    input  logic ask,
    input  logic [2:0] what,
    input  logic bank,
    input  logic [15:0] tokens,
    input  logic [BEAT_BITS-1:0] token_beats,
    input  logic [23:0] beats,
    output logic free,
    output logic taken,
    // The memory.
    output logic request,
    output logic request_write,
    output logic [23:0] request_beats,
    input  logic request_ready,
    input  logic in_valid,
    output logic out_valid,
    input  logic out_ready,
    input  logic out_done,
    // Words in.
    output logic data,
    output logic validity,
    output logic mask,
    output logic [2:0] in_what,
    output logic in_bank,
    output logic [15:0] token,
    output logic [15:0] beat,
    output logic [4:0] arrived,
    // Words out.
    output logic [15:0] out_token,
    output logic [BEAT_BITS-1:0] out_beat
);
  `include "requests.svh"
  logic [23:0] left, out_left;
  logic writes, sends;
  assign writes = what == ASK_STORE;
  assign free = left == '0 && out_left == '0 && !count[4];
  assign request = ask;
  assign request_write = writes;
  assign request_beats = beats;
  assign taken = ask && request_ready;

  // Words out: the first one stands beside its request.
  logic [23:0] to_send;
  assign to_send = ask && writes ? beats : out_left;
  assign out_valid = to_send != '0;
  assign sends = out_valid && out_ready && (!ask || request_ready);
  always_ff @(posedge clk) begin
    if (rst) begin
      left <= '0;
      out_left <= '0;
    end else begin
      left <= taken && !writes ? beats - 1'b1 : left != '0 ? left - 1'b1 : '0;
      if (taken && writes) out_left <= beats - 24'(sends);
      else if (sends) out_left <= out_left - 1'b1;
    end
    if (rst || (to_send == 24'd1 && sends)) begin
      out_token <= '0;
      out_beat  <= '0;
    end else if (sends) begin
      out_beat <= out_beat + 1'b1 == token_beats ? '0 : out_beat + 1'b1;
      if (out_beat + 1'b1 == token_beats) out_token <= out_token + 1'b1;
    end
  end

  // Requests whose words are to come; the first of them, also in its own cycle.
  localparam int ENTRY = 3 + 1 + 16 + 24;
  logic [ENTRY-1:0] entries[16], entry, first;
  logic [3:0] head, tail;
  logic [4:0] count;
  logic reads, last, comes;
  logic [15:0] in_tokens;
  logic [23:0] in_beats, beats_there;
  assign reads = taken && !writes;
  assign entry = {what, bank, tokens, beats};
  assign first = count == '0 ? entry : entries[head];
  assign {in_what, in_bank, in_tokens, in_beats} = first;
  assign comes = in_valid && (count != '0 || reads);  // else nobody has asked for it
  assign last = comes && beats_there + 1'b1 == in_beats;
  assign data = comes && token < in_tokens && in_what != ASK_MASK;
  assign validity = comes && token >= in_tokens && in_what != ASK_MASK;
  assign mask = comes && in_what == ASK_MASK;
  always_comb begin
    arrived = '0;
    if (last) arrived[in_what] = 1'b1;
    if (out_done) arrived[ASK_STORE] = 1'b1;
  end
  always_ff @(posedge clk) begin
    if (reads) entries[tail] <= entry;
    if (rst) begin
      head  <= '0;
      tail  <= '0;
      count <= '0;
    end else begin
      if (reads) tail <= tail + 1'b1;
      if (last) head <= head + 1'b1;
      count <= count + 5'(reads) - 5'(last);
    end
    if (rst || last) begin
      token <= '0;
      beat <= '0;
      beats_there <= '0;
    end else if (comes) begin
      beats_there <= beats_there + 1'b1;
      if (token < in_tokens && beat + 1'b1 == 16'(token_beats)) begin
        token <= token + 1'b1;
        beat  <= '0;
      end else begin
        beat <= beat + 1'b1;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, ASK_KEYS, ASK_VALUES, ASK_QUERIES};

`ifdef FORMAL
  // No request is lost: as many wait as there is room for, and each of them is answered once.
  initial assume (rst);
  always_comb if (!rst) begin
    assert (count <= 5'd16);
    assert (tail == head + count[3:0]);
    if (out_left != '0) assert (!free);
  end
  always_comb if (!free) assume (!ask);
`endif
endmodule
