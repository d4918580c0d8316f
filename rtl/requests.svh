  // What the channel is asked for.
  localparam logic [2:0] ASK_KEYS = 3'd0, ASK_VALUES = 3'd1, ASK_QUERIES = 3'd2, ASK_MASK = 3'd3, ASK_STORE = 3'd4;
