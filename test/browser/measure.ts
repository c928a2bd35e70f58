/**
 * How the dashboard feels, in figures: what a first visit loads and how long it takes, and how smooth scrolling
 * through ten thousand links and zooming through a year of minutes are. It prints and judges nothing; run it with
 * `bun test/browser/measure.ts` on a machine that is otherwise idle.
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

/** Notes long tasks and the time between frames until it is read. */
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
const large = await startLargeTerse({ links: 10_000, days: 365 });
const tab = await openTab(browser, large.url);
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

await signIn(tab, '/dashboard/links');
const startedMs = performance.now();
await page.getByText('10,000 links').waitFor();
print('10,000 links loaded after', milliseconds(performance.now() - startedMs));
await measured(page, 'scrolling 10,000 links', async () => {
  for (let step = 0; step < 120; step += 1) {
    await page.mouse.wheel(0, step % 20 === 19 ? 40_000 : 400);
    await page.waitForTimeout(16);
  }
});
await measured(page, 'searching 10,000 links', async () => {
  await page.getByRole('searchbox').pressSequentially('article number 4242', { delay: 60 });
});

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
