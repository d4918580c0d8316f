// Prediction array: WIDTH x HEIGHT PEs, queries' codes from the left, keys' from the top; then sums move right, through one
// exponential unit a row.
//
// Interface: `pe_command` as in prediction_pe; `sum_command`: 0 idle, 1 clear the rows' totals, 2 add the exponential to them.
//   `left`: a code for each row; `top`: one for each column. `last`: the sums in the last column; `exponential`: of the one
//   that stood there a cycle ago; `total`: a row's sum of exponentials. With PUBLISHED = 0 both are 0 and not built. Fields of a port lie row after row from bit 0.
// Timing: codes of row r enter r cycles late, those of column c c cycles late: with depth d all sums are there after
//   d + WIDTH + HEIGHT - 1 cycles. Column WIDTH - 1 - i is in `exponential` i + 1 moves later.
// Reset: `rst`, synchronous: all 0.
module prediction_array #(
    parameter int BITS = 20,
    parameter int POINT = 8,
    parameter int APPEND = 0,
    parameter int CODE_BITS = 4,
    parameter int SUM_BITS = 11,
    parameter int WIDTH = 8,
    parameter int HEIGHT = 8,
    parameter int PUBLISHED = 1
) (
    input  logic clk,
    input  logic rst,
    input  logic [1:0] pe_command,
    input  logic [1:0] sum_command,
    input  logic [HEIGHT*CODE_BITS-1:0] left,
    input  logic [WIDTH*CODE_BITS-1:0] top,
    output logic [HEIGHT*SUM_BITS-1:0] last,
    output logic [HEIGHT*BITS-1:0] exponential,
    output logic [HEIGHT*BITS-1:0] total
);
  localparam logic [1:0] CLEAR = 2'd1, ADD = 2'd2;

  // What enters PE (r, c) from the left and from above; the last entries leave the array.
  logic [HEIGHT*(WIDTH+1)*CODE_BITS-1:0] across;
  logic [(HEIGHT+1)*WIDTH*CODE_BITS-1:0] down;
  logic [HEIGHT*(WIDTH+1)*SUM_BITS-1:0] moving;
  assign down[WIDTH*CODE_BITS-1:0] = top;

  for (genvar r = 0; r < HEIGHT; r++) begin : row
    assign across[r*(WIDTH+1)*CODE_BITS+:CODE_BITS] = left[r*CODE_BITS+:CODE_BITS];
    assign moving[r*(WIDTH+1)*SUM_BITS+:SUM_BITS] = '0;
    for (genvar c = 0; c < WIDTH; c++) begin : column
      prediction_pe #(
          .CODE_BITS(CODE_BITS),
          .SUM_BITS(SUM_BITS)
      ) pe (
          .clk,
          .rst,
          .command(pe_command),
          .left(across[(r*(WIDTH+1)+c)*CODE_BITS+:CODE_BITS]),
          .top(down[(r*WIDTH+c)*CODE_BITS+:CODE_BITS]),
          .sum_in(moving[(r*(WIDTH+1)+c)*SUM_BITS+:SUM_BITS]),
          .right(across[(r*(WIDTH+1)+c+1)*CODE_BITS+:CODE_BITS]),
          .bottom(down[((r+1)*WIDTH+c)*CODE_BITS+:CODE_BITS]),
          .sum(moving[(r*(WIDTH+1)+c+1)*SUM_BITS+:SUM_BITS])
      );
    end
    assign last[r*SUM_BITS+:SUM_BITS] = moving[(r*(WIDTH+1)+WIDTH)*SUM_BITS+:SUM_BITS];

    logic [BITS-1:0] held, sum;
    if (PUBLISHED != 0) begin : published
      logic [BITS-1:0] power;
      exp_unit #(
          .BITS (BITS),
          .POINT(POINT)
      ) unit (
          .x(BITS'(last[r*SUM_BITS+:SUM_BITS]) << APPEND),
          .y(power)
      );
      always_ff @(posedge clk) begin
        if (rst) held <= '0;
        else held <= power;
        if (rst || sum_command == CLEAR) sum <= '0;
        else if (sum_command == ADD) sum <= sum + held;
      end
    end else begin : not_built
      assign held = '0;
      assign sum = '0;
    end
    assign exponential[r*BITS+:BITS] = held;
    assign total[r*BITS+:BITS] = sum;
  end

  logic unused;
  assign unused = &{1'b0, sum_command, down[(HEIGHT+1)*WIDTH*CODE_BITS-1:HEIGHT*WIDTH*CODE_BITS], across};
endmodule
