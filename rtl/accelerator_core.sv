// The accelerator for one matrix of attention: queries, keys and values in from a memory, masks predicted, packed and computed,
// outputs back. One unit works at a time.
//
//   keys, validity -> values -> codes of keys; then for each tile of ROWS queries:
//   queries, validity -> codes -> predict -> [pack a block -> prepare -> execute -> merge] while there are columns -> normalise -> store
//
// Interface: `start` runs a matrix of `queries` x `keys`, both at least 1, whose constants hold while `busy`; `done` is up in the last cycle.
//   `predicts` = 0: masks are read instead of being predicted, ceil(ROWS / 8) bytes a key of each tile; validity is none then.
//   Memory: `request` is up in the first cycle of a transfer of `request_beats` words of STREAM bytes from `request_address` on; data come
//   with `in_valid` (always taken); with `request_write` the core sends them with `out_valid`, `out_ready`, and waits for `out_done`.
// Timing: that of docs/model/sparse_array.md without overlap: an operation begins in the cycle after the one before has ended.
// Reset: `rst`, synchronous: idle; memories are not cleared.
// Limits: 2 DEPTH a multiple of STREAM, DEPTH of QUANTISER_LANES and MERGE_LANES, KEYS of WIDTH; WIDTH and STREAM powers of two; numbers
//   of 16 bits in the memory; matrices of head size DEPTH.
module accelerator_core #(
    parameter int ROWS = 8,
    parameter int PES = 4,
    parameter int PORTS = 8,
    parameter int DEPTH = 16,
    parameter int KEYS = 64,
    parameter int WIDTH = 8,
    parameter int CODE_BITS = 4,
    parameter int QUANTISER_LANES = 4,
    parameter int MERGE_LANES = 4,
    parameter int NORM_BITS = 22,
    parameter int IN_POINT = 10,
    parameter int BITS = 32,
    parameter int POINT = 16,
    parameter int SCORE_BITS = 16,
    parameter int SCORE_POINT = 10,
    parameter int OUT_POINT = 10,
    parameter int SUM_BITS = 40,
    parameter int TABLE_BITS = 6,
    parameter int LONG = 1,
    parameter int STREAM = 16
) (
    input  logic clk,
    input  logic rst,
    input  logic start,
    output logic busy,
    output logic done,
    // Constants of the run.
    input  logic predicts,
    input  logic normalise,
    input  logic causal,
    input  logic [15:0] queries,
    input  logic [15:0] keys,
    input  logic signed [16:0] causal_offset,
    input  logic [15:0] query_multiplier,
    input  logic [4:0] query_align,
    input  logic [16:0] query_reciprocal,
    input  logic [5:0] query_shift,
    input  logic [16:0] query_factor,
    input  logic [5:0] query_factor_shift,
    input  logic [16:0] key_reciprocal,
    input  logic [5:0] key_shift,
    input  logic [16:0] key_factor,
    input  logic [5:0] key_factor_shift,
    input  logic [5:0] score_shift,
    input  logic signed [23:0] log2_threshold,
    input  logic [31:0] query_base,
    input  logic [31:0] key_base,
    input  logic [31:0] value_base,
    input  logic [31:0] mask_base,
    input  logic [31:0] output_base,
    // Memory.
    output logic request,
    output logic request_write,
    output logic [31:0] request_address,
    output logic [23:0] request_beats,
    input  logic in_valid,
    input  logic [STREAM*8-1:0] in_data,
    output logic out_valid,
    input  logic out_ready,
    output logic [STREAM*8-1:0] out_data,
    input  logic out_done,
    // Counters of the run.
    output logic executes,
    output logic [63:0] kept_entries,
    output logic [31:0] blocks,
    output logic [31:0] saturated,
    output logic [4:0] operation
);
  localparam int BEATS = 2 * DEPTH / STREAM;  // of a token
  localparam int BEAT_BITS = BEATS < 2 ? 1 : $clog2(BEATS);
  localparam int KEY_BITS = $clog2(KEYS + 1);
  localparam int KEY_AT = $clog2(KEYS);
  localparam int ROW_BITS = $clog2(ROWS + 1);
  localparam int ROW_AT = ROWS < 2 ? 1 : $clog2(ROWS);
  localparam int PORT_BITS = $clog2(PORTS + 2);
  localparam int PORT_COUNT_BITS = $clog2(PORTS + 1);
  localparam int PORT_AT = PORTS < 2 ? 1 : $clog2(PORTS);
  localparam int DEPTH_BITS = $clog2(DEPTH + 1);
  localparam int CODE_SUM = 2 * CODE_BITS + $clog2(DEPTH);
  localparam int T_BITS = SCORE_BITS + 8;
  localparam int WORD = DEPTH * 16;
  localparam int M_CHUNKS = DEPTH / MERGE_LANES;
  localparam int MASK_BYTES = (ROWS + 7) / 8;

  `include "operations.svh"
  logic [4:0] state, next;
  logic ends, begun;  // the last cycle of an operation; its first one is over
  assign busy = state != IDLE;
  assign operation = state;
  assign executes = state == EXECUTE;

  // ---- The program ----
  logic [15:0] first_query, queries_left;
  logic [ROW_BITS-1:0] rows;
  logic [KEY_BITS-1:0] tile_keys;
  logic signed [17:0] last_visible;
  logic last_tile, pack_end, pack_close;
  assign queries_left = queries - first_query;
  assign rows = 32'(queries_left) < ROWS ? ROW_BITS'(queries_left) : ROW_BITS'(ROWS);
  assign last_tile = 32'(queries_left) <= ROWS;
  assign last_visible = 18'(signed'({1'b0, first_query})) + 18'(signed'({1'b0, rows})) + 18'(causal_offset);
  assign tile_keys = !causal || last_visible >= 18'(signed'({1'b0, keys})) ? KEY_BITS'(keys) :
      last_visible < 0 ? '0 : KEY_BITS'(unsigned'(last_visible));

  sequencer program_unit (
      .clk,
      .rst,
      .start,
      .predicts,
      .has_keys(tile_keys != '0),
      .last_tile,
      .pack_end,
      .block_closed(pack_close),
      .ends,
      .state,
      .next,
      .begun
  );
  always_ff @(posedge clk) begin
    if (state == IDLE) first_query <= '0;
    else if (state == STORE && ends) first_query <= first_query + 16'(ROWS);
  end
  assign done = state == STORE && ends && last_tile;

  // ---- Transfers ----
  logic loads, token_beats_done;
  logic [15:0] tokens, token;
  logic [BEAT_BITS-1:0] beat;
  logic [23:0] validity_beats, beats, beats_there;
  logic [15:0] mask_key;
  assign loads = state == LOAD_KEYS || state == LOAD_VALUES || state == LOAD_QUERIES || state == LOAD_MASK;
  assign tokens = state == LOAD_QUERIES || state == STORE ? 16'(rows) : keys;
  assign validity_beats = predicts && (state == LOAD_KEYS || state == LOAD_QUERIES) ? (24'(tokens) + 24'(8 * STREAM - 1)) / 24'(8 * STREAM) : '0;
  assign beats = state == LOAD_MASK ? (24'(tile_keys) * 24'(MASK_BYTES) + 24'(STREAM - 1)) / 24'(STREAM) :
      24'(tokens) * 24'(BEATS) + validity_beats;
  assign request = busy && !begun && (loads || state == STORE);
  assign request_write = state == STORE;
  assign request_beats = beats;
  always_comb begin
    case (state)
      LOAD_KEYS: request_address = key_base;
      LOAD_VALUES: request_address = value_base;
      LOAD_QUERIES: request_address = query_base;
      LOAD_MASK: request_address = mask_base;
      default: request_address = output_base;
    endcase
    // Tiles follow each other, each with its validity.
    if (state == LOAD_QUERIES || state == LOAD_MASK || state == STORE) request_address = request_address + offset;
  end
  logic [31:0] offset, query_offset, mask_offset, output_offset;
  assign offset = state == LOAD_QUERIES ? query_offset : state == LOAD_MASK ? mask_offset : output_offset;
  always_ff @(posedge clk) begin
    if (state == IDLE) begin
      query_offset <= '0;
      mask_offset <= '0;
      output_offset <= '0;
    end else if (ends) begin
      if (state == LOAD_QUERIES) query_offset <= query_offset + 32'(beats) * 32'(STREAM);
      if (state == LOAD_MASK) mask_offset <= mask_offset + 32'(beats) * 32'(STREAM);
      if (state == STORE) output_offset <= output_offset + 32'(beats) * 32'(STREAM);
    end
  end
  // Tokens and beats of each that have passed.
  logic passes;
  assign passes = (loads && in_valid) || (out_valid && out_ready);
  assign token_beats_done = 32'(beat) == BEATS - 1;
  always_ff @(posedge clk) begin
    if (rst || ends || !busy) begin
      token <= '0;
      beat <= '0;
      beats_there <= '0;
    end else if (passes) begin
      beats_there <= beats_there + 1'b1;
      beat <= token_beats_done || 32'(token) == 32'(tokens) ? '0 : beat + 1'b1;
      if (token_beats_done || 32'(token) >= 32'(tokens)) token <= token + 1'b1;
    end
  end

  // ---- Memories ----
  logic [WORD-1:0] key_words[KEYS];
  logic [WORD-1:0] value_words[KEYS];
  logic [WORD-1:0] query_words[ROWS];
  logic [KEYS-1:0] key_valid;
  logic [ROWS-1:0] query_valid;
  logic [ROWS-1:0] mask_columns[KEYS];
  logic data_beat, validity_beat;
  logic [23:0] validity_at;
  assign data_beat = in_valid && token < tokens && state != LOAD_MASK;
  assign validity_beat = in_valid && token >= tokens;
  assign validity_at = 24'(token) - 24'(tokens);
  always_ff @(posedge clk) begin
    if (data_beat && state == LOAD_KEYS) key_words[KEY_AT'(token)][beat*STREAM*8+:STREAM*8] <= in_data;
    if (data_beat && state == LOAD_VALUES) value_words[KEY_AT'(token)][beat*STREAM*8+:STREAM*8] <= in_data;
    if (data_beat && state == LOAD_QUERIES) query_words[ROW_AT'(token)][beat*STREAM*8+:STREAM*8] <= in_data;
    if (!predicts) begin
      key_valid <= '1;
      query_valid <= '1;
    end else if (validity_beat) begin
      for (int i = 0; i < STREAM * 8; i++) begin
        if (state == LOAD_KEYS && 32'(validity_at) * STREAM * 8 + i < KEYS) key_valid[KEY_AT'(32'(validity_at)*STREAM*8+i)] <= in_data[i];
        if (state == LOAD_QUERIES && 32'(validity_at) * STREAM * 8 + i < ROWS) query_valid[ROW_AT'(32'(validity_at)*STREAM*8+i)] <= in_data[i];
      end
    end
    if (state == LOAD_MASK && in_valid)
      for (int i = 0; i < STREAM / MASK_BYTES; i++)
        if (32'(mask_key) + i < KEYS) mask_columns[KEY_AT'(32'(mask_key)+i)] <= in_data[i*MASK_BYTES*8+:ROWS];
    if (state != LOAD_MASK) mask_key <= '0;
    else if (in_valid) mask_key <= mask_key + 16'(STREAM / MASK_BYTES);
  end

  // ---- Quantiser: of keys, then of each tile's queries ----
  logic quantises_keys, quantiser_last, quantiser_busy, codes_valid;
  logic [15:0] squares_row, code_row, code_factor;
  logic [DEPTH_BITS-1:0] squares_chunk, code_chunk;
  logic [WORD-1:0] squares_word, code_word;
  logic [QUANTISER_LANES*CODE_BITS-1:0] codes;
  logic [$clog2(QUANTISER_LANES+1)-1:0] clipped;
  assign quantises_keys = state == CODE_KEYS || next == CODE_KEYS;
  assign squares_word = state == CODE_KEYS ? key_words[KEY_AT'(squares_row)] : query_words[ROW_AT'(squares_row)];
  assign code_word = state == CODE_KEYS ? key_words[KEY_AT'(code_row)] : query_words[ROW_AT'(code_row)];
  quantiser #(
      .BITS(16),
      .POINT(IN_POINT),
      .CODE_BITS(CODE_BITS),
      .LANES(QUANTISER_LANES),
      .NORM_BITS(NORM_BITS),
      .DEPTH_BITS(DEPTH_BITS),
      .ROW_BITS(16)
  ) quantiser_unit (
      .clk,
      .rst,
      .start(ends && (next == CODE_KEYS || next == CODE_QUERIES)),
      .count(quantises_keys ? keys : 16'(rows)),
      .depth(DEPTH_BITS'(DEPTH)),
      .normalise,
      .reciprocal(quantises_keys ? key_reciprocal[15:0] : query_reciprocal[15:0]),
      .shift(quantises_keys ? key_shift : query_shift),
      .factor_scale(quantises_keys ? key_factor[15:0] : query_factor[15:0]),
      .factor_shift(quantises_keys ? key_factor_shift : query_factor_shift),
      .busy(quantiser_busy),
      .last(quantiser_last),
      .squares_row,
      .squares_chunk,
      .squares_in(squares_word[squares_chunk*QUANTISER_LANES*16+:QUANTISER_LANES*16]),
      .code_row,
      .code_chunk,
      .code_in(code_word[code_chunk*QUANTISER_LANES*16+:QUANTISER_LANES*16]),
      .codes_valid,
      .codes,
      .factor(code_factor),
      .clipped
  );
  // Codes lie element by element in words that predictions read: all rows', or those of WIDTH keys.
  logic [DEPTH*CODE_BITS-1:0] query_codes[ROWS];
  logic [DEPTH*CODE_BITS-1:0] key_codes[KEYS];
  logic [15:0] query_factors[ROWS];
  logic [15:0] key_factors[KEYS];
  always_ff @(posedge clk) begin
    if (codes_valid && state == CODE_KEYS) begin
      key_codes[KEY_AT'(code_row)][code_chunk*QUANTISER_LANES*CODE_BITS+:QUANTISER_LANES*CODE_BITS] <= codes;
      if (code_chunk == '0) key_factors[KEY_AT'(code_row)] <= code_factor;
    end
    if (codes_valid && state == CODE_QUERIES) begin
      query_codes[ROW_AT'(code_row)][code_chunk*QUANTISER_LANES*CODE_BITS+:QUANTISER_LANES*CODE_BITS] <= codes;
      if (code_chunk == '0) query_factors[ROW_AT'(code_row)] <= code_factor;
    end
  end

  // ---- Predictor ----
  logic predictor_busy, predictor_last, score_valid;
  logic [DEPTH_BITS-1:0] code_element;
  logic [KEY_BITS-1:0] pass, factor_key, score_key;
  logic [ROWS*CODE_BITS-1:0] row_codes;
  logic [WIDTH*CODE_BITS-1:0] column_codes;
  logic [ROWS*16-1:0] row_factors;
  logic [ROWS*SCORE_BITS-1:0] scores;
  logic [ROW_BITS-1:0] saturated_scores;
  logic [ROWS*T_BITS-1:0] thresholds;
  logic [ROWS*SCORE_BITS-1:0] score_words[KEYS];
  logic [ROWS-1:0] score_there;
  for (genvar r = 0; r < ROWS; r++) begin : row_code
    assign row_codes[r*CODE_BITS+:CODE_BITS] = query_codes[r][code_element*CODE_BITS+:CODE_BITS];
    assign row_factors[r*16+:16] = query_factors[r];
  end
  for (genvar c = 0; c < WIDTH; c++) begin : column_code
    logic [KEY_AT-1:0] place;
    assign place = KEY_AT'(32'(pass) * WIDTH + c);
    assign column_codes[c*CODE_BITS+:CODE_BITS] = key_codes[place][code_element*CODE_BITS+:CODE_BITS];
  end
  predictor #(
      .ROWS(ROWS),
      .WIDTH(WIDTH),
      .CODE_BITS(CODE_BITS),
      .SUM_BITS(CODE_SUM),
      .DEPTH_BITS(DEPTH_BITS),
      .KEY_BITS(KEY_BITS),
      .BITS(BITS),
      .POINT(POINT),
      .SCORE_BITS(SCORE_BITS),
      .SCORE_POINT(SCORE_POINT),
      .TABLE_BITS(TABLE_BITS),
      .LONG(LONG)
  ) predictor_unit (
      .clk,
      .rst,
      .start(ends && next == PREDICT),
      .rows,
      .keys(tile_keys),
      .depth(DEPTH_BITS'(DEPTH)),
      .shift(score_shift),
      .log2_threshold,
      .busy(predictor_busy),
      .last(predictor_last),
      .element(code_element),
      .pass,
      .query_codes(row_codes),
      .key_codes(column_codes),
      .query_factors(row_factors),
      .factor_key,
      .key_factor(key_factors[KEY_AT'(factor_key)]),
      .score_valid,
      .score_key,
      .scores,
      .valid(score_there),
      .saturated(saturated_scores),
      .thresholds
  );
  always_ff @(posedge clk) if (score_valid) score_words[KEY_AT'(score_key)] <= scores;

  // ---- Packer ----
  // Which pairs there are: both valid, and no key after the query's own position.
  logic [KEY_BITS-1:0] pack_key;
  logic [ROWS-1:0] pack_there, kept, column;
  for (genvar r = 0; r < ROWS; r++) begin : pair
    logic signed [17:0] most;
    logic there_row;
    assign most = 18'(signed'({1'b0, first_query})) + 18'(causal_offset) + 18'(r);
    assign there_row = r < 32'(rows) && query_valid[r];
    assign score_there[r] = there_row && key_valid[KEY_AT'(score_key)] && (!causal || 18'(signed'({1'b0, score_key})) <= most);
    assign pack_there[r] = there_row && key_valid[KEY_AT'(pack_key)] && (!causal || 18'(signed'({1'b0, pack_key})) <= most);
  end
  keep_column #(
      .ROWS(ROWS),
      .SCORE_BITS(SCORE_BITS)
  ) keeps (
      .scores(score_words[KEY_AT'(pack_key)]),
      .thresholds,
      .valid(pack_there),
      .column(kept)
  );
  assign column = predicts ? kept : mask_columns[KEY_AT'(pack_key)] & pack_there;
  logic pack_ready, pack_write;
  logic [PORT_COUNT_BITS-1:0] write_port, columns;
  logic [KEY_BITS-1:0] write_key;
  logic [ROWS-1:0] write_bits;
  logic [ROWS*$clog2(PES+1)-1:0] counts;
  assign pack_end = state == PACK && pack_key == tile_keys;
  packer #(
      .ROWS(ROWS),
      .PES(PES),
      .PORTS(PORTS),
      .KEY_BITS(KEY_BITS)
  ) packer_unit (
      .clk,
      .rst,
      .begin_tile(1'b0),
      .in_valid(state == PACK && !pack_end),
      .in_end(pack_end),
      .in_key(pack_key),
      .in_column(column),
      .in_ready(pack_ready),
      .write(pack_write),
      .write_port,
      .write_key,
      .write_bits,
      .close(pack_close),
      .columns,
      .counts
  );
  logic [$clog2(ROWS*PES+1)-1:0] entries;
  always_comb begin
    entries = '0;
    for (int r = 0; r < ROWS; r++) entries = entries + $bits(entries)'(counts[r*$clog2(PES+1)+:$clog2(PES+1)]);
  end
  // The block: bits and keys of its columns, entries of its rows.
  logic [ROWS-1:0] block_bits[PORTS];
  logic [KEY_BITS-1:0] block_keys[PORTS];
  logic [PORT_COUNT_BITS-1:0] block_columns;
  logic [ROWS*$clog2(PES+1)-1:0] block_counts;
  always_ff @(posedge clk) begin
    if (pack_write) begin
      block_bits[PORT_AT'(write_port)] <= write_bits;
      block_keys[PORT_AT'(write_port)] <= write_key;
    end
    if (pack_close) begin
      block_columns <= columns;
      block_counts <= counts;
      blocks <= blocks + 1'b1;
    end
    if (pack_close) kept_entries <= kept_entries + 64'(entries);
    if (state == IDLE && start) begin
      blocks <= '0;
      kept_entries <= '0;
    end
    if (state == LOAD_QUERIES) pack_key <= '0;
    else if (state == PACK && !pack_end && pack_ready) pack_key <= pack_key + 1'b1;
  end

  // ---- Preparer: words, and keys and values on the ports ----
  logic [PORT_COUNT_BITS-1:0] port;
  logic port_used;
  logic [WORD-1:0] port_keys[PORTS];
  logic [WORD-1:0] port_values[PORTS];
  logic [ROWS*PES*PORT_BITS-1:0] word_ports, word_delays;
  logic [ROWS*PES-1:0] word_busy;
  logic [KEY_AT-1:0] port_key;
  assign port_used = port < block_columns;
  assign port_key = KEY_AT'(block_keys[PORT_AT'(port)]);
  always_ff @(posedge clk) begin
    if (state != PREPARE) port <= '0;
    else begin
      port <= port + 1'b1;
      port_keys[PORT_AT'(port)] <= port_used ? key_words[port_key] : '0;
      port_values[PORT_AT'(port)] <= port_used ? value_words[port_key] : '0;
    end
  end
  mask_decoder #(
      .ROWS(ROWS),
      .PES(PES),
      .PORTS(PORTS),
      .PORT_BITS(PORT_BITS)
  ) decoder (
      .clk,
      .rst,
      .step(state == PREPARE),
      .first(port == '0),
      .counts(block_counts),
      .bits(port_used ? block_bits[PORT_AT'(port)] : '0),
      .ports(word_ports),
      .busy(word_busy),
      .delays(word_delays)
  );

  // ---- The array ----
  logic run_busy, run_last, by_values;
  logic [DEPTH_BITS-1:0] element;
  logic [ROWS*BITS-1:0] left, o, sums, maxima;
  logic [PORTS*BITS-1:0] top;
  logic [ROWS-1:0] o_valid;
  logic [ROWS*DEPTH_BITS-1:0] o_element;
  for (genvar r = 0; r < ROWS; r++) begin : scaling
    logic signed [15:0] x;
    logic signed [33:0] product;
    logic signed [18:0] scaled;
    assign x = query_words[r][element*16+:16];
    assign product = 34'(x) * 34'(signed'({1'b0, query_multiplier}));
    assign scaled = 19'((product + 34'sd16384) >>> 15);
    // A row beyond the tile's last has no entry.
    assign left[r*BITS+:BITS] = BITS'(scaled) << query_align;
  end
  for (genvar m = 0; m < PORTS; m++) begin : feeding
    logic signed [15:0] x;
    assign x = by_values ? port_values[m][element*16+:16] : port_keys[m][element*16+:16];
    assign top[m*BITS+:BITS] = BITS'(x) << (POINT - IN_POINT);
  end
  block_run #(
      .BITS(BITS),
      .POINT(POINT),
      .ROWS(ROWS),
      .PES(PES),
      .PORTS(PORTS),
      .PORT_BITS(PORT_BITS),
      .DEPTH_BITS(DEPTH_BITS),
      .TABLE_BITS(TABLE_BITS),
      .LONG(LONG)
  ) run_unit (
      .clk,
      .rst,
      .start(ends && next == EXECUTE),
      .depth(DEPTH_BITS'(DEPTH)),
      .ports(word_ports),
      .busy_pes(word_busy),
      .delays(word_delays),
      .busy(run_busy),
      .last(run_last),
      .element,
      .values(by_values),
      .left,
      .top,
      .out_valid(o_valid),
      .out_element(o_element),
      .o,
      .sums,
      .maxima
  );
  logic [DEPTH*BITS-1:0] block_outputs[ROWS];
  for (genvar r = 0; r < ROWS; r++) begin : taking
    always_ff @(posedge clk)
      if (o_valid[r]) block_outputs[r][o_element[r*DEPTH_BITS+:DEPTH_BITS]*BITS+:BITS] <= o[r*BITS+:BITS];
  end

  // ---- Merger ----
  logic merger_busy, merger_last, merged_valid;
  logic [ROW_BITS-1:0] weigh_row, merge_row, merged_query;
  logic [DEPTH_BITS-1:0] merge_chunk, merged_chunk;
  logic [MERGE_LANES*16-1:0] merged;
  logic [DEPTH*BITS-1:0] merge_word;
  logic [$clog2(MERGE_LANES+1)-1:0] saturated_now;
  assign merge_word = block_outputs[ROW_AT'(merge_row)];
  merger #(
      .ROWS(ROWS),
      .QUERIES(ROWS),
      .LANES(MERGE_LANES),
      .CHUNKS(M_CHUNKS),
      .BITS(BITS),
      .POINT(POINT),
      .SUM_BITS(SUM_BITS),
      .OUT_BITS(16),
      .OUT_POINT(OUT_POINT),
      .TABLE_BITS(TABLE_BITS),
      .LONG(LONG),
      .ROW_BITS(ROW_BITS),
      .QUERY_BITS(ROW_BITS),
      .CHUNK_BITS(DEPTH_BITS),
      .DEPTH_BITS(DEPTH_BITS)
  ) merger_unit (
      .clk,
      .rst,
      .start_merge(ends && next == MERGE),
      .start_normalise(ends && next == NORMALISE),
      .queries(rows),
      .chunks(DEPTH_BITS'(M_CHUNKS)),
      .depth(DEPTH_BITS'(DEPTH)),
      .busy(merger_busy),
      .last(merger_last),
      .weigh_row,
      .query_valid(weigh_row < rows),
      .query(weigh_row),
      .most(maxima[ROW_AT'(weigh_row)*BITS+:BITS]),
      .sum(sums[ROW_AT'(weigh_row)*BITS+:BITS]),
      .row(merge_row),
      .chunk(merge_chunk),
      .elements(merge_word[merge_chunk*MERGE_LANES*BITS+:MERGE_LANES*BITS]),
      .out_valid(merged_valid),
      .out_query(merged_query),
      .out_chunk(merged_chunk),
      .out(merged),
      .saturated(saturated_now)
  );
  logic [WORD-1:0] output_words[ROWS];
  logic [WORD-1:0] output_word;
  assign output_word = output_words[ROW_AT'(token)];
  assign out_data = output_word[beat*STREAM*8+:STREAM*8];
  assign out_valid = state == STORE && beats_there != beats;
  always_ff @(posedge clk) begin
    if (merged_valid) output_words[ROW_AT'(merged_query)][merged_chunk*MERGE_LANES*16+:MERGE_LANES*16] <= merged;
    if (state == IDLE) saturated <= start ? '0 : saturated;
    else saturated <= saturated + 32'(saturated_now);
  end

  always_comb begin
    case (state)
      LOAD_KEYS, LOAD_VALUES, LOAD_QUERIES, LOAD_MASK: ends = in_valid && beats_there + 1'b1 == beats;
      CODE_KEYS, CODE_QUERIES: ends = quantiser_last;
      PREDICT: ends = predictor_last;
      PACK: ends = pack_end || pack_close;
      PREPARE: ends = 32'(port) == PORTS - 1;
      EXECUTE: ends = run_last;
      MERGE, NORMALISE: ends = merger_last;
      STORE: ends = out_done;
      default: ends = 1'b0;
    endcase
  end

  logic unused;
  assign unused = &{1'b0, quantiser_busy, predictor_busy, run_busy, merger_busy, clipped, saturated_scores, squares_row, code_row, factor_key,
                    write_port, merge_row, merged_query,
                    query_reciprocal, query_factor, key_reciprocal, key_factor};
endmodule
