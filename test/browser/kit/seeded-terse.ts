/** A Terse with a history: the story's links and a year of their clicks, with a stopped clock. */
import { systemClock } from '../../../src/base/clock.ts';
import { type Call, callerOf } from '../../kit/client.ts';
import { startTerseHere, type TerseHere } from '../../kit/terse-here.ts';
import { seedClicks } from './seeded-clicks.ts';
import { storyLinks, storyNowMs, suspects } from './story.ts';

export interface SeededTerse {
  readonly terse: TerseHere;
  /** With a host name, because cookies and short links belong to it. */
  readonly url: string;
  readonly call: Call;
  advance(byMs: number): void;
  stop(): Promise<void>;
}

const dayMs = 24 * 60 * 60_000;

export async function startSeededTerse(env: Readonly<Record<string, string>> = {}): Promise<SeededTerse> {
  let nowMs = storyNowMs - 400 * dayMs;
  const terse = await startTerseHere({
    clock: { ...systemClock, now: () => nowMs },
    // A browser accepts the secure cookie with this prefix from localhost, too.
    env: { TERSE_BASE_URL: 'https://nord.example', TERSE_TRUSTED_PROXIES: '127.0.0.1/32', ...env },
  });
  const call = callerOf(terse.url);
  const { id: ownerId } = (await call('PATCH', '/api/v1/account', { body: { name: 'Nora Lindqvist' } })).body;
  for (const { alias, longUrl, title, tags, daysOld } of storyLinks.toSorted(
    (a, b) => b.daysOld - a.daysOld,
  )) {
    nowMs = storyNowMs - daysOld * dayMs;
    const body = { longUrl, customAlias: alias, title, tags };
    const { status } = await call('POST', '/api/v1/links', { body });
    if (status !== 201) throw new Error(`no link ${alias}: ${status}`);
  }
  nowMs = storyNowMs - 3 * dayMs;
  await call('PATCH', '/api/v1/links/podcast-11', { body: { status: 'disabled' } });
  await call('PATCH', '/api/v1/links/autumn', { body: { title: 'Autumn collection 2026' } });
  await call('POST', '/api/v1/keys', {
    body: { name: 'Newsletter script', scopes: ['links:read', 'links:write'] },
  });
  await call('POST', '/api/v1/keys', { body: { name: 'Reporting', scopes: ['stats:read'] } });
  await seedModeration(call, byMs => {
    nowMs = storyNowMs - byMs;
  });
  for (const [name, role] of [
    ['Jonas Weber', 'moderator'],
    ['Marketing', 'member'],
  ]) {
    await call('POST', '/api/v1/accounts', { body: { name, role, plan: 'pro' } });
  }
  nowMs = storyNowMs;
  await seedClicks({
    dataFolder: terse.dataFolder,
    fromMs: storyNowMs - 365 * dayMs,
    toMs: storyNowMs,
    isLogged: true,
    links: storyLinks.map(({ alias, tags, daily, daysOld }) => ({
      code: alias,
      ownerId,
      tags,
      daily,
      fromMs: storyNowMs - daysOld * dayMs,
    })),
  });
  return {
    terse,
    url: terse.url.replace('127.0.0.1', 'localhost'),
    call,
    advance(byMs) {
      nowMs += byMs;
    },
    stop: () => terse.stop(),
  };
}

const minuteMs = 60_000;

/** Links that wait for a moderator, with reports, and one entry of the blocklist. */
async function seedModeration(call: Call, setAgo: (agoMs: number) => void): Promise<void> {
  const strangers = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
  for (const { longUrl, agoMinutes, reports } of suspects) {
    setAgo(agoMinutes * minuteMs);
    const { body } = await call('POST', '/api/v1/links', { key: undefined, body: { longUrl } });
    for (const [index, text] of reports.entries()) {
      const report = { shortCode: body.shortCode, category: 'phishing', text };
      const headers = { 'X-Forwarded-For': strangers[index]! };
      await call('POST', '/api/v1/reports', { key: undefined, body: report, headers });
    }
  }
  setAgo(2 * dayMs);
  await call('POST', '/api/v1/blocklist', {
    body: { entry: 'evil.example', reason: 'Phishing of our customers' },
  });
  await call('POST', '/api/v1/blocklist', { body: { entry: 'paypal-*.example', reason: null } });
}
