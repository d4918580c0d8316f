// Lengths of the sequences of a run, and which of them have queries.
//
// Interface: `write` puts queries (low half) and keys (high half) of sequence `at`; `data` reads them back. `runnable`: one of the first
//   `sequences` has queries, and none has more than KEYS keys. Two searches: the first sequence from `*_from` on, below
//   `sequences`, that has queries: `*_found`, `*_sequence`, and its lengths.
// Timing: reads and searches without a clock. Reset: `rst`, synchronous: all lengths 0.
module lengths #(
    parameter int SEQUENCES = 16,
    parameter int KEYS = 64
) (
    input  logic clk,
    input  logic rst,
    input  logic write,
    input  logic [7:0] at,
    input  logic [31:0] write_data,
    output logic [31:0] data,
    input  logic [8:0] sequences,
    output logic runnable,
    input  logic [8:0] tile_from,
    output logic tile_found,
    output logic [8:0] tile_sequence,
    output logic [15:0] tile_queries,
    output logic [15:0] tile_keys,
    input  logic [8:0] matrix_from,
    output logic matrix_found,
    output logic [8:0] matrix_sequence,
    output logic [15:0] matrix_keys
);
  localparam int AT = SEQUENCES < 2 ? 1 : $clog2(SEQUENCES);

  logic [31:0] words[SEQUENCES];
  logic [SEQUENCES-1:0] written, there, too_long;
  assign data = written[AT'(at)] ? words[AT'(at)] : '0;
  always_ff @(posedge clk) begin
    if (write) words[AT'(at)] <= write_data;
    if (rst) begin
      written <= '0;
      there <= '0;
      too_long <= '0;
    end else if (write) begin
      written[AT'(at)] <= 1'b1;
      there[AT'(at)] <= write_data[15:0] != '0;
      too_long[AT'(at)] <= 32'(write_data[31:16]) > KEYS;
    end
  end

  always_comb begin
    runnable = 1'b0;
    for (int i = 0; i < SEQUENCES; i++) if (there[i] && i < 32'(sequences)) runnable = 1'b1;
    for (int i = 0; i < SEQUENCES; i++) if (too_long[i] && i < 32'(sequences)) runnable = 1'b0;
  end
  always_comb begin
    tile_found = 1'b0;
    tile_sequence = '0;
    matrix_found = 1'b0;
    matrix_sequence = '0;
    for (int i = SEQUENCES - 1; i >= 0; i--)
      if (there[i] && i < 32'(sequences)) begin
        if (i >= 32'(tile_from)) begin
          tile_found = 1'b1;
          tile_sequence = 9'(i);
        end
        if (i >= 32'(matrix_from)) begin
          matrix_found = 1'b1;
          matrix_sequence = 9'(i);
        end
      end
  end
  assign {tile_keys, tile_queries} = words[AT'(tile_sequence)];
  assign matrix_keys = words[AT'(matrix_sequence)][31:16];

  logic unused;
  assign unused = &{1'b0, at};
endmodule
