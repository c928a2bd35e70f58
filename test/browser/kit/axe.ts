/** What axe objects to on a page, as lines to read. */
import type { Page } from 'playwright-core';

const axeSource = await Bun.file(import.meta.resolve('axe-core/axe.min.js').replace('file://', '')).text();
/** Ends with the last animation that has an end: axe sees through what is still fading in. */
const animationsEnd = `Promise.all(
  document.getAnimations()
    .filter(each => each.effect.getComputedTiming().endTime !== Infinity)
    .map(each => each.finished.catch(() => undefined)),
)`;

export async function axeObjections(page: Page): Promise<string[]> {
  await page.evaluate(animationsEnd);
  await page.evaluate(axeSource);
  const found = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  return found.violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(
      ({ html, failureSummary }) => `${impact} ${id}: ${html.slice(0, 120)} ${failureSummary.slice(0, 200)}`,
    ),
  );
}
