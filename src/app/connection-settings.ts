/** The settings of connections: how they are encrypted, who may introduce whom, how many and for how long. */
import { list, number, onOrOff, text } from './setting-row.ts';
import { cidr, listOf, orNone, path, wholeNumber } from './setting-values.ts';

/** Before the public origin, whose default follows from them. */
export const tlsSettings = {
  tlsCertificate: text({
    env: 'TERSE_TLS_CERTIFICATE',
    read: orNone(path),
    default: 'none',
    values: 'a path to a PEM file, or `none`',
    doc: 'The certificate and its chain: Terse speaks TLS itself (docs/operations/tls.md).',
  }),
  tlsKey: text({
    env: 'TERSE_TLS_KEY',
    read: orNone(path),
    default: 'none',
    values: 'a path to a PEM file, or `none`',
    doc: 'The private key of that certificate. Both files are followed for changes.',
  }),
  hstsMaxAgeS: number({
    env: 'TERSE_HSTS_MAX_AGE_S',
    read: wholeNumber(0, 63_072_000),
    default: '31536000',
    values: '0 to 63072000; 0 makes browsers forget it',
    doc: 'The `max-age` of Strict-Transport-Security, which is sent when Terse speaks TLS itself.',
  }),
};

export const connectionSettings = {
  trustedProxies: list({
    env: 'TERSE_TRUSTED_PROXIES',
    read: listOf(cidr),
    default: 'none',
    values: '`none`, or a comma list of ranges such as `10.0.0.0/8,fd00::/8`',
    doc: 'The peers that may say whom they forward for.',
  }),
  proxyProtocol: onOrOff({
    env: 'TERSE_PROXY_PROTOCOL',
    default: 'off',
    doc: 'Whether trusted peers begin each connection with the PROXY protocol, version 1 or 2.',
  }),
  connections: number({
    env: 'TERSE_CONNECTIONS',
    read: wholeNumber(16, 1_000_000),
    default: '10000',
    values: '16 to 1000000',
    doc: 'Clients connected at once; fewer where the system allows the process fewer open files.',
  }),
  addressSharePercent: number({
    env: 'TERSE_ADDRESS_SHARE_PERCENT',
    read: wholeNumber(1, 100),
    default: '50',
    values: '1 to 100',
    doc: 'What one address (of IPv6: a /64; a /48 has half as much again) may have of all connections, of bodies that are still to come, and of requests in progress. Connections of trusted proxies are not limited by it.',
  }),
  keepAliveS: number({
    env: 'TERSE_KEEP_ALIVE_S',
    read: wholeNumber(1, 3600),
    default: '75',
    values: '1 to 3600; more than proxies in front keep idle connections',
    doc: 'Seconds that a client may stay connected between two requests.',
  }),
};
