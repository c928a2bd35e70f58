/**
 * The minimum that Bun needs for a redirect: one constant answer, by its HTTP server or by a socket that is closed with
 * it. The difference to it is the cost of Terse.
 */
import { join } from 'node:path';
import { boundTo } from './cores.ts';

export interface BareServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export async function startBareServer(
  cores: readonly number[],
  kind: 'serve' | 'listen' = 'serve',
  tls?: { readonly certificate: string; readonly key: string },
): Promise<BareServer> {
  const files = tls === undefined ? [] : [tls.certificate, tls.key];
  const command = [process.execPath, join(import.meta.dir, 'bare-server-process.ts'), kind, ...files];
  const child = Bun.spawn(boundTo(cores, command), { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  if (value === undefined) throw new Error('the bare server did not start');
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${new TextDecoder().decode(value).trim()}`,
    pid: child.pid,
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}
