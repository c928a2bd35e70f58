/** The settings of observability: log, metrics and traces. */
import { logLevelOrder } from '../telemetry/log.ts';
import {
  cidr,
  integer,
  list,
  listenHost,
  listOf,
  number,
  oneOf,
  origin,
  orNone,
  text,
  wholeNumber,
} from './setting-values.ts';

const oneInMax = 1_000_000;

export const observationSettings = {
  logLevel: text({
    env: 'TERSE_LOG_LEVEL',
    read: oneOf(...logLevelOrder),
    default: 'info',
    values: '`debug`, `info`, `warn`, `error` or `silent`',
    doc: 'The lowest level that is logged; SIGUSR2 switches to `debug` and back (docs/operations/logs.md).',
  }),
  logRedirects: integer({
    env: 'TERSE_LOG_REDIRECTS',
    range: [0, oneInMax, '0 for none'],
    default: '1000',
    doc: 'One redirect in this many is logged.',
  }),
  metrics: text({
    env: 'TERSE_METRICS',
    read: oneOf('private', 'public', 'off'),
    default: 'private',
    values: '`private`, `public` or `off`',
    doc: 'Who may read `/metrics`: this machine, named networks and admins; everyone; nobody (docs/operations/metrics.md).',
  }),
  metricsNetworks: list({
    env: 'TERSE_METRICS_NETWORKS',
    read: listOf(cidr),
    default: 'none',
    values: '`none`, or a comma list of ranges such as `10.0.0.0/8,fd00::/8`',
    doc: 'Networks that may read `/metrics` while it is `private`; requests that a proxy forwarded do not count.',
  }),
  metricsPort: number({
    env: 'TERSE_METRICS_PORT',
    read: orNone(wholeNumber(1, 65_535)),
    default: 'none',
    values: '1 to 65535, or `none`',
    doc: 'A separate port for metrics, plain HTTP: anyone who can reach it may read them.',
  }),
  metricsHost: text({
    env: 'TERSE_METRICS_HOST',
    read: listenHost,
    default: '127.0.0.1',
    values: 'an IP address or a host name; `0.0.0.0` or `::` for every interface',
    doc: 'The address of that port.',
  }),
  traces: text({
    env: 'TERSE_TRACES',
    read: orNone(origin),
    default: 'none',
    values: 'an http or https origin such as `http://127.0.0.1:4318`, or `none`',
    doc: 'The OpenTelemetry collector that traces are sent to, as OTLP over HTTP (docs/operations/traces.md).',
  }),
  traceOneIn: integer({
    env: 'TERSE_TRACE_ONE_IN',
    range: [1, oneInMax],
    default: '1',
    doc: 'One trace in this many is recorded, unless the `traceparent` of a trusted proxy decides it.',
  }),
} as const;
