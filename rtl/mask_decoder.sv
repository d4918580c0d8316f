// Mask decoder: a packed block's columns, a port a cycle, to the words that the sparse array's multiplexers take.
//
// Where a row's bit is set, the row's next PE takes the port; else, while the row has idle PEs left, the next PE takes it as an
// idle one with zero for an operand. A PE's delay follows when the next one takes its port.
//
// Interface: `step` takes the bits of one port, ascending, all of them, 0 where the block has no more columns; `first` with the
//   first of them, when `counts`, entries of each row, count. Words are complete after PORTS steps: `ports` (c2 and, for a PE
//   with an entry, c1 of scores), `busy` (it has one), `delays` (c4 of values).
// Timing: a port a cycle; words are registers. Reset: `rst`, synchronous: all 0.
module mask_decoder #(
    parameter int ROWS = 8,
    parameter int PES = 4,
    parameter int PORTS = 8,
    parameter int PORT_BITS = 4
) (
    input  logic clk,
    input  logic rst,
    input  logic step,
    input  logic first,
    input  logic [ROWS*$clog2(PES+1)-1:0] counts,
    input  logic [ROWS-1:0] bits,
    output logic [ROWS*PES*PORT_BITS-1:0] ports,
    output logic [ROWS*PES-1:0] busy,
    output logic [ROWS*PES*PORT_BITS-1:0] delays
);
  localparam int COUNT_BITS = $clog2(PES + 1);

  logic [PORT_BITS-1:0] next_port, port;
  assign port = first ? '0 : next_port;
  always_ff @(posedge clk) begin
    if (rst) next_port <= '0;
    else if (step) next_port <= port + 1'b1;
  end

  for (genvar r = 0; r < ROWS; r++) begin : row
    logic [COUNT_BITS-1:0] next, idle, next_now, idle_now;
    logic takes;
    assign next_now = first ? '0 : next;
    assign idle_now = first ? COUNT_BITS'(PES) - counts[r*COUNT_BITS+:COUNT_BITS] : idle;
    assign takes = bits[r] || idle_now != '0;
    always_ff @(posedge clk) begin
      if (rst) begin
        next <= '0;
        idle <= '0;
      end else if (step) begin
        next <= next_now + COUNT_BITS'(takes);
        idle <= idle_now - COUNT_BITS'(!bits[r] && idle_now != '0);
      end
    end
    for (genvar j = 0; j < PES; j++) begin : column
      localparam int AT = r * PES + j;
      logic [PORT_BITS-1:0] taken, delay;
      logic entry;
      always_ff @(posedge clk) begin
        if (rst) begin
          taken <= '0;
          delay <= '0;
          entry <= 1'b0;
        end else if (step) begin
          if (takes && next_now == COUNT_BITS'(j)) begin
            taken <= port;
            delay <= PORT_BITS'(PORTS - 1) - port;
            entry <= bits[r];
          end else if (takes && next_now == COUNT_BITS'(j + 1)) begin
            delay <= port - taken - 1'b1;
          end else if (first) begin
            taken <= '0;
            delay <= '0;
            entry <= 1'b0;
          end
        end
      end
      assign ports[AT*PORT_BITS+:PORT_BITS] = taken;
      assign delays[AT*PORT_BITS+:PORT_BITS] = delay;
      assign busy[AT] = entry;
    end
  end
endmodule
