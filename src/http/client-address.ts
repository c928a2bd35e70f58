/**
 * The client address of a request. The peer of the connection, unless that is a proxy the operator trusts: then the
 * last address in X-Forwarded-For that no trusted proxy wrote. Any client can send that header, so it counts only from
 * trusted peers. Some proxies write the client's port as well.
 */
import { isIP } from 'node:net';
import { createTrust } from '../base/addresses.ts';
import { ConnectionVisitor } from '../clicks/recorder.ts';
import { visitFlags } from '../clicks/steps/visit.ts';
import type { WireRequest } from './wire/wire-request.ts';

export type ClientAddress = (peer: string, headers: Pick<Headers, 'get'>) => string;

const hopsMax = 32;

export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  if (trustedProxies.length === 0) return peer => peer;
  const isTrusted = createTrust(trustedProxies);
  return (peer, headers) => {
    if (!isTrusted(peer)) return peer;
    const hops = (headers.get('x-forwarded-for') ?? '').split(',').slice(-hopsMax).map(addressIn);
    let client = peer;
    for (const hop of hops.reverse()) {
      if (hop === undefined) break;
      client = hop;
      if (!isTrusted(hop)) break;
    }
    return client;
  };
}

const withPort = /^(\d[\d.]*):\d{1,5}$/;
const inBrackets = /^\[([\da-f:.]+)\](?::\d{1,5})?$/i;

/** The address of `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`, also in quotes. */
function addressIn(hop: string): string | undefined {
  const text = hop.trim().replace(/^"(.*)"$/, '$1');
  if (isIP(text) !== 0) return text;
  const [, address = ''] = withPort.exec(text) ?? inBrackets.exec(text) ?? [];
  return isIP(address) === (text.startsWith('[') ? 6 : 4) ? address : undefined;
}

export type VisitorOf = (request: Pick<WireRequest, 'headers' | 'peer'>) => ConnectionVisitor;

/**
 * The visitor of a link: address, agent, referrer, language. Cached while a connection repeats its headers, because it
 * depends only on them and on the peer.
 */
export function createVisitors(clientAddress: ClientAddress): VisitorOf {
  return ({ headers, peer }) => {
    // Nothing else is ever stored in `memo`.
    if (headers.memo !== undefined) return headers.memo as ConnectionVisitor;
    const { agent, referrer, flags, language } = describedBy(headers);
    const address = clientAddress(peer.address, headers);
    const visitor = new ConnectionVisitor(address, agent, referrer, flags, language);
    headers.memo = visitor;
    return visitor;
  };
}

type Described = Pick<ConnectionVisitor, 'agent' | 'referrer' | 'flags' | 'language'>;

function describedBy(headers: WireRequest['headers']): Described {
  headers.shared.memo ??= {
    agent: headers.get('user-agent') ?? '',
    referrer: headers.get('referer') ?? '',
    flags: visitFlags({ method: 'GET', headers }),
    language: headers.get('accept-language') ?? '',
  } satisfies Described;
  return headers.shared.memo as Described;
}
