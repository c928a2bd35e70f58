/** The settings of what can be seen from outside while Terse runs: its log and its traces. */
import { logLevelOrder } from '../ops/log.ts';
import { number, text } from './setting-row.ts';
import { oneOf, origin, orNone, wholeNumber } from './setting-values.ts';

const oneInMax = 1_000_000;

export const observationSettings = {
  logLevel: text({
    env: 'TERSE_LOG_LEVEL',
    read: oneOf(...logLevelOrder),
    default: 'info',
    values: '`debug`, `info`, `warn`, `error` or `silent`',
    doc: 'The least important events that are logged; SIGUSR2 switches to `debug` and back (docs/operations/logs.md).',
  }),
  logRedirects: number({
    env: 'TERSE_LOG_REDIRECTS',
    read: wholeNumber(0, oneInMax),
    default: '1000',
    values: `0 to ${oneInMax}; 0 for none`,
    doc: 'One redirect of so many is logged.',
  }),
  traces: text({
    env: 'TERSE_TRACES',
    read: orNone(origin),
    default: 'none',
    values: 'an http or https origin such as `http://127.0.0.1:4318`, or `none`',
    doc: 'The OpenTelemetry collector that traces are sent to, as OTLP over HTTP (docs/operations/traces.md).',
  }),
  traceOneIn: number({
    env: 'TERSE_TRACE_ONE_IN',
    read: wholeNumber(1, oneInMax),
    default: '1',
    values: `1 to ${oneInMax}`,
    doc: 'One trace of so many is recorded, unless the `traceparent` of a trusted proxy has decided it.',
  }),
} as const;
