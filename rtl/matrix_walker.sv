// Walks through the matrices of a run: sequence by sequence, head by head. Remembers the keys of the last four.
//
// Interface: as tile_walker's. `keys`: of matrix m, at place m mod 4.
// Timing: what is walked into can be read from the next cycle on. Reset: `rst`, synchronous: nothing walked.
module matrix_walker (
    input  logic clk,
    input  logic rst,
    input  logic start,
    input  logic advance,
    input  logic [15:0] heads,
    output logic [8:0] from,
    input  logic found,
    input  logic [8:0] sequence_found,
    input  logic [15:0] keys_found,
    output logic [31:0] walked,
    output logic [4*16-1:0] keys
);
  logic [8:0] in_sequence;
  logic [15:0] head, all_keys, next_keys;
  logic same_sequence, walks;
  logic [1:0] place;
  assign from = start ? '0 : in_sequence + 1'b1;
  assign same_sequence = !start && head + 1'b1 != heads;
  assign walks = start || (advance && (same_sequence || found));
  assign next_keys = same_sequence ? all_keys : keys_found;
  assign place = start ? '0 : walked[1:0];

  always_ff @(posedge clk) begin
    if (rst) walked <= '0;
    else if (walks) walked <= start ? 32'd1 : walked + 1'b1;
    if (walks) begin
      if (!same_sequence) in_sequence <= sequence_found;
      head <= same_sequence ? head + 1'b1 : '0;
      all_keys <= next_keys;
      keys[place*16+:16] <= next_keys;
    end
  end
endmodule
