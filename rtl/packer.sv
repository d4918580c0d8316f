// Packer: a column of a tile's mask a cycle in, blocks of at most PORTS columns out, of which no row has more than PES entries.
//
// Interface: `begin_tile` starts a tile. `in_valid`, `in_ready`: a column with its key; the one that closes a block is not taken
//   (`in_ready` is down) and must stay. `in_end`, instead of a column: the tile's end. `write`: `write_bits` and `write_key`
//   belong to port `write_port` of the open block, a cycle after the column was taken. `close`: the block of `columns` columns
//   and `counts` entries of each row is complete, with what is written in this cycle.
// Timing: a column a cycle, and one for each block closed; the end takes one, too. `close`, `in_ready`: without a clock.
// Reset: `rst`, synchronous: an empty block.
module packer #(
    parameter int ROWS = 8,
    parameter int PES = 4,
    parameter int PORTS = 8,
    parameter int KEY_BITS = 10
) (
    input  logic clk,
    input  logic rst,
    input  logic begin_tile,
    input  logic in_valid,
    input  logic in_end,
    input  logic [KEY_BITS-1:0] in_key,
    input  logic [ROWS-1:0] in_column,
    output logic in_ready,
    output logic write,
    output logic [$clog2(PORTS+1)-1:0] write_port,
    output logic [KEY_BITS-1:0] write_key,
    output logic [ROWS-1:0] write_bits,
    output logic close,
    output logic [$clog2(PORTS+1)-1:0] columns,
    output logic [ROWS*$clog2(PES+1)-1:0] counts
);
  localparam int PORT_BITS = $clog2(PORTS + 1);
  localparam logic [1:0] IDLE = 2'd0, CLEAR = 2'd1, READ = 2'd2;

  logic any, full, presented, overfull, wrote;
  logic [1:0] command;
  logic [ROWS*PORT_BITS-1:0] mask;
  assign any = |in_column;
  assign presented = in_valid && !in_end && !begin_tile && any;
  assign overfull = full || columns == PORT_BITS'(PORTS);
  assign in_ready = !in_end && !begin_tile && !(any && overfull);
  assign close = (presented && overfull) || (in_end && !begin_tile && columns != '0);

  always_comb begin
    if (begin_tile || in_end || (presented && overfull && !full)) command = CLEAR;
    else if (presented) command = READ;
    else command = IDLE;
  end

  pack_unit #(
      .HEIGHT(ROWS),
      .PES(PES),
      .NUMBER_BITS(PORT_BITS),
      .MASK_BITS(PORT_BITS),
      .NONE(PORTS)
  ) unit (
      .clk,
      .rst,
      .command,
      .column(in_column),
      .full,
      .write(wrote),
      .mask,
      .counts,
      .number(columns)
  );

  logic taken;
  always_ff @(posedge clk) begin
    taken <= !rst && presented && !overfull;
    write_key <= in_key;
    write_port <= columns;
  end
  assign write = taken && wrote;
  for (genvar i = 0; i < ROWS; i++) begin : row
    assign write_bits[i] = mask[i*PORT_BITS+:PORT_BITS] != PORT_BITS'(PORTS);
  end

`ifdef FORMAL
  for (genvar i = 0; i < ROWS; i++) begin : counted
    always_comb if (!rst) assert (32'(counts[i*$clog2(PES+1)+:$clog2(PES+1)]) <= 32'(columns));
  end
  // No block has more columns than ports; a column that closes a block is taken next; one that is taken is written once.
  logic closed, took;
  logic [ROWS-1:0] last;
  always_ff @(posedge clk) begin
    closed <= !rst && close;
    took <= !rst && presented && in_ready;
    last <= in_column;
  end
  initial assume (rst);
  always_comb if (!rst) begin
    assert (columns <= PORT_BITS'(PORTS));
    if (closed && !in_end && !begin_tile) assert (in_ready);
    assert (took == taken && took == write);
    if (taken) assert (wrote && write_port < PORT_BITS'(PORTS) && write_bits == last);
    if (close) assert (columns != '0);
  end
`endif
endmodule
