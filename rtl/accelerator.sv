// The accelerator: registers in front of the core.
//
// Interface: the driver's port (registers.sv), an interrupt (`irq`), and the port to the memory (accelerator_core.sv). A driver writes bases,
//   sizes and constants, then START; when DONE is up, outputs are in the memory.
// Timing and limits: the core's. Reset: `rst`, synchronous.
module accelerator #(
    parameter int ROWS = 8,
    parameter int PES = 4,
    parameter int PORTS = 8,
    parameter int DEPTH = 16,
    parameter int KEYS = 64,
    parameter int SLOTS = 4,
    parameter int SEQUENCES = 8,
    parameter int WIDTH = 8,
    parameter int CODE_BITS = 4,
    parameter int QUANTISER_LANES = 4,
    parameter int MERGE_LANES = 4,
    parameter int NORM_BITS = 22,
    parameter int IN_POINT = 10,
    parameter int BITS = 32,
    parameter int POINT = 16,
    parameter int SCORE_BITS = 16,
    parameter int SCORE_POINT = 10,
    parameter int OUT_POINT = 10,
    parameter int SUM_BITS = 40,
    parameter int TABLE_BITS = 6,
    parameter int LONG = 1,
    parameter int STREAM = 16
) (
    input  logic clk,
    input  logic rst,
    input  logic write,
    input  logic [11:0] address,
    input  logic [31:0] write_data,
    output logic [31:0] read_data,
    output logic irq,
    output logic request,
    output logic request_write,
    output logic [31:0] request_address,
    output logic [23:0] request_beats,
    input  logic request_ready,
    input  logic in_valid,
    input  logic [STREAM*8-1:0] in_data,
    output logic out_valid,
    input  logic out_ready,
    output logic [STREAM*8-1:0] out_data,
    input  logic out_done
);
  logic start, busy, done, length_write, runnable, overlap;
  logic [7:0] length_at;
  logic [31:0] length_read;
  logic [31:0] blocks, saturated;
  logic [63:0] kept;
  logic [5:0] units;
  logic predicts;
  logic normalise;
  logic causal;
  logic [8:0] sequences;
  logic [15:0] heads;
  logic [12:0] depth;
  logic signed [16:0] causal_offset;
  logic [15:0] query_multiplier;
  logic [4:0] query_align;
  logic [16:0] query_reciprocal;
  logic [5:0] query_shift;
  logic [16:0] query_factor;
  logic [5:0] query_factor_shift;
  logic [16:0] key_reciprocal;
  logic [5:0] key_shift;
  logic [16:0] key_factor;
  logic [5:0] key_factor_shift;
  logic [5:0] score_shift;
  logic signed [23:0] log2_threshold;
  logic [31:0] query_base;
  logic [31:0] key_base;
  logic [31:0] value_base;
  logic [31:0] mask_base;
  logic [31:0] output_base;

  registers #(
      .ROWS(ROWS),
      .PES(PES),
      .PORTS(PORTS),
      .DEPTH(DEPTH),
      .KEYS(KEYS),
      .SEQUENCES(SEQUENCES),
      .POINT(POINT),
      .STREAM(STREAM)
  ) words (
      .clk,
      .rst,
      .write,
      .address,
      .write_data,
      .read_data,
      .irq,
      .start,
      .busy,
      .done,
      .executes(units[4]),
      .kept,
      .blocks,
      .saturated,
      .length_write,
      .length_at,
      .length_read,
      .runnable,
      .overlap,
      .predicts,
      .normalise,
      .causal,
      .sequences,
      .heads,
      .depth,
      .causal_offset,
      .query_multiplier,
      .query_align,
      .query_reciprocal,
      .query_shift,
      .query_factor,
      .query_factor_shift,
      .key_reciprocal,
      .key_shift,
      .key_factor,
      .key_factor_shift,
      .score_shift,
      .log2_threshold,
      .query_base,
      .key_base,
      .value_base,
      .mask_base,
      .output_base
  );
  accelerator_core #(
      .ROWS(ROWS),
      .PES(PES),
      .PORTS(PORTS),
      .DEPTH(DEPTH),
      .KEYS(KEYS),
      .SLOTS(SLOTS),
      .SEQUENCES(SEQUENCES),
      .WIDTH(WIDTH),
      .CODE_BITS(CODE_BITS),
      .QUANTISER_LANES(QUANTISER_LANES),
      .MERGE_LANES(MERGE_LANES),
      .NORM_BITS(NORM_BITS),
      .IN_POINT(IN_POINT),
      .BITS(BITS),
      .POINT(POINT),
      .SCORE_BITS(SCORE_BITS),
      .SCORE_POINT(SCORE_POINT),
      .OUT_POINT(OUT_POINT),
      .SUM_BITS(SUM_BITS),
      .TABLE_BITS(TABLE_BITS),
      .LONG(LONG),
      .STREAM(STREAM)
  ) core (
      .clk,
      .rst,
      .length_write,
      .length_at,
      .length_data(write_data),
      .length_read,
      .runnable,
      .start,
      .busy,
      .done,
      .overlap,
      .predicts,
      .normalise,
      .causal,
      .sequences,
      .heads,
      .depth,
      .causal_offset,
      .query_multiplier,
      .query_align,
      .query_reciprocal,
      .query_shift,
      .query_factor,
      .query_factor_shift,
      .key_reciprocal,
      .key_shift,
      .key_factor,
      .key_factor_shift,
      .score_shift,
      .log2_threshold,
      .query_base,
      .key_base,
      .value_base,
      .mask_base,
      .output_base,
      .request,
      .request_write,
      .request_address,
      .request_beats,
      .request_ready,
      .in_valid,
      .in_data,
      .out_valid,
      .out_ready,
      .out_data,
      .out_done,
      .units,
      .kept_entries(kept),
      .blocks,
      .saturated
  );

  logic unused;
  assign unused = &{1'b0, units};
endmodule
