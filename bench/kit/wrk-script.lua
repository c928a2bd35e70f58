-- Sends the requests of a file in turn and reports in one line of JSON. Each thread begins at a place of its own.
local requests = {}
local turn = 0
local threads = 0

function setup(thread)
  thread:set('place', threads)
  threads = threads + 1
end

function init(arguments)
  local file = assert(io.open(arguments[1], 'rb'))
  for text in file:read('*a'):gmatch('[^%z]+') do
    requests[#requests + 1] = text
  end
  file:close()
  turn = math.floor(#requests * place / 16)
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  local errors = summary.errors
  local failures = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format(
    'report {"durationUs":%d,"requests":%d,"refusals":%d,"failures":%d,"p50":%d,"p99":%d,"p999":%d,"max":%d}\n',
    summary.duration, summary.requests, errors.status, failures,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
