/** A Terse with ten thousand links, one of which was followed in every minute of a year. */
import { callerOf } from '../../kit/client.ts';
import { startTerseHere, type TerseHere } from '../../kit/terse-here.ts';
import { seedClicks } from './seeded-clicks.ts';

export interface LargeTerse {
  readonly url: string;
  readonly links: number;
  stop(): Promise<void>;
}

export const busyAlias = 'busy-link';
const dayMs = 24 * 60 * 60_000;
/** Two a minute on average, so that hardly a minute of the day is empty. */
const dailyClicks = 2 * 24 * 60;

export async function startLargeTerse({ links, days }: { links: number; days: number }): Promise<LargeTerse> {
  const terse: TerseHere = await startTerseHere({ env: { TERSE_MINUTE_DAYS: '400' } });
  const call = callerOf(terse.url);
  const items = Array.from({ length: links - 1 }, (_, index) => ({
    longUrl: `https://example.com/articles/${index}/a-title-in-words?utm_source=mail&id=${index}`,
    title: index % 3 === 0 ? `Article number ${index}` : null,
    tags: index % 10 === 0 ? ['newsletter'] : [],
  }));
  await call('POST', '/api/v1/links/bulk', { body: { links: items } });
  const body = { longUrl: 'https://example.com/busy', customAlias: busyAlias, title: 'The busy one' };
  await call('POST', '/api/v1/links', { body });
  const { id: ownerId } = (await call('GET', '/api/v1/account')).body;
  const toMs = Date.now();
  const fromMs = toMs - days * dayMs;
  await seedClicks({
    dataFolder: terse.dataFolder,
    links: [{ code: busyAlias, ownerId, tags: [], daily: dailyClicks, fromMs }],
    fromMs,
    toMs,
  });
  return { url: terse.url.replace('127.0.0.1', 'localhost'), links, stop: () => terse.stop() };
}
