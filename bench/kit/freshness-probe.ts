/**
 * How long a click takes to show in the statistics: visits to links that no other client follows, and one client that
 * polls for all that have not shown yet. Polling costs little, because it is one request at a time however many are
 * pending.
 */
import { systemRandom } from '../../src/base/random.ts';
import { createClickedLinks } from '../../test/kit/click-account.ts';
import { callerOf } from '../../test/kit/client.ts';
import { browser } from '../../test/kit/visitors.ts';
import { Histogram } from './histogram.ts';

const askPauseMs = 50;
const askedAtOnceMax = 50;
const visibleMaxMs = 60_000;

/** Clicks come at random times, so that they meet every phase of counting; `spacingMs` apart on average. */
export async function probeFreshness(url: string, probes: number, spacingMs: number): Promise<Histogram> {
  const histogram = new Histogram();
  const codes = await createClickedLinks(url, probes);
  const waiting = new Map<string, number>();
  const visiting = (async () => {
    for (const code of codes) {
      await Bun.sleep(systemRandom.float() * 2 * spacingMs);
      await visit(url, code);
      waiting.set(code, performance.now());
    }
  })();
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  void visiting.then(over, over);
  while (!isOver || waiting.size > 0) {
    await Bun.sleep(askPauseMs);
    for (const code of await shownOf(url, [...waiting.keys()].slice(0, askedAtOnceMax))) {
      histogram.record((performance.now() - waiting.get(code)!) * 1_000);
      waiting.delete(code);
    }
    const [oldestMs = Number.POSITIVE_INFINITY] = waiting.values();
    if (performance.now() - oldestMs > visibleMaxMs) throw new Error('a click did not show within a minute');
  }
  await visiting;
  return histogram;
}

async function visit(url: string, code: string): Promise<void> {
  const response = await fetch(`${url}/${code}`, { redirect: 'manual', headers: browser });
  await response.arrayBuffer();
  if (response.status !== 302) throw new Error(`a visit got ${response.status}`);
}

async function shownOf(url: string, codes: readonly string[]): Promise<string[]> {
  if (codes.length === 0) return [];
  const { status, body } = await callerOf(url)('GET', `/api/v1/stats/links?codes=${codes.join(',')}`);
  if (status !== 200) throw new Error(`the statistics answered ${status}`);
  return (body.links as { shortCode: string; clicks: number }[])
    .filter(({ clicks }) => clicks > 0)
    .map(({ shortCode }) => shortCode);
}
