-- Sends the requests of a file in turn and reports in one line of JSON.
local requests = {}
local turn = 0

function init(arguments)
  local file = assert(io.open(arguments[1], 'rb'))
  for text in file:read('*a'):gmatch('[^%z]+') do
    requests[#requests + 1] = text
  end
  file:close()
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  local errors = summary.errors
  local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    'report {"durationUs":%d,"requests":%d,"failures":%d,"p50":%d,"p99":%d,"p999":%d,"max":%d}\n',
    summary.duration, summary.requests, failures,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
