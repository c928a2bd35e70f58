/** The settings of connections: encryption, trusted proxies, how many and for how long. */

import { InvalidRate, off, parseRate, ratesWith, unchanged, visitRates } from '../limits/plans.ts';
import {
  cidr,
  integer,
  list,
  listOf,
  oneLine,
  onOrOff,
  orNone,
  path,
  type Reader,
  Refused,
  text,
} from './setting-values.ts';

/** Before the public origin, whose default depends on them. */
export const tlsSettings = {
  tlsCertificate: text({
    env: 'TERSE_TLS_CERTIFICATE',
    read: orNone(path),
    default: 'none',
    values: 'a path to a PEM file, or `none`',
    doc: 'The certificate and its chain, so that Terse serves TLS itself (docs/operations/tls.md).',
  }),
  tlsKey: text({
    env: 'TERSE_TLS_KEY',
    read: orNone(path),
    default: 'none',
    values: 'a path to a PEM file, or `none`',
    doc: 'The private key of that certificate. Both files are reloaded when they change.',
  }),
  hstsMaxAgeS: integer({
    env: 'TERSE_HSTS_MAX_AGE_S',
    range: [0, 63_072_000, '0 makes browsers forget it'],
    default: '31536000',
    doc: 'The `max-age` of Strict-Transport-Security, sent when Terse serves TLS itself.',
  }),
};

export const connectionSettings = {
  trustedProxies: list({
    env: 'TERSE_TRUSTED_PROXIES',
    read: listOf(cidr),
    default: 'none',
    values: '`none`, or a comma list of ranges such as `10.0.0.0/8,fd00::/8`',
    doc: 'The proxies whose forwarding headers are trusted.',
  }),
  proxyProtocol: onOrOff({
    env: 'TERSE_PROXY_PROTOCOL',
    default: 'off',
    doc: 'Whether trusted peers begin each connection with the PROXY protocol, version 1 or 2.',
  }),
  connections: integer({
    env: 'TERSE_CONNECTIONS',
    range: [16, 1_000_000],
    default: '10000',
    doc: 'Clients connected at once; fewer where the system allows the process fewer open files.',
  }),
  addressSharePercent: integer({
    env: 'TERSE_ADDRESS_SHARE_PERCENT',
    range: [1, 100],
    default: '50',
    doc: 'The share that one address (of IPv6: a /64; a /48 has half as much again) may have of all connections, unread bodies and requests in progress. Does not apply to trusted proxies.',
  }),
  keepAliveS: integer({
    env: 'TERSE_KEEP_ALIVE_S',
    range: [1, 3600, 'more than proxies in front keep idle connections'],
    default: '75',
    doc: 'Seconds that a client may stay connected between two requests.',
  }),
};

/**
 * The settings of limits: their rows in the table, and how they are read. Their values stay text, as they were
 * written, so that they can be shown; `startLimits` makes rates of them.
 */
const rate: Reader<string> = text => checked(text, () => parseRate(text));

/** `default` and `off` stand alone. */
const planLimits: Reader<readonly string[]> = text => {
  if (text === unchanged || text === off) return [text];
  const changes = items(text);
  return checked(changes, () => ratesWith(changes));
};

const visitLimits: Reader<readonly string[]> = text => {
  if (text === off) return [text];
  const rates = items(text);
  return checked(rates, () => visitRates(rates));
};

function items(text: string): readonly string[] {
  if (text === 'none') throw new Refused();
  return listOf(item => item)(text);
}

function checked<Value>(value: Value, check: () => unknown): Value {
  try {
    check();
    return value;
  } catch (error) {
    throw error instanceof InvalidRate ? new Refused(oneLine(error.message)) : error;
  }
}

export const limitSettings = {
  limits: list({
    env: 'TERSE_LIMITS',
    read: planLimits,
    default: 'default',
    values: '`default`, `off`, or a comma list of changes such as `free=200/h,anonymous=off`',
    doc: 'How much each plan allows; the table is in docs/limits.md.',
  }),
  redirectLimit: list({
    env: 'TERSE_REDIRECT_LIMIT',
    read: visitLimits,
    default: 'off',
    values:
      '`off`, a rate such as `600/min`, or a comma list that has rates by plan such as `anonymous=60/min`',
    doc: 'How many links an address may follow: of all accounts, or of accounts on a plan.',
  }),
  probeLimit: text({
    env: 'TERSE_PROBE_LIMIT',
    read: rate,
    default: '60/min',
    values: '`off`, or a rate such as `60/min`',
    doc: 'How many unknown codes an address may request before it is throttled.',
  }),
} as const;
