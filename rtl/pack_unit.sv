// Pack unit: a column of a tile's mask a cycle in; for each row the number of its PE's column out, and a signal that closes
// the block.
//
// Interface: `command`: 0 idle, 1 clear (counters and number), 2 read `column`, bit i of row i.
//   `full`   combinational: a row has a bit in `column` and PES of them in the block already. A column that is read while
//            `full` is up closes the block: counters and number start again and the column must come again.
//   `write`  the last column that was read had a bit; `mask` holds, row after row, that column's number where the row had
//            a bit, NONE elsewhere. `counts`: entries of each row in the block.
// Timing: `write` and `mask` one cycle after the column. A column a cycle.
// Reset: `rst`, synchronous: counters, number and `write` 0, `mask` NONE.
module pack_unit #(
    parameter int HEIGHT = 64,
    parameter int PES = 16,
    parameter int NUMBER_BITS = 6,
    parameter int MASK_BITS = 7,
    parameter int NONE = 64
) (
    input  logic clk,
    input  logic rst,
    input  logic [1:0] command,
    input  logic [HEIGHT-1:0] column,
    output logic full,
    output logic write,
    output logic [HEIGHT*MASK_BITS-1:0] mask,
    output logic [HEIGHT*$clog2(PES+1)-1:0] counts,
    output logic [NUMBER_BITS-1:0] number
);
  localparam int COUNT_BITS = $clog2(PES + 1);
  localparam logic [1:0] CLEAR = 2'd1, READ = 2'd2;

  logic [HEIGHT-1:0] fills;
  logic any;
  assign any  = |column;
  assign full = |(column & fills);

  always_ff @(posedge clk) begin
    if (rst || command == CLEAR) begin
      number <= '0;
      write  <= 1'b0;
    end else if (command == READ) begin
      number <= full ? '0 : number + 1'b1;
      write  <= any;
    end
  end

  for (genvar i = 0; i < HEIGHT; i++) begin : row
    logic [COUNT_BITS-1:0] count;
    assign fills[i] = count == COUNT_BITS'(PES);
    assign counts[i*COUNT_BITS+:COUNT_BITS] = count;
    always_ff @(posedge clk) begin
      if (rst || command == CLEAR) count <= '0;
      else if (command == READ) count <= full ? '0 : count + COUNT_BITS'(column[i]);
      if (rst) mask[i*MASK_BITS+:MASK_BITS] <= MASK_BITS'(NONE);
      else if (command == READ && any)
        mask[i*MASK_BITS+:MASK_BITS] <= column[i] ? MASK_BITS'(number) : MASK_BITS'(NONE);
    end
`ifdef FORMAL
    always_comb if (!rst) assert (count <= COUNT_BITS'(PES));  // no row has more entries in a block than it has PEs
`endif
  end

`ifdef FORMAL
  // What follows a column that closes a block is never refused: that column is neither lost nor read for ever.
  logic closed, counted;
  logic [HEIGHT-1:0] last_column;
  always_ff @(posedge clk) begin
    closed <= !rst && command == READ && full;
    counted <= !rst && command == READ && !full;
    last_column <= column;
  end
  initial assume (rst);
  always_comb if (!rst) begin
    if (closed) assert (!full && number == '0);
    if (counted) assert (write == |last_column);  // a column with a bit is written, one without is not
  end
`endif
endmodule
