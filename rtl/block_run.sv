// A packed block in the sparse array: its phases, what they are fed, when its outputs are taken.
//
//   clear 1 | scores depth + PORTS + ROWS - 1 | maximum 1 | exponentials 1 | values depth + PORTS + ROWS - 1 | drain PES
//
// Interface: `start` begins a block whose words (mask_decoder) hold while `busy`. `left` is element `element` of every row's query, `top`
//   of every port's key, in `values` of its value, aligned to POINT, in the same cycle; beyond `depth` they do not matter. In `out_valid` bit
//   r: `o` of row r is its output `out_element` of row r. `maxima` and `sums` are the block's once it is done, until the next start.
//   `last`: the block's last cycle, in which the next one may start.
// Timing: 2 (depth + PORTS + ROWS - 1) + 3 + PES cycles from the one after `start`. Reset: `rst`, synchronous: idle.
module block_run #(
    parameter int BITS = 32,
    parameter int POINT = 16,
    parameter int ROWS = 8,
    parameter int PES = 4,
    parameter int PORTS = 8,
    parameter int PORT_BITS = 4,
    parameter int DEPTH_BITS = 8,
    parameter int TABLE_BITS = 6,
    parameter int LONG = 1
) (
    input  logic clk,
    input  logic rst,
    input  logic start,
    input  logic [DEPTH_BITS-1:0] depth,
    input  logic [ROWS*PES*PORT_BITS-1:0] ports,
    input  logic [ROWS*PES-1:0] busy_pes,
    input  logic [ROWS*PES*PORT_BITS-1:0] delays,
    output logic busy,
    output logic last,
    output logic [DEPTH_BITS-1:0] element,
    output logic values,
    input  logic [ROWS*BITS-1:0] left,
    input  logic [PORTS*BITS-1:0] top,
    output logic [ROWS-1:0] out_valid,
    output logic [ROWS*DEPTH_BITS-1:0] out_element,
    output logic [ROWS*BITS-1:0] o,
    output logic [ROWS*BITS-1:0] sums,
    output logic [ROWS*BITS-1:0] maxima
);
  localparam int CYCLE_BITS = DEPTH_BITS + $clog2(PORTS + ROWS + PES) + 1;

  typedef enum logic [2:0] {IDLE, CLEAR, SCORES, MOST, BELOW, VALUES, DRAIN} state_t;
  state_t state  /*verilator public_flat_rd*/;
  logic [CYCLE_BITS-1:0] cycle, last_cycle;
  assign busy = state != IDLE;
  assign values = state == VALUES;
  assign last_cycle = CYCLE_BITS'(depth) + CYCLE_BITS'(PORTS + ROWS - 2);
  assign last = state == DRAIN && cycle == CYCLE_BITS'(PES - 1);
  assign element = DEPTH_BITS'(cycle);

  always_ff @(posedge clk) begin
    if (rst) state <= IDLE;
    else
      case (state)
        CLEAR: state <= SCORES;
        SCORES: if (cycle == last_cycle) state <= MOST;
        MOST: state <= BELOW;
        BELOW: state <= VALUES;
        VALUES: if (cycle == last_cycle) state <= DRAIN;
        DRAIN: if (last) state <= start ? CLEAR : IDLE;
        default: if (start) state <= CLEAR;
      endcase
    cycle <= (state == SCORES || state == VALUES) && cycle == last_cycle ? '0 : state == SCORES || state == VALUES || state == DRAIN ? cycle + 1'b1 : '0;
  end

  // Row r gets an element r cycles late, port m m cycles late.
  logic there;
  logic [ROWS*BITS-1:0] late_left;
  logic [PORTS*BITS-1:0] late_top;
  assign there = cycle < CYCLE_BITS'(depth);
  for (genvar r = 0; r < ROWS; r++) begin : query
    skew #(
        .BITS (BITS),
        .DELAY(r)
    ) late (
        .clk,
        .rst,
        .in (state == SCORES && there ? left[r*BITS+:BITS] : '0),
        .out(late_left[r*BITS+:BITS])
    );
  end
  for (genvar m = 0; m < PORTS; m++) begin : key
    skew #(
        .BITS (BITS),
        .DELAY(m)
    ) late (
        .clk,
        .rst,
        .in ((state == SCORES || state == VALUES) && there ? top[m*BITS+:BITS] : '0),
        .out(late_top[m*BITS+:BITS])
    );
  end

  // Words: idle PEs multiply by zero; values are multiplied by the PE's own exponential.
  logic by_values;
  logic [ROWS*PES*PORT_BITS-1:0] c1;
  assign by_values = state == VALUES || state == DRAIN;
  for (genvar i = 0; i < ROWS * PES; i++) begin : word
    assign c1[i*PORT_BITS+:PORT_BITS] = !busy_pes[i] ? PORT_BITS'(PORTS + 1) :
        by_values ? PORT_BITS'(PORTS) : ports[i*PORT_BITS+:PORT_BITS];
  end
  logic [1:0] c3;
  logic [2:0] c5;
  assign c3 = state == CLEAR ? 2'd0 : state == SCORES ? 2'd2 : state == VALUES ? 2'd3 : 2'd1;
  assign c5 = state == MOST ? 3'd3 : state == BELOW ? 3'd4 : state == DRAIN ? 3'd2 : 3'd0;

  logic [ROWS*PES*BITS-1:0] accumulators, exponentials;
  sparse_array #(
      .BITS(BITS),
      .POINT(POINT),
      .ROWS(ROWS),
      .PES(PES),
      .PORTS(PORTS),
      .PORT_BITS(PORT_BITS),
      .DELAY_BITS(PORT_BITS),
      .TABLE_BITS(TABLE_BITS),
      .LONG(LONG),
      .PUBLISHED(0)
  ) array (
      .clk,
      .rst,
      .clear(state == CLEAR),
      .c3,
      .c5,
      .c1,
      .c2(ports),
      .c4(delays),
      .left(late_left),
      .top(late_top),
      .o,
      .sums,
      .maxima,
      .accumulators,
      .exponentials
  );

  // After cycle n + r + PORTS of the values the chain of row r shows output n: the last one while sums drain already.
  logic shows;
  logic [CYCLE_BITS-1:0] shown;
  assign shows = state == VALUES || (state == DRAIN && cycle == '0);
  assign shown = state == VALUES ? cycle : last_cycle + 1'b1;
  for (genvar r = 0; r < ROWS; r++) begin : output_row
    logic [CYCLE_BITS-1:0] n;
    assign n = shown - CYCLE_BITS'(PORTS + r + 1);
    assign out_valid[r] = shows && shown > CYCLE_BITS'(PORTS + r) && n < CYCLE_BITS'(depth);
    assign out_element[r*DEPTH_BITS+:DEPTH_BITS] = DEPTH_BITS'(n);
  end

  logic unused;
  assign unused = &{1'b0, accumulators, exponentials};
endmodule
