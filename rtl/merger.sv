// Merger: outputs of blocks into a tile's accumulators by online softmax, then these into outputs.
//
//   a block   M' = max(M, m), a = e(M - M'), b = e(m - M');  S' = a S + b s, O' = a O + b o, rounded half up
//   outputs   r = floor(2^(POINT + 24) / S), 0 for S = 0;     O r, rounded half up and saturated; M, S, O are cleared
//
// Interface: `start_merge` reads a block of ROWS rows: `weigh_row` points to a row's `query` (`query_valid`), `most` and `sum`, `row`
//   and `chunk` to LANES of its `elements`, each in the same cycle. A row whose `most` is the least number has no entry.
//   `start_normalise`: queries 0 to `queries` - 1 leave with `out_valid`, LANES elements of `out_query`, `out_chunk` a cycle;
//   `saturated`: how many did not fit, of the first `depth` elements. `chunks` is ceil(`depth` / LANES), at most CHUNKS. `last`: the last busy
//   cycle, in which the next job may start.
// Timing: from the cycle after a start 1 + ROWS chunks cycles, or queries chunks + 25.
// Reset: `rst`, synchronous: idle, nothing merged. Two rows of a block may serve one query.
module merger #(
    parameter int ROWS = 8,
    parameter int QUERIES = 8,
    parameter int LANES = 4,
    parameter int CHUNKS = 4,
    parameter int BITS = 32,
    parameter int POINT = 16,
    parameter int SUM_BITS = 40,
    parameter int OUT_BITS = 16,
    parameter int OUT_POINT = 10,
    parameter int TABLE_BITS = 6,
    parameter int LONG = 1,
    parameter int ROW_BITS = 4,
    parameter int QUERY_BITS = 4,
    parameter int CHUNK_BITS = 8,
    parameter int DEPTH_BITS = 8
) (
    input  logic clk,
    input  logic rst,
    input  logic start_merge,
    input  logic start_normalise,
    input  logic [QUERY_BITS-1:0] queries,
    input  logic [CHUNK_BITS-1:0] chunks,
    input  logic [DEPTH_BITS-1:0] depth,
    output logic busy,
    output logic last,
    output logic [ROW_BITS-1:0] weigh_row,
    input  logic query_valid,
    input  logic [QUERY_BITS-1:0] query,
    input  logic signed [BITS-1:0] most,
    input  logic signed [BITS-1:0] sum,
    output logic [ROW_BITS-1:0] row,
    output logic [CHUNK_BITS-1:0] chunk,
    input  logic [LANES*BITS-1:0] elements,
    output logic out_valid,
    output logic [QUERY_BITS-1:0] out_query,
    output logic [CHUNK_BITS-1:0] out_chunk,
    output logic [LANES*OUT_BITS-1:0] out,
    output logic [$clog2(LANES+1)-1:0] saturated
);
  localparam int RECIPROCAL_BITS = 25;
  localparam int WORDS = QUERIES * CHUNKS;
  localparam int WORD_BITS = $clog2(WORDS) < 1 ? 1 : $clog2(WORDS);
  localparam int AT_BITS = $clog2(QUERIES) < 1 ? 1 : $clog2(QUERIES);
  localparam int LANE_BITS = $clog2(LANES + 1);
  localparam int PRODUCT_BITS = SUM_BITS + POINT + 3;
  localparam int SHIFT = POINT + RECIPROCAL_BITS - 1 - OUT_POINT;
  localparam int WIDE = SUM_BITS + RECIPROCAL_BITS + 1;
  localparam logic signed [BITS-1:0] LEAST = {1'b1, {(BITS - 1) {1'b0}}};
  localparam logic signed [PRODUCT_BITS-1:0] HALF = PRODUCT_BITS'(1) << (POINT - 1);

  typedef enum logic [1:0] {IDLE, WEIGH, MERGE, NORMALISE} state_t;
  state_t state  /*verilator public_flat_rd*/;
  assign busy = state != IDLE;

  // Accumulators; what has not been merged counts as (LEAST, 0, 0).
  logic signed [BITS-1:0] mosts[QUERIES];
  logic signed [SUM_BITS-1:0] sums[QUERIES];
  logic [LANES*SUM_BITS-1:0] outputs[WORDS];
  logic [QUERIES-1:0] merged;

  // The weight of the next row: of old and new, the one with the larger M has weight e(0) = 1, so there is one unit and, for each
  // number, one product. Both differences are there beside the comparison, which chooses.
  logic weighs, last_chunk, last_row, has_entry, grows_now;
  logic signed [BITS-1:0] old_most;
  logic signed [BITS:0] old_less, new_less;
  logic signed [SUM_BITS-1:0] old_sum, new_sum, weighed_sum, other_sum;
  logic [POINT:0] weight_now;
  assign last_chunk = chunk + 1'b1 == chunks;
  assign last_row = row == ROW_BITS'(ROWS - 1);
  assign weighs = state == WEIGH || (state == MERGE && last_chunk && !last_row);
  assign weigh_row = state == MERGE ? row + 1'b1 : '0;
  assign has_entry = query_valid && most != LEAST;
  assign old_most = merged[AT_BITS'(query)] ? mosts[AT_BITS'(query)] : LEAST;
  assign old_sum = merged[AT_BITS'(query)] ? sums[AT_BITS'(query)] : '0;
  assign old_less = (BITS + 1)'(old_most) - (BITS + 1)'(most);
  assign new_less = (BITS + 1)'(most) - (BITS + 1)'(old_most);
  assign grows_now = old_less < 0;
  signed_exp_unit #(
      .IN_BITS(BITS + 1),
      .POINT(POINT),
      .TABLE_BITS(TABLE_BITS),
      .LONG(LONG)
  ) of_less (
      .x(grows_now ? old_less : new_less),
      .y(weight_now)
  );
  assign weighed_sum = grows_now ? old_sum : SUM_BITS'(sum);
  assign other_sum = grows_now ? SUM_BITS'(sum) : old_sum;
  assign new_sum = other_sum + SUM_BITS'((PRODUCT_BITS'(signed'({1'b0, weight_now})) * PRODUCT_BITS'(weighed_sum) + HALF) >>> POINT);

  // The row that is merged.
  logic active, fresh, grows;
  logic [AT_BITS-1:0] at;
  logic [POINT:0] weight;
  logic [WORD_BITS-1:0] word;
  logic [LANES*SUM_BITS-1:0] old_outputs, new_outputs;
  assign word = WORD_BITS'(32'(at) * CHUNKS + 32'(chunk));
  assign old_outputs = outputs[word];
  for (genvar i = 0; i < LANES; i++) begin : merging
    logic signed [SUM_BITS-1:0] old_output, new_output, weighed, other;
    assign old_output = fresh ? '0 : old_outputs[i*SUM_BITS+:SUM_BITS];
    assign new_output = SUM_BITS'(signed'(elements[i*BITS+:BITS]));
    assign weighed = grows ? old_output : new_output;
    assign other = grows ? new_output : old_output;
    assign new_outputs[i*SUM_BITS+:SUM_BITS] = other + SUM_BITS'((PRODUCT_BITS'(signed'({1'b0, weight})) * PRODUCT_BITS'(weighed) + HALF) >>> POINT);
  end

  // Outputs: sums enter the divider every `chunks` cycles; elements follow 25 cycles later.
  logic [QUERY_BITS-1:0] in_query;
  logic [CHUNK_BITS-1:0] in_chunk;
  logic [$clog2(RECIPROCAL_BITS+1)-1:0] delay;
  logic enters, unused_valid;
  logic [RECIPROCAL_BITS-1:0] quotient, reciprocal;
  logic [LANES*SUM_BITS-1:0] leaving;
  assign enters = state == NORMALISE && in_chunk == '0 && in_query != queries;
  divider #(
      .BITS(RECIPROCAL_BITS),
      .DIVIDEND_BITS(POINT + RECIPROCAL_BITS),
      .DIVISOR_BITS(SUM_BITS)
  ) reciprocals (
      .clk,
      .rst,
      .in_valid(enters),
      .dividend({1'b1, {(POINT + RECIPROCAL_BITS - 1) {1'b0}}}),
      .divisor(merged[AT_BITS'(in_query)] ? sums[AT_BITS'(in_query)] : '0),
      .out_valid(unused_valid),
      .quotient
  );
  assign reciprocal = &quotient ? '0 : quotient;
  assign out_valid = state == NORMALISE && delay == '0 && out_query != queries;
  assign leaving = outputs[WORD_BITS'(32'(out_query)*CHUNKS+32'(out_chunk))];
  logic [LANES-1:0] beyond;
  logic [DEPTH_BITS-1:0] out_left;
  for (genvar i = 0; i < LANES; i++) begin : leaving_lane
    logic signed [WIDE-1:0] exact;
    logic fits;
    assign exact = (WIDE'(signed'(leaving[i*SUM_BITS+:SUM_BITS])) * WIDE'(signed'({1'b0, reciprocal})) +
                    (WIDE'(1) << (SHIFT - 1))) >>> SHIFT;
    assign fits = &exact[WIDE-1:OUT_BITS-1] || ~|exact[WIDE-1:OUT_BITS-1];
    assign out[i*OUT_BITS+:OUT_BITS] = fits ? exact[OUT_BITS-1:0] : {exact[WIDE-1], {(OUT_BITS - 1) {!exact[WIDE-1]}}};
    assign beyond[i] = out_valid && !fits && i < 32'(out_left);
  end
  always_comb begin
    saturated = '0;
    for (int i = 0; i < LANES; i++) saturated = saturated + LANE_BITS'(beyond[i]);
  end

  logic last_out;
  assign last_out = out_chunk + 1'b1 == chunks;
  assign last = (state == MERGE && last_chunk && last_row) ||
      (state == NORMALISE && (queries == '0 ? delay == 1 : delay == '0 && last_out && out_query + 1'b1 == queries));

  always_ff @(posedge clk) begin
    if (weighs) begin
      active <= has_entry;
      at <= AT_BITS'(query);
      fresh <= !merged[AT_BITS'(query)];
      grows <= grows_now;
      weight <= weight_now;
      if (has_entry) begin
        mosts[AT_BITS'(query)] <= grows_now ? most : old_most;
        sums[AT_BITS'(query)] <= new_sum;
      end
    end
    if (state == MERGE && active) outputs[word] <= new_outputs;

    if (rst) begin
      state  <= IDLE;
      merged <= '0;
    end else begin
      if (weighs && has_entry) merged[AT_BITS'(query)] <= 1'b1;
      if (enters) merged[AT_BITS'(in_query)] <= 1'b0;
      case (state)
        WEIGH: state <= MERGE;
        MERGE, NORMALISE: if (last) state <= start_merge ? WEIGH : start_normalise ? NORMALISE : IDLE;
        default: state <= start_merge ? WEIGH : start_normalise ? NORMALISE : IDLE;
      endcase
    end
  end

  always_ff @(posedge clk) begin
    if (state == IDLE || state == WEIGH) begin
      row <= '0;
      chunk <= '0;
    end else if (state == MERGE) begin
      chunk <= last_chunk ? '0 : chunk + 1'b1;
      row <= last_chunk ? row + 1'b1 : row;
    end
    if (state != NORMALISE || last) begin
      in_query <= '0;
      in_chunk <= '0;
      delay <= RECIPROCAL_BITS[$bits(delay)-1:0];
      out_query <= '0;
      out_chunk <= '0;
      out_left <= depth;
    end else begin
      if (in_query != queries) begin
        in_chunk <= in_chunk + 1'b1 == chunks ? '0 : in_chunk + 1'b1;
        if (in_chunk + 1'b1 == chunks) in_query <= in_query + 1'b1;
      end
      if (delay != '0) delay <= delay - 1'b1;
      if (out_valid) begin
        out_chunk <= last_out ? '0 : out_chunk + 1'b1;
        out_left  <= last_out ? depth : out_left - DEPTH_BITS'(LANES);
        if (last_out) out_query <= out_query + 1'b1;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, unused_valid, query, in_query};
endmodule
