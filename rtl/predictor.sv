// Predictor: a tile's queries against all of its keys, in passes of the prediction array's columns; scores, their rows'
// statistics and thresholds out.
//
//   a pass   1 cycle clears, depth + WIDTH + ROWS - 1 calculate, WIDTH drain: the last column's sums are rescaled into a register a
//            row, and the one before enters the statistics
//   tail     1 cycle for the last of these; ROWS: a threshold a cycle
//
// Interface: `start` begins a tile of `rows` queries and `keys` keys. `query_codes` and `key_codes` are element `element` of the tile's
//   queries and of keys `pass` WIDTH to `pass` WIDTH + WIDTH - 1, `key_factor` belongs to `factor_key`, `valid` (row by row) to
//   `score_key`, each in the same cycle; what lies beyond rows, keys and depth does not matter. `query_factors`, `depth`,
//   `shift` and `log2_threshold` hold while `busy`. `score_valid`: `scores` are those of `score_key`, all rows. `saturated`: how many of
//   those rescaled in this cycle did not fit. `last`: the last busy cycle.
// Timing: ceil(keys / WIDTH) (depth + 2 WIDTH + ROWS) + 1 + ROWS cycles from the one after `start`; `thresholds` are valid then.
// Reset: `rst`, synchronous: idle.
module predictor #(
    parameter int ROWS = 8,
    parameter int WIDTH = 8,
    parameter int CODE_BITS = 4,
    parameter int SUM_BITS = 14,
    parameter int DEPTH_BITS = 7,
    parameter int KEY_BITS = 11,
    parameter int BITS = 32,
    parameter int POINT = 16,
    parameter int SCORE_BITS = 16,
    parameter int SCORE_POINT = 10,
    parameter int TABLE_BITS = 6,
    parameter int LONG = 1
) (
    input  logic clk,
    input  logic rst,
    input  logic start,
    input  logic [$clog2(ROWS+1)-1:0] rows,
    input  logic [KEY_BITS-1:0] keys,
    input  logic [DEPTH_BITS-1:0] depth,
    input  logic [5:0] shift,
    input  logic signed [23:0] log2_threshold,
    output logic busy,
    output logic last,
    output logic [DEPTH_BITS-1:0] element,
    output logic [KEY_BITS-1:0] pass,
    input  logic [ROWS*CODE_BITS-1:0] query_codes,
    input  logic [WIDTH*CODE_BITS-1:0] key_codes,
    input  logic [ROWS*16-1:0] query_factors,
    output logic [KEY_BITS-1:0] factor_key,
    input  logic [15:0] key_factor,
    output logic score_valid,
    output logic [KEY_BITS-1:0] score_key,
    output logic [ROWS*SCORE_BITS-1:0] scores,
    input  logic [ROWS-1:0] valid,
    output logic [$clog2(ROWS+1)-1:0] saturated,
    output logic [ROWS*(SCORE_BITS+8)-1:0] thresholds
);
  localparam int CODE_SUM_BITS = CODE_BITS + DEPTH_BITS;
  localparam int T_BITS = SCORE_BITS + 8;
  localparam int COUNT_BITS = $clog2(ROWS + 1);
  localparam int CYCLE_BITS = DEPTH_BITS + $clog2(WIDTH + ROWS) + 1;
  localparam int COLUMN_BITS = $clog2(WIDTH) < 1 ? 1 : $clog2(WIDTH);
  localparam int ROW_BITS = $clog2(ROWS) < 1 ? 1 : $clog2(ROWS);

  typedef enum logic [2:0] {IDLE, CLEAR, CALCULATE, DRAIN, LAST, THRESHOLDS} state_t;
  state_t state  /*verilator public_flat_rd*/;
  assign busy = state != IDLE;

  logic [CYCLE_BITS-1:0] cycle, last_cycle;
  logic [COLUMN_BITS-1:0] column;
  logic [ROW_BITS-1:0] threshold_row;
  assign last = state == THRESHOLDS && threshold_row == ROW_BITS'(ROWS - 1);
  logic [KEY_BITS-1:0] first_key;  // of the pass
  logic [KEY_BITS:0] after_pass;
  logic more;
  assign last_cycle = CYCLE_BITS'(depth) + CYCLE_BITS'(WIDTH + ROWS - 2);
  assign after_pass = {1'b0, first_key} + (KEY_BITS + 1)'(WIDTH);
  assign more = after_pass < {1'b0, keys};
  assign element = DEPTH_BITS'(cycle);

  always_ff @(posedge clk) begin
    if (rst) state <= IDLE;
    else
      case (state)
        CLEAR: state <= CALCULATE;
        CALCULATE: if (cycle == last_cycle) state <= DRAIN;
        DRAIN: if (column == '0) state <= more ? CLEAR : LAST;
        LAST: state <= THRESHOLDS;
        THRESHOLDS: if (last) state <= IDLE;
        default: if (start) state <= keys == '0 ? LAST : CLEAR;
      endcase
    cycle <= state == CALCULATE ? cycle + 1'b1 : '0;
    column <= state == DRAIN ? column - 1'b1 : COLUMN_BITS'(WIDTH - 1);
    threshold_row <= state == THRESHOLDS ? threshold_row + 1'b1 : '0;
    if (state == IDLE) begin
      pass <= '0;
      first_key <= '0;
    end else if (state == DRAIN && column == '0) begin
      pass <= pass + 1'b1;
      first_key <= KEY_BITS'(after_pass);
    end
  end

  // Codes, offset to be unsigned; those of row r come r cycles late, of column c c cycles late.
  logic there;
  logic [ROWS*CODE_BITS-1:0] left;
  logic [WIDTH*CODE_BITS-1:0] top;
  assign there = state == CALCULATE && cycle < CYCLE_BITS'(depth);
  for (genvar r = 0; r < ROWS; r++) begin : query
    logic [CODE_BITS-1:0] code;
    assign code = there && r < 32'(rows) ? query_codes[r*CODE_BITS+:CODE_BITS] ^ {1'b1, {(CODE_BITS - 1) {1'b0}}} : '0;
    skew #(
        .BITS (CODE_BITS),
        .DELAY(r)
    ) late (
        .clk,
        .rst,
        .in (code),
        .out(left[r*CODE_BITS+:CODE_BITS])
    );
  end
  for (genvar c = 0; c < WIDTH; c++) begin : key
    logic [CODE_BITS-1:0] code;
    assign code = there && {1'b0, first_key} + (KEY_BITS + 1)'(c) < {1'b0, keys} ?
        key_codes[c*CODE_BITS+:CODE_BITS] ^ {1'b1, {(CODE_BITS - 1) {1'b0}}} : '0;
    skew #(
        .BITS (CODE_BITS),
        .DELAY(c)
    ) late (
        .clk,
        .rst,
        .in (code),
        .out(top[c*CODE_BITS+:CODE_BITS])
    );
  end

  logic [ROWS*SUM_BITS-1:0] last_sums;
  logic [ROWS*2-1:0] no_exponentials, no_totals;
  prediction_array #(
      .BITS(2),
      .POINT(0),
      .APPEND(0),
      .CODE_BITS(CODE_BITS),
      .SUM_BITS(SUM_BITS),
      .WIDTH(WIDTH),
      .HEIGHT(ROWS),
      .PUBLISHED(0)
  ) array (
      .clk,
      .rst,
      .pe_command(state == CLEAR ? 2'd1 : state == CALCULATE ? 2'd2 : state == DRAIN ? 2'd3 : 2'd0),
      .sum_command(2'd0),
      .left,
      .top,
      .last(last_sums),
      .exponential(no_exponentials),
      .total(no_totals)
  );

  // Sums of codes; those of keys move as the drained sums do.
  logic [WIDTH*CODE_SUM_BITS-1:0] key_sums;
  for (genvar c = 0; c < WIDTH; c++) begin : key_sum
    logic [CODE_SUM_BITS-1:0] sum, left_sum;
    if (c == 0) begin : first
      assign left_sum = '0;
    end else begin : others
      assign left_sum = key_sums[(c-1)*CODE_SUM_BITS+:CODE_SUM_BITS];
    end
    always_ff @(posedge clk) begin
      if (state == CLEAR) sum <= '0;
      else if (state == CALCULATE) sum <= sum + CODE_SUM_BITS'(top[c*CODE_BITS+:CODE_BITS]);
      else if (state == DRAIN) sum <= left_sum;
    end
    assign key_sums[c*CODE_SUM_BITS+:CODE_SUM_BITS] = sum;
  end

  // Rescaling, statistics.
  logic drains;
  assign factor_key = first_key + KEY_BITS'(column);
  assign drains = state == DRAIN && {1'b0, first_key} + (KEY_BITS + 1)'(column) < {1'b0, keys};
  always_ff @(posedge clk) begin
    score_valid <= drains && !rst;
    score_key <= factor_key;
  end
  logic [ROWS-1:0] beyond;
  logic [ROWS*SCORE_BITS-1:0] mosts;
  logic [ROWS*BITS-1:0] sums;
  for (genvar r = 0; r < ROWS; r++) begin : row
    logic [CODE_SUM_BITS-1:0] row_sum;
    logic [SCORE_BITS-1:0] z, rescaled;
    logic saturates;
    score_rescale #(
        .CODE_BITS(CODE_BITS),
        .SUM_BITS(SUM_BITS),
        .CODE_SUM_BITS(CODE_SUM_BITS),
        .DEPTH_BITS(DEPTH_BITS),
        .SCORE_BITS(SCORE_BITS)
    ) rescale (
        .sum(last_sums[r*SUM_BITS+:SUM_BITS]),
        .row_sum,
        .key_sum(key_sums[(WIDTH-1)*CODE_SUM_BITS+:CODE_SUM_BITS]),
        .depth,
        .query_factor(query_factors[r*16+:16]),
        .key_factor,
        .shift,
        .z,
        .saturated(saturates)
    );
    always_ff @(posedge clk) begin
      if (state == CLEAR) row_sum <= '0;
      else if (state == CALCULATE) row_sum <= row_sum + CODE_SUM_BITS'(left[r*CODE_BITS+:CODE_BITS]);
      if (drains) rescaled <= z;
    end
    assign beyond[r] = drains && saturates && r < 32'(rows);
    assign scores[r*SCORE_BITS+:SCORE_BITS] = rescaled;

    row_statistics #(
        .BITS(BITS),
        .POINT(POINT),
        .SCORE_BITS(SCORE_BITS),
        .SCORE_POINT(SCORE_POINT),
        .TABLE_BITS(TABLE_BITS),
        .LONG(LONG)
    ) statistics (
        .clk,
        .rst,
        .clear(state == IDLE && start),
        .take(score_valid && valid[r] && r < 32'(rows)),
        .z(rescaled),
        .most(mosts[r*SCORE_BITS+:SCORE_BITS]),
        .sum(sums[r*BITS+:BITS])
    );
  end
  always_comb begin
    saturated = '0;
    for (int r = 0; r < ROWS; r++) saturated = saturated + COUNT_BITS'(beyond[r]);
  end

  // Thresholds, one a cycle.
  logic signed [T_BITS-1:0] t;
  row_threshold #(
      .BITS(BITS),
      .POINT(POINT),
      .SCORE_BITS(SCORE_BITS),
      .SCORE_POINT(SCORE_POINT)
  ) threshold (
      .log2_threshold,
      .most(mosts[threshold_row*SCORE_BITS+:SCORE_BITS]),
      .sum(sums[threshold_row*BITS+:BITS]),
      .t
  );
  for (genvar r = 0; r < ROWS; r++) begin : held
    logic [T_BITS-1:0] kept;
    always_ff @(posedge clk) if (state == THRESHOLDS && threshold_row == ROW_BITS'(r)) kept <= t;
    assign thresholds[r*T_BITS+:T_BITS] = kept;
  end

  logic unused;
  assign unused = &{1'b0, no_exponentials, no_totals};
endmodule
