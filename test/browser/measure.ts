/**
 * How the dashboard feels, in figures: what a first visit loads and how long it takes, how soon links, searches and
 * filters show, and how smooth scrolling through a hundred thousand links and zooming through a year of minutes are. It
 * prints figures and asserts nothing; run it with `bun test/browser/measure.ts` on a machine that is otherwise idle.
 */
import type { Page } from 'playwright-core';
import { findChromium, launchChromium } from './kit/chromium.ts';
import { openTab, signIn } from './kit/dashboard-page.ts';
import { busyAlias, startLargeTerse } from './kit/large-terse.ts';

const { path, reason } = await findChromium();
if (path === undefined) throw new Error(reason);

const print = (what: string, figure: string): void => {
  process.stdout.write(`${what.padEnd(52)} ${figure}\n`);
};
const milliseconds = (value: number): string => `${value.toFixed(1)} ms`;

/** Records long tasks and the time between frames until it is read. */
const watch = `{
  globalThis.smoothness = { longTasks: [], frames: [], isOn: true };
  new PerformanceObserver(list => smoothness.longTasks.push(...list.getEntries().map(entry => entry.duration)))
    .observe({ type: 'longtask' });
  let last = performance.now();
  const frame = now => {
    smoothness.frames.push(now - last);
    last = now;
    if (smoothness.isOn) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}`;

async function measured(page: Page, what: string, work: () => Promise<void>): Promise<void> {
  await page.evaluate(watch);
  await work();
  const { longTasks, frames } = (await page.evaluate('(smoothness.isOn = false, smoothness)')) as {
    longTasks: number[];
    frames: number[];
  };
  const sorted = frames.slice(1).toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  print(`${what}: frames, median / p95 / p99`, [0.5, 0.95, 0.99].map(at).map(milliseconds).join(' / '));
  print(
    `${what}: long tasks (over 50 ms)`,
    `${longTasks.length}, longest ${milliseconds(Math.max(0, ...longTasks))}`,
  );
}

const browser = await launchChromium(path);
const large = await startLargeTerse({ links: 100_000, days: 365, spreadClicks: 9_000_000 });
const linkCount = large.links.toLocaleString('en-US');
print('links and clicks', `${linkCount}, ${large.clicks.toLocaleString('en-US')}`);
const tab = await openTab(browser, large.url, { hasMotion: true });
const { page } = tab;

const sizes = new Map<string, number>();
page.on('requestfinished', async request => {
  const { responseBodySize } = await request.sizes();
  sizes.set(new URL(request.url()).pathname, responseBodySize);
});
await page.goto('/dashboard');
await page.getByRole('heading', { name: 'Sign in' }).waitFor();
const interactive = (await page.evaluate('performance.now()')) as number;
const longAtStart = (await page.evaluate(
  'new Promise(resolve => { new PerformanceObserver(list => resolve(list.getEntries().length)).observe({ type: "longtask", buffered: true }); setTimeout(() => resolve(0), 200); })',
)) as number;
const bytesOf = (extension: string): number =>
  [...sizes].filter(([name]) => name.endsWith(extension)).reduce((sum, [, size]) => sum + size, 0);
print('first load: script, gzip', `${(bytesOf('.js') / 1024).toFixed(1)} KB`);
print('first load: style, gzip', `${(bytesOf('.css') / 1024).toFixed(1)} KB`);
print('first load: form can be filled in after', milliseconds(interactive));
print('first load: long tasks', String(longAtStart));

/** The median and the maximum of a few measurements. */
const shown = (tookMs: readonly number[]): string => {
  const sorted = tookMs.toSorted((a, b) => a - b);
  return `${milliseconds(sorted[sorted.length >> 1]!)}, longest ${milliseconds(sorted.at(-1)!)}`;
};
const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
};

await signIn(tab, '/dashboard/links');
const row = page.locator('[data-row-link]').first();
const firstPages: number[] = [];
for (let visit = 0; visit < 5; visit += 1)
  firstPages.push(
    await timed(async () => {
      await page.goto('/dashboard/links');
      await row.waitFor();
    }),
  );
print('first page of links shown after', shown(firstPages));
await page.waitForTimeout(8_000);
await measured(page, `scrolling ${linkCount} links`, async () => {
  for (let step = 0; step < 120; step += 1) {
    await page.mouse.wheel(0, step % 20 === 19 ? 40_000 : 400);
    await page.waitForTimeout(16);
  }
});
const box = page.getByRole('searchbox');
const keys: number[] = [];
await measured(page, `searching ${linkCount} links`, async () => {
  for (const key of 'article number 99') {
    await box.press(key);
    // Measures until the list is rendered again.
    keys.push(
      (await page.evaluate(
        'new Promise(resolve => { const from = performance.now(); requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - from))); })',
      )) as number,
    );
    await page.waitForTimeout(60);
  }
});
print('a key of a search drawn after', shown(keys));

// Sets the range, because the clicks are older than the link, whose default range begins with its creation.
await page.goto(`/dashboard/links/${large.popular}?range=30d`);
const settled = page.locator('.stats[aria-busy=false] .figures');
await settled.waitFor();
await page.locator('[data-dimension=country] .bar-row').first().waitFor();
const filters: number[] = [];
for (const dimension of ['country', 'device', 'browser', 'os', 'referrer']) {
  const value = page.locator(`[data-dimension=${dimension}] .bar-row`).first();
  if ((await value.count()) === 0) continue;
  filters.push(
    await timed(async () => {
      await value.click();
      await page
        .locator('.stats[aria-busy=true]')
        .waitFor({ timeout: 1_000 })
        .catch(() => undefined);
      await settled.waitFor();
    }),
  );
}
print('a filter more shown after', shown(filters));

await page.goto(`/dashboard/links/${busyAlias}?range=12m`);
const plot = page.locator('.chart-plot .u-over');
await plot.waitFor();
await page.waitForTimeout(1_000);
await measured(page, 'zooming from a year to minutes', async () => {
  for (let zoom = 0; zoom < 4; zoom += 1) {
    const box = (await plot.boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.45, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.56, box.y + 40, { steps: 12 });
    await page.mouse.up();
    await page.waitForTimeout(600);
  }
});
print(
  'zoomed down to',
  await page
    .getByLabel('Interval', { exact: true })
    .inputValue()
    .catch(() => 'one step only'),
);
await page.goto(
  `/dashboard/links/${busyAlias}?from=${new Date(Date.now() - 6 * 86_400_000).toISOString()}&to=${new Date().toISOString()}&interval=minute`,
);
await plot.waitFor();
await page.waitForTimeout(1_000);
await measured(page, 'pointing along 8,640 minutes', async () => {
  const box = (await plot.boundingBox())!;
  await page.mouse.move(box.x, box.y + 40);
  await page.mouse.move(box.x + box.width, box.y + 60, { steps: 120 });
});
await browser.close();
await large.stop();
