/**
 * Ports for engines that are killed and come back at the same address. They are below the range that systems use for
 * outgoing connections, one of which could otherwise take the port of an engine that is down. The port 10,000 above is
 * free as well: Redis Cluster's nodes talk to each other there.
 */
const first = 10_240;
const last = 22_767;
export const busOffset = 10_000;
const triesMax = 100;

export function freeEnginePorts(count: number): number[] {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries === triesMax) throw new Error(`${count} free ports were not found`);
    const port = first + Math.floor(Math.random() * (last - first + 1));
    if (isFree(port) && isFree(port + busOffset)) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}
