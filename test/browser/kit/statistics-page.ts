/** The numbers that a statistics page shows. */
import type { Page } from 'playwright-core';

/** Waits until nothing is loading, then reads the page. */
export async function statisticsShown(page: Page) {
  await page.locator('.stats[aria-busy=false] .figures').waitFor();
  await page.locator('.log[aria-busy=false]').waitFor();
  return {
    figures: await figuresOf(page),
    lists: await listsOf(page),
    log: await page.locator('.log tbody tr').count(),
    chart: (await page.locator('.chart-plot').getAttribute('aria-label')) ?? '',
  };
}

/** The figures by name, such as Clicks. */
async function figuresOf(page: Page): Promise<Record<string, number>> {
  const found = await page.locator('.figure').all();
  const entries = found.map(async figure => [
    await figure.locator('dt').innerText(),
    Number(await figure.locator('dd').getAttribute('data-value')),
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

/** The lists by dimension: values with their clicks. */
async function listsOf(page: Page): Promise<Record<string, [string, number][]>> {
  return page.evaluate(`Object.fromEntries(
    [...document.querySelectorAll('[data-dimension]')].map(card => [
      card.dataset.dimension,
      [...card.querySelectorAll('.bar-row')].map(row => [row.dataset.value, Number(row.dataset.clicks)]),
    ]),
  )`);
}
