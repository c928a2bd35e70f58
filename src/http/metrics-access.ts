/**
 * Who may read `/metrics` at the port that everyone can reach: programs on this machine, and on networks that the operator
 * names. Only the other end of the connection counts. A request that somebody forwarded is a stranger's, wherever it comes
 * from: behind a proxy on this machine that nobody declared, all the world has a loopback address.
 */
import { createTrust } from './client-address.ts';

export type MetricsAccess = (peer: string, headers: Headers) => boolean;

/** What proxies and CDNs add to a request that is not their own. */
const forwardingHeaders =
  /^(?:forwarded|via|cdn-loop|x-forwarded.*|x-(?:real|client|cluster-client)-ip|x-original-.*|x-envoy-.*|x-varnish|(?:true-client|cf-connecting|fastly-client)-ip)$/;

const isLoopback = createTrust(['127.0.0.0/8', '::1/128']);
const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

export function createMetricsAccess(networks: readonly string[]): MetricsAccess {
  const isNamed = createTrust(networks);
  return (peer, headers) => {
    if (headers.keys().some(name => forwardingHeaders.test(name))) return false;
    if (isNamed(peer)) return true;
    // Under any other name it was passed on as it came, or is the page of a stranger in a browser on this machine.
    return isLoopback(peer) && loopbackHost.test(headers.get('host') ?? '');
  };
}
