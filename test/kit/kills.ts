/** Links that are killed in every way there is, and whether a process still leads to where they led. */
import type { Call } from './client.ts';

/** What stops a link from leading where it led: its owner's changes and a moderator's decisions. */
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

/** Resolves with the answer that says it is done. */
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
