-- wrk sends one GET after the other, each with the next token of the file that
-- is named behind "--", and prints what came of it in one line that a program
-- reads: requests, microseconds, failures, the 99th percentile and the median in microseconds.

local requests, at = {}, 0

init = function(args)
  for token in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("GET", nil, { ["Authorization"] = "Bearer " .. token })
  end
end

request = function()
  at = at % #requests + 1
  return requests[at]
end

done = function(summary, latency)
  local e = summary.errors
  io.write(string.format("BENCH %d %d %d %d %d\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(99), latency:percentile(50)))
end
