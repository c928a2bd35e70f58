/**
 * Who follows a link: address, agent, referrer. Worked out once for as long as a connection sends the same headers,
 * since all of it follows from them and from the peer.
 */
import { NotedVisitor } from '../clicks/noted-visitor.ts';
import { visitFlags } from '../clicks/steps/visit-kind.ts';
import type { ClientAddress } from './client-address.ts';
import type { WireRequest } from './wire/wire-request.ts';

export type VisitorOf = (request: WireRequest) => NotedVisitor;

export function createVisitors(clientAddress: ClientAddress): VisitorOf {
  return ({ headers, peer }) => {
    // Only visits of links leave something here.
    if (headers.memo !== undefined) return headers.memo as NotedVisitor;
    const address = clientAddress(peer.address, headers);
    const agent = headers.get('user-agent') ?? '';
    const flags = visitFlags({ method: 'GET', headers });
    const visitor = new NotedVisitor(address, agent, headers.get('referer') ?? '', flags);
    headers.memo = visitor;
    return visitor;
  };
}
