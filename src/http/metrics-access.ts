/**
 * Who may read `/metrics` on the public port without a key: programs on this machine and on the configured networks. Only
 * the peer of the connection counts. A forwarded request is rejected wherever it comes from: behind a local proxy that
 * is not in TERSE_TRUSTED_PROXIES, every client has a loopback address.
 */
import { createTrust } from './client-address.ts';

export type MetricsAccess = (peer: string, headers: Headers) => boolean;

/** Headers that proxies and CDNs add to the requests they forward. */
const forwardingHeaders =
  /^(?:forwarded|via|cdn-loop|x-forwarded.*|x-(?:real|client|cluster-client)-ip|x-original-.*|x-envoy-.*|x-varnish|(?:true-client|cf-connecting|fastly-client)-ip)$/;

const isLoopback = createTrust(['127.0.0.0/8', '::1/128']);
const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

export function createMetricsAccess(networks: readonly string[]): MetricsAccess {
  const isInNetworks = createTrust(networks);
  return (peer, headers) => {
    if (headers.keys().some(name => forwardingHeaders.test(name))) return false;
    if (isInNetworks(peer)) return true;
    // Another name means a proxy that forwards requests unchanged, or DNS rebinding in a local browser.
    return isLoopback(peer) && loopbackHost.test(headers.get('host') ?? '');
  };
}
