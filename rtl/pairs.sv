// Which pairs of a key and a tile's queries there are: both are valid, and the key stands at no later position under causal masking.
//
// Interface: of query `first` + r bit r of `there`; `rows` queries there are. Validity counts where masks are predicted.
// Timing: combinational. Reset: none.
module pairs #(
    parameter int ROWS = 8,
    parameter int KEYS = 64,
    parameter int KEY_BITS = 7,
    parameter int ROW_BITS = 4
) (
    input  logic [KEY_BITS-1:0] key,
    input  logic [ROW_BITS-1:0] rows,
    input  logic [15:0] first,
    input  logic predicts,
    input  logic causal,
    input  logic signed [16:0] causal_offset,
    input  logic [ROWS-1:0] query_valid,
    input  logic [KEYS-1:0] key_valid,
    output logic [ROWS-1:0] there
);
  localparam int KEY_AT = KEYS < 2 ? 1 : $clog2(KEYS);
  logic key_there;
  logic signed [17:0] most;  // the last position that query `first` sees
  assign key_there = !predicts || key_valid[KEY_AT'(key)];
  assign most = 18'(signed'({1'b0, first})) + 18'(causal_offset);
  for (genvar r = 0; r < ROWS; r++) begin : row
    assign there[r] = r < 32'(rows) && (!predicts || query_valid[r]) && key_there &&
        (!causal || 18'(signed'({1'b0, key})) <= most + 18'(r));
  end
endmodule
