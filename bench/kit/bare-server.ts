/** The least that Bun can do for a redirect: one constant answer. What Terse adds is measured beside it. */
import { join } from 'node:path';

export interface BareServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export async function startBareServer(): Promise<BareServer> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'bare-server-process.ts')], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  if (value === undefined) throw new Error('the bare server did not start');
  return {
    url: `http://127.0.0.1:${new TextDecoder().decode(value).trim()}`,
    pid: child.pid,
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}
