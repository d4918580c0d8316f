// The driver's registers: 32-bit words at byte addresses, docs/model/sparse_array.md.
//
// Interface: `write`: `write_data` goes to `address`; `read_data` is what stands at `address`, without a clock. A write while the core is
//   busy, one to a read-only word or to an address that there is not changes nothing and sets ERROR; so does a START that the core
//   cannot run: no queries, or more keys than it has room for, no sequence or head, more sequences than it has lengths for, a head size that is
//   larger than DEPTH or whose tokens do not fill words of STREAM bytes, addresses beyond 32 bits, blocks that are given. Lengths stand in the core
//   (`length_*`), which says whether they are `runnable`. `start` and the constants go to the core, whose `done` ends a run.
// Timing: a write counts from the next cycle on. `irq`: DONE and its enable. Reset: `rst`, synchronous: the page's reset values.
module registers #(
    parameter int ROWS = 8,
    parameter int PES = 4,
    parameter int PORTS = 8,
    parameter int DEPTH = 16,
    parameter int KEYS = 64,
    parameter int SEQUENCES = 8,
    parameter int POINT = 16,
    parameter int STREAM = 16
) (
    input  logic clk,
    input  logic rst,
    input  logic write,
    input  logic [11:0] address,
    input  logic [31:0] write_data,
    output logic [31:0] read_data,
    output logic irq,
    output logic start,
    input  logic busy,
    input  logic done,
    input  logic executes,
    input  logic [63:0] kept,
    input  logic [31:0] blocks,
    input  logic [31:0] saturated,
    output logic length_write,
    output logic [7:0] length_at,
    input  logic [31:0] length_read,
    input  logic runnable,
    output logic overlap,
    output logic predicts,
    output logic normalise,
    output logic causal,
    output logic [8:0] sequences,
    output logic [15:0] heads,
    output logic [12:0] depth,
    output logic signed [16:0] causal_offset,
    output logic [15:0] query_multiplier,
    output logic [4:0] query_align,
    output logic [16:0] query_reciprocal,
    output logic [5:0] query_shift,
    output logic [16:0] query_factor,
    output logic [5:0] query_factor_shift,
    output logic [16:0] key_reciprocal,
    output logic [5:0] key_shift,
    output logic [16:0] key_factor,
    output logic [5:0] key_factor_shift,
    output logic [5:0] score_shift,
    output logic signed [23:0] log2_threshold,
    output logic [31:0] query_base,
    output logic [31:0] key_base,
    output logic [31:0] value_base,
    output logic [31:0] mask_base,
    output logic [31:0] output_base
);
  logic [6:0] control;  // without START, which is bit 0
  logic finished, wrong;
  logic [15:0] all_queries, all_keys;
  logic [4:0] query_point;
  logic [63:0] cycles, waiting;
  logic [5*32-1:0] high;  // halves of the bases; the port to the memory has 32 bits, so they must be 0
  logic runs, known, read_only, asks, of_lengths;
  // What is written with START counts at once: the core walks to the first tile in that cycle.
  assign {overlap, causal, normalise, predicts} = start ? {write_data[6], write_data[4:2]} : {control[6], control[4:2]};
  assign causal_offset = 17'(signed'({1'b0, all_keys})) - 17'(signed'({1'b0, all_queries}));
  assign query_align = 5'(POINT) - query_point;
  assign irq = finished && control[1];

  assign asks = write && address == 12'h020 && write_data[0] && !busy;
  assign runs = runnable && sequences != '0 && 32'(sequences) <= SEQUENCES && heads != '0 && depth != '0 && 32'(depth) <= DEPTH &&
      32'(depth) * 2 % STREAM == 0 && high == '0 && !write_data[5];
  assign start = asks && runs;

  assign of_lengths = address[11:10] == 2'b01 && address[1:0] == '0 && 32'(length_at) < SEQUENCES;
  assign length_at = address[9:2];
  assign length_write = write && of_lengths && !busy;

  always_comb begin
    known = 1'b1;
    read_only = 1'b0;
    case (address)
      12'h000, 12'h004, 12'h008, 12'h00c, 12'h010, 12'h014, 12'h0c0, 12'h0c4, 12'h0c8, 12'h0cc, 12'h0d0, 12'h0d4, 12'h0d8,
      12'h0dc: read_only = 1'b1;
      12'h020, 12'h024, 12'h030, 12'h034, 12'h038, 12'h03c, 12'h040, 12'h044, 12'h048, 12'h050, 12'h054, 12'h058, 12'h05c, 12'h060,
      12'h064, 12'h068, 12'h06c, 12'h070, 12'h074, 12'h080, 12'h084, 12'h088, 12'h08c, 12'h090, 12'h094, 12'h098, 12'h09c, 12'h0a0, 12'h0a4: ;
      default: known = of_lengths;
    endcase
    case (address)
      12'h000: read_data = 32'h4f525259;
      12'h004: read_data = 32'(ROWS);
      12'h008: read_data = 32'(PES);
      12'h00c: read_data = 32'(PORTS);
      12'h010: read_data = 32'(DEPTH);
      12'h014: read_data = 32'(KEYS);
      12'h020: read_data = 32'(control);
      12'h024: read_data = {29'd0, wrong, finished, busy};
      12'h030: read_data = 32'(sequences);
      12'h034: read_data = 32'(heads);
      12'h038: read_data = 32'(all_queries);
      12'h03c: read_data = 32'(all_keys);
      12'h040: read_data = 32'(depth);
      12'h044: read_data = 32'(query_multiplier);
      12'h048: read_data = 32'(query_point);
      12'h050: read_data = 32'(query_reciprocal);
      12'h054: read_data = 32'(query_shift);
      12'h058: read_data = 32'(query_factor);
      12'h05c: read_data = 32'(query_factor_shift);
      12'h060: read_data = 32'(key_reciprocal);
      12'h064: read_data = 32'(key_shift);
      12'h068: read_data = 32'(key_factor);
      12'h06c: read_data = 32'(key_factor_shift);
      12'h070: read_data = 32'(score_shift);
      12'h074: read_data = {8'd0, log2_threshold};
      12'h080: read_data = query_base;
      12'h088: read_data = key_base;
      12'h090: read_data = value_base;
      12'h098: read_data = mask_base;
      12'h0a0: read_data = output_base;
      12'h084: read_data = high[0+:32];
      12'h08c: read_data = high[32+:32];
      12'h094: read_data = high[64+:32];
      12'h09c: read_data = high[96+:32];
      12'h0a4: read_data = high[128+:32];
      12'h0c0: read_data = cycles[31:0];
      12'h0c4: read_data = cycles[63:32];
      12'h0c8: read_data = waiting[31:0];
      12'h0cc: read_data = waiting[63:32];
      12'h0d0: read_data = blocks;
      12'h0d4: read_data = kept[31:0];
      12'h0d8: read_data = kept[63:32];
      12'h0dc: read_data = saturated;
      default: read_data = of_lengths ? length_read : '0;
    endcase
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      control <= '0;
      finished <= 1'b0;
      wrong <= 1'b0;
      sequences <= '0;
      heads <= '0;
      all_queries <= '0;
      all_keys <= '0;
      depth <= '0;
      query_multiplier <= 16'h8000;
      query_point <= 5'd10;
      query_reciprocal <= '0;
      query_shift <= '0;
      query_factor <= '0;
      query_factor_shift <= '0;
      key_reciprocal <= '0;
      key_shift <= '0;
      key_factor <= '0;
      key_factor_shift <= '0;
      score_shift <= 6'd1;
      log2_threshold <= '0;
      query_base <= '0;
      key_base <= '0;
      value_base <= '0;
      mask_base <= '0;
      output_base <= '0;
      cycles <= '0;
      waiting <= '0;
      high <= '0;
    end else begin
      if (busy) cycles <= cycles + 1'b1;
      if (busy && !executes) waiting <= waiting + 1'b1;
      if (start) begin
        cycles <= '0;
        waiting <= '0;
        finished <= 1'b0;
      end
      if (write && address == 12'h024) begin
        if (write_data[1]) finished <= 1'b0;
        if (write_data[2]) wrong <= 1'b0;
      end else if (write && (busy || !known || read_only || (asks && !runs))) begin
        wrong <= 1'b1;
      end else if (write) begin
        case (address)
          12'h020: control <= {write_data[6:1], 1'b0};
          12'h030: sequences <= write_data[8:0];
          12'h034: heads <= write_data[15:0];
          12'h038: all_queries <= write_data[15:0];
          12'h03c: all_keys <= write_data[15:0];
          12'h040: depth <= write_data[12:0];
          12'h044: query_multiplier <= write_data[15:0];
          12'h048: query_point <= write_data[4:0];
          12'h050: query_reciprocal <= write_data[16:0];
          12'h054: query_shift <= write_data[5:0];
          12'h058: query_factor <= write_data[16:0];
          12'h05c: query_factor_shift <= write_data[5:0];
          12'h060: key_reciprocal <= write_data[16:0];
          12'h064: key_shift <= write_data[5:0];
          12'h068: key_factor <= write_data[16:0];
          12'h06c: key_factor_shift <= write_data[5:0];
          12'h070: score_shift <= write_data[5:0];
          12'h074: log2_threshold <= write_data[23:0];
          12'h080: query_base <= write_data;
          12'h088: key_base <= write_data;
          12'h090: value_base <= write_data;
          12'h098: mask_base <= write_data;
          12'h0a0: output_base <= write_data;
          12'h084: high[0+:32] <= write_data;
          12'h08c: high[32+:32] <= write_data;
          12'h094: high[64+:32] <= write_data;
          12'h09c: high[96+:32] <= write_data;
          12'h0a4: high[128+:32] <= write_data;
          default: ;
        endcase
      end
      if (done) finished <= 1'b1;
    end
  end
endmodule
