// A column of the predicted mask: which queries keep a key.
//
// Interface: `scores` and `thresholds`, row after row; `valid`: the pair is there at all. `column`: bit r of row r.
// Timing: combinational. Reset: none.
module keep_column #(
    parameter int ROWS = 8,
    parameter int SCORE_BITS = 16
) (
    input  logic [ROWS*SCORE_BITS-1:0] scores,
    input  logic [ROWS*(SCORE_BITS+8)-1:0] thresholds,
    input  logic [ROWS-1:0] valid,
    output logic [ROWS-1:0] column
);
  localparam int T_BITS = SCORE_BITS + 8;
  for (genvar r = 0; r < ROWS; r++) begin : row
    logic signed [SCORE_BITS-1:0] z;
    logic signed [T_BITS-1:0] t;
    assign z = scores[r*SCORE_BITS+:SCORE_BITS];
    assign t = thresholds[r*T_BITS+:T_BITS];
    assign column[r] = valid[r] && T_BITS'(z) > t;
  end
endmodule
