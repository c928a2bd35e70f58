/** Kills links in every possible way, and checks whether a process still redirects to their destination. */
import { expect } from 'bun:test';
import { type Call, callerOf } from './client.ts';
import { expectSafe } from './expect-safe.ts';
import type { TerseProcess } from './terse-process.ts';

/** Changes of the owner and decisions of a moderator after which a link must not redirect as before. */
export const killKinds = ['disable', 'edit', 'delete', 'block', 'quarantine'] as const;
export type KillKind = (typeof killKinds)[number];

export interface Victim {
  readonly code: string;
  readonly longUrl: string;
}

export async function makeVictims(call: Call, count: number): Promise<Victim[]> {
  const links = Array.from({ length: count }, (_, n) => ({ longUrl: `https://example.com/before/${n}` }));
  const { body } = await call('POST', '/api/v1/links/bulk', { body: { links } });
  return body.results.map(({ link }: { link: { shortCode: string; longUrl: string } }) => ({
    code: link.shortCode,
    longUrl: link.longUrl,
  }));
}

/** Resolves when the change is acknowledged. */
export async function kill(call: Call, kind: KillKind, { code }: Victim): Promise<void> {
  const path = `/api/v1/links/${code}`;
  const { status } = await {
    disable: () => call('PATCH', path, { body: { status: 'disabled' } }),
    edit: () => call('PATCH', path, { body: { longUrl: 'https://example.com/after' } }),
    delete: () => call('DELETE', path),
    block: () => decide(call, code, 'block'),
    quarantine: () => decide(call, code, 'quarantine'),
  }[kind]();
  if (status >= 300) throw new Error(`${kind} was answered with ${status}`);
}

const decide = (call: Call, code: string, decision: string) =>
  call('POST', `/api/v1/moderation/links/${code}/decision`, {
    body: { decision, reason: 'It has to stop.', version: 1 },
  });

export async function leadsThere(url: string, { code, longUrl }: Victim): Promise<boolean> {
  const response = await fetch(`${url}/${code}`, { redirect: 'manual' });
  await response.arrayBuffer();
  return response.headers.get('location') === longUrl;
}

/** The bound within which a kill must take effect everywhere. */
export const killPromisedMs = 100;
const visitorsPerProcess = 2;

/** From the answer to the kill until no process redirects there any more; visitors keep asking all the while. */
export async function killAndWatch(
  processes: readonly TerseProcess[],
  victim: Victim,
  index: number,
  maxMs: number,
): Promise<number> {
  for (const { url } of processes) expect(await leadsThere(url, victim)).toBe(true);
  let killedMs = Number.POSITIVE_INFINITY;
  const visitors = processes.flatMap(({ url }) =>
    Array.from({ length: visitorsPerProcess }, async () => {
      for (;;) {
        const leads = await leadsThere(url, victim);
        const sinceMs = performance.now() - killedMs;
        if (!leads || sinceMs > maxMs) return leads ? Number.POSITIVE_INFINITY : Math.max(0, sinceMs);
      }
    }),
  );
  const call = callerOf(processes[index % processes.length]!.url);
  await kill(call, killKinds[index % killKinds.length]!, victim);
  killedMs = performance.now();
  const slowestMs = Math.max(...(await Promise.all(visitors)));
  // A killed link stays dead: no read that was in flight brings it back.
  for (const { url } of processes) expectSafe(await leadsThere(url, victim)).toBe(false);
  return slowestMs;
}

/** The figures of many kills in one line. */
export function summaryOf(takenMs: readonly number[]): string {
  const sorted = takenMs.toSorted((a, b) => a - b);
  const at = (share: number): string => sorted[Math.ceil(sorted.length * share) - 1]!.toFixed(0);
  const late = sorted.filter(each => each > killPromisedMs).length;
  return `${sorted.length} kills: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms, ${late} late`;
}
