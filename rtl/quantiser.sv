// Quantiser: rows of numbers in, signed codes and a factor a row out.
//
//   squares  ceil(depth / LANES) cycles: the sum of squares     root    NORM_BITS cycles: norm N, 4 bits more behind the point
//   lead     1 cycle: N moved so that its first bit is 1        divide  17 cycles: reciprocal / N
//   codes    ceil(depth / LANES) cycles, of the row read again: code = sign(x) min(n, |x| quotient rounded); in the first of
//            them the row's factor, min(2^16 - 1, N factor rounded)
//
// Interface: `start` begins `count` rows of `depth` elements; numbers are read where `squares_row`, `squares_chunk` and `code_row`,
//   `code_chunk` point, in the same cycle: LANES of them, of which those beyond `depth` do not matter. The five constants are a
//   driver's, and hold while `busy`. `codes_valid`: `codes` are those of `code_row`, `code_chunk`; `factor` is the row's;
//   `clipped`: how many of them were beyond n. A row of zeros has codes and a factor of 0. `last`: the last busy cycle.
// Timing: count * chunks + NORM_BITS + 18 + chunks cycles from the one after `start`.
// Reset: `rst`, synchronous: idle. Limits: `depth` at least 1; `shift` + NORM_BITS - 5 < 64; FACTOR_SHIFT's range 1 to 60.
// Where DEPTH_BITS counts no farther than LANES, comparisons with it are constant.
/* verilator lint_off CMPCONST */
module quantiser #(
    parameter int BITS = 16,
    parameter int POINT = 10,
    parameter int CODE_BITS = 4,
    parameter int LANES = 8,
    parameter int NORM_BITS = 23,
    parameter int DEPTH_BITS = 8,
    parameter int ROW_BITS = 8
) (
    input  logic clk,
    input  logic rst,
    input  logic start,
    input  logic [ROW_BITS-1:0] count,
    input  logic [DEPTH_BITS-1:0] depth,
    input  logic normalise,
    input  logic [15:0] reciprocal,
    input  logic [5:0] shift,
    input  logic [15:0] factor_scale,
    input  logic [5:0] factor_shift,
    output logic busy,
    output logic last,
    output logic [ROW_BITS-1:0] squares_row,
    output logic [DEPTH_BITS-1:0] squares_chunk,
    input  logic [LANES*BITS-1:0] squares_in,
    output logic [ROW_BITS-1:0] code_row,
    output logic [DEPTH_BITS-1:0] code_chunk,
    input  logic [LANES*BITS-1:0] code_in,
    output logic codes_valid,
    output logic [LANES*CODE_BITS-1:0] codes,
    output logic [15:0] factor,
    output logic [$clog2(LANES+1)-1:0] clipped
);
  localparam int SQUARE_BITS = 2 * NORM_BITS - 8;  // of the sum: 8 zeros follow
  localparam int ZERO_BITS = $clog2(NORM_BITS + 1);
  localparam int QUOTIENT_BITS = 17;
  localparam int LANE_BITS = $clog2(LANES + 1);
  localparam logic [CODE_BITS-1:0] MOST = {1'b0, {(CODE_BITS - 1) {1'b1}}};
  localparam logic [NORM_BITS-1:0] UNIT_NORM = NORM_BITS'(1) << (POINT + 4);

  // Squares: rows and chunks in turn; `left` elements are to come from this chunk on.
  logic [ROW_BITS-1:0] rows_left;
  logic [DEPTH_BITS-1:0] left;
  logic [SQUARE_BITS-1:0] squares, chunk_squares;
  logic summed, last_chunk;
  assign last_chunk = 32'(left) <= LANES;
  always_comb begin
    chunk_squares = '0;
    for (int i = 0; i < LANES; i++)
      if (i < 32'(left))
        chunk_squares = chunk_squares + SQUARE_BITS'(unsigned'((2 * BITS)'(signed'(squares_in[i*BITS+:BITS])) *
                                                              (2 * BITS)'(signed'(squares_in[i*BITS+:BITS]))));
  end
  always_ff @(posedge clk) begin
    summed <= 1'b0;
    if (rst) begin
      rows_left <= '0;
    end else if (start) begin
      rows_left <= count;
      squares_row <= '0;
      squares_chunk <= '0;
      left <= depth;
    end else if (rows_left != '0) begin
      squares <= (squares_chunk == '0 ? '0 : squares) + chunk_squares;
      summed  <= last_chunk;
      if (last_chunk) begin
        rows_left <= rows_left - 1'b1;
        squares_row <= squares_row + 1'b1;
        squares_chunk <= '0;
        left <= depth;
      end else begin
        squares_chunk <= squares_chunk + 1'b1;
        left <= left - DEPTH_BITS'(LANES);
      end
    end
  end

  // Root and lead.
  logic rooted, lead_valid;
  logic [NORM_BITS-1:0] root, norm, lead_norm, lead_shifted;
  logic [ZERO_BITS-1:0] zeros, lead_zeros;
  square_root #(
      .BITS(NORM_BITS)
  ) root_pipeline (
      .clk,
      .rst,
      .in_valid(summed),
      .x({squares, 8'd0}),
      .out_valid(rooted),
      .root
  );
  assign norm = normalise ? root : UNIT_NORM;
  always_comb begin
    zeros = ZERO_BITS'(NORM_BITS - 1);
    for (int i = 0; i < NORM_BITS; i++) if (norm[i]) zeros = ZERO_BITS'(NORM_BITS - 1 - i);
  end
  always_ff @(posedge clk) begin
    lead_valid <= rooted && !rst;
    lead_norm <= norm;
    lead_zeros <= zeros;
    lead_shifted <= norm << zeros;
  end

  // Divide; the norm and its zeros travel beside.
  logic divided;
  logic [QUOTIENT_BITS-1:0] quotient;
  divider #(
      .BITS(QUOTIENT_BITS),
      .DIVIDEND_BITS(15 + NORM_BITS),
      .DIVISOR_BITS(NORM_BITS)
  ) quotient_pipeline (
      .clk,
      .rst,
      .in_valid(lead_valid),
      .dividend({reciprocal, {(NORM_BITS - 1) {1'b0}}}),
      .divisor(lead_shifted),
      .out_valid(divided),
      .quotient
  );
  logic [(QUOTIENT_BITS+1)*(NORM_BITS+ZERO_BITS)-1:0] beside;
  logic [QUOTIENT_BITS:0] beside_valid;
  assign beside[NORM_BITS+ZERO_BITS-1:0] = {lead_norm, lead_zeros};
  assign beside_valid[0] = lead_valid;
  for (genvar i = 0; i < QUOTIENT_BITS; i++) begin : travelling
    logic [NORM_BITS+ZERO_BITS-1:0] held;
    logic valid;
    always_ff @(posedge clk) begin
      valid <= beside_valid[i] && !rst;
      if (beside_valid[i]) held <= beside[i*(NORM_BITS+ZERO_BITS)+:NORM_BITS+ZERO_BITS];
    end
    assign beside[(i+1)*(NORM_BITS+ZERO_BITS)+:NORM_BITS+ZERO_BITS] = held;
    assign beside_valid[i+1] = valid;
  end

  // Codes.
  logic [NORM_BITS-1:0] row_norm;
  logic [ZERO_BITS-1:0] row_zeros;
  assign {row_norm, row_zeros} = beside[QUOTIENT_BITS*(NORM_BITS+ZERO_BITS)+:NORM_BITS+ZERO_BITS];
  logic coding;
  logic [DEPTH_BITS-1:0] code_left;
  logic [5:0] code_shift;
  logic [QUOTIENT_BITS-1:0] kept_quotient;
  logic [NORM_BITS+15:0] factor_product;
  logic [NORM_BITS+16:0] factor_rounded;
  assign codes_valid = divided || coding;
  assign code_shift = shift + 6'(NORM_BITS - 5) - 6'(row_zeros);
  assign kept_quotient = row_norm == '0 ? '0 : quotient;
  assign factor_product = (NORM_BITS + 16)'(row_norm) * (NORM_BITS + 16)'(factor_scale);
  // Half of the last bit that is left, then the shift: the carry is the first bit that is lost.
  assign factor_rounded = ((({1'b0, factor_product} >> (factor_shift - 6'd1)) + 1'b1) >> 1);
  assign factor = |factor_rounded[NORM_BITS+16:16] ? 16'hffff : factor_rounded[15:0];

  logic [LANES-1:0] beyond;
  for (genvar i = 0; i < LANES; i++) begin : lane
    logic signed [BITS-1:0] x;
    logic [BITS-1:0] size;
    logic [BITS+QUOTIENT_BITS-1:0] product;
    logic [BITS+QUOTIENT_BITS:0] code;
    logic [CODE_BITS-1:0] kept;
    assign x = code_in[i*BITS+:BITS];
    assign size = x < 0 ? -x : x;
    assign product = (BITS + QUOTIENT_BITS)'(size) * (BITS + QUOTIENT_BITS)'(kept_quotient);
    assign code = ((({1'b0, product} >> (code_shift - 6'd1)) + 1'b1) >> 1);
    assign beyond[i] = i < 32'(code_left_now) && code > (BITS + QUOTIENT_BITS + 1)'(MOST);
    assign kept = code > (BITS + QUOTIENT_BITS + 1)'(MOST) ? MOST : code[CODE_BITS-1:0];
    assign codes[i*CODE_BITS+:CODE_BITS] = x < 0 ? -kept : kept;
  end
  logic [DEPTH_BITS-1:0] code_left_now;
  assign code_left_now = divided ? depth : code_left;
  always_comb begin
    clipped = '0;
    for (int i = 0; i < LANES; i++) clipped = clipped + LANE_BITS'(beyond[i]);
    if (!codes_valid) clipped = '0;
  end
  always_ff @(posedge clk) begin
    if (rst || start) begin
      coding <= 1'b0;
      code_row <= '0;
      code_chunk <= '0;
    end else if (codes_valid) begin
      coding <= 32'(code_left_now) > LANES;
      code_left <= code_left_now - DEPTH_BITS'(LANES);
      code_chunk <= 32'(code_left_now) > LANES ? code_chunk + 1'b1 : '0;
      code_row <= 32'(code_left_now) > LANES ? code_row : code_row + 1'b1;
    end
  end

  // Busy for a fixed number of cycles after the last row's squares; the last of them are for that row's codes.
  localparam int TAIL_BITS = $clog2(NORM_BITS + QUOTIENT_BITS + 2) + 1;
  logic [TAIL_BITS-1:0] tail;
  logic [DEPTH_BITS-1:0] tail_left;
  assign busy = rows_left != '0 || tail != '0 || tail_left != '0;
  assign last = rows_left == '0 && tail == '0 && tail_left != '0 && 32'(tail_left) <= LANES;
  always_ff @(posedge clk) begin
    if (rst) begin
      tail <= '0;
      tail_left <= '0;
    end else if (start) begin
      tail <= TAIL_BITS'(NORM_BITS + QUOTIENT_BITS + 1);
      tail_left <= depth;
    end else if (rows_left == '0) begin
      if (tail != '0) tail <= tail - 1'b1;
      else tail_left <= 32'(tail_left) > LANES ? tail_left - DEPTH_BITS'(LANES) : '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, beside_valid};
endmodule
