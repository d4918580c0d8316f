// A queue of DEPTH words, first in, first out.
//
// Interface: valid/ready on both sides: a word passes in a cycle in which both are up. `in_ready` does not depend on the
//   inputs, `out_valid` and `out_data` neither. `count`: words inside.
// Timing: a word can leave in the cycle after it came. A full queue takes a word in the cycle after one left.
// Reset: `rst`, synchronous: empty; the words are not cleared.
// Limits: DEPTH >= 2.
module fifo #(
    parameter int BITS  = 32,
    parameter int DEPTH = 4
) (
    input  logic clk,
    input  logic rst,
    input  logic in_valid,
    output logic in_ready,
    input  logic [BITS-1:0] in_data,
    output logic out_valid,
    input  logic out_ready,
    output logic [BITS-1:0] out_data,
    output logic [$clog2(DEPTH+1)-1:0] count
);
  localparam int COUNT_BITS = $clog2(DEPTH + 1);
  localparam int PLACE_BITS = $clog2(DEPTH);
  localparam logic [PLACE_BITS-1:0] LAST = PLACE_BITS'(DEPTH - 1);

  logic [BITS-1:0] words[DEPTH];
  logic [PLACE_BITS-1:0] first, next;
  logic enters, leaves;
  assign in_ready = count != COUNT_BITS'(DEPTH);
  assign out_valid = count != '0;
  assign out_data = words[first];
  assign enters = in_valid && in_ready;
  assign leaves = out_valid && out_ready;

  always_ff @(posedge clk) begin
    if (enters) words[next] <= in_data;
    if (rst) begin
      first <= '0;
      next  <= '0;
      count <= '0;
    end else begin
      if (enters) next <= next == LAST ? '0 : next + 1'b1;
      if (leaves) first <= first == LAST ? '0 : first + 1'b1;
      count <= count + COUNT_BITS'(enters) - COUNT_BITS'(leaves);
    end
  end

`ifdef FORMAL
  // A word that is watched from when it enters until it leaves: `ahead` words are before it, its place is first + ahead.
  (* anyconst *) logic [BITS-1:0] watched;
  (* anyseq *) logic choose;
  logic within;
  logic [COUNT_BITS-1:0] ahead;
  logic [COUNT_BITS:0] place;
  assign place = (COUNT_BITS + 1)'(first) + (COUNT_BITS + 1)'(ahead);
  always_ff @(posedge clk) begin
    if (rst) within <= 1'b0;
    else if (!within && choose && enters && in_data == watched) begin
      within <= 1'b1;
      ahead  <= count - COUNT_BITS'(leaves);
    end else if (within && leaves) begin
      if (ahead == '0) within <= 1'b0;
      else ahead <= ahead - 1'b1;
    end
  end
  logic could_leave, could_enter;  // in the last cycle
  always_ff @(posedge clk) begin
    could_leave <= !rst && out_ready;
    could_enter <= !rst && in_valid;
  end
  initial assume (rst);
  always_comb if (!rst) begin
    assert (count <= COUNT_BITS'(DEPTH));  // never over- or underflows
    assert (first <= LAST && next <= LAST);
    assert (((COUNT_BITS + 1)'(first) + (COUNT_BITS + 1)'(count)) % (COUNT_BITS + 1)'(DEPTH) == (COUNT_BITS + 1)'(next));
    if (within) begin
      assert (ahead < count);  // not lost
      assert (words[PLACE_BITS'(place % (COUNT_BITS + 1)'(DEPTH))] == watched);
      if (ahead == '0) assert (out_valid && out_data == watched);  // and comes out as it went in, in its turn
    end
    assert (in_ready || out_valid);  // a full queue empties as soon as it may
    if (could_leave) assert (in_ready);  // and is ready again in the cycle after
    if (could_enter) assert (out_valid);
  end
`endif
endmodule
