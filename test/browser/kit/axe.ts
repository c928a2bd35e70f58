/** What axe objects to on a page, as lines to read. */
import type { Page } from 'playwright-core';

const axeSource = await Bun.file(import.meta.resolve('axe-core/axe.min.js').replace('file://', '')).text();
/** Ends with the last animation that has an end: axe sees through what is still fading in. */
const animationsEnd = `Promise.all(
  document.getAnimations()
    .filter(each => each.effect.getComputedTiming().endTime !== Infinity)
    .map(each => each.finished.catch(() => undefined)),
)`;
/** Those whose result the colour scheme can change; all other rules read the document, its styles and its layout. */
const colourRules = ['color-contrast', 'link-in-text-block'];

interface AxeOptions {
  readonly rules?: readonly string[];
  /** A selector of the parts to look at. Rules about the whole document apply only without it. */
  readonly within?: string | undefined;
}

interface BothSchemesOptions {
  readonly within?: string | undefined;
  /** The same for what is looked at in the other scheme. */
  readonly coloursWithin?: string | undefined;
}

export async function axeObjections(page: Page, { rules, within }: AxeOptions = {}): Promise<string[]> {
  await page.evaluate(animationsEnd);
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axeSource);
  const options = { resultTypes: ['violations'], ...(rules !== undefined && { runOnly: rules }) };
  const context = within === undefined ? 'document' : JSON.stringify({ include: [within] });
  const found = (await page.evaluate(`axe.run(${context}, ${JSON.stringify(options)})`)) as {
    violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  return found.violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(
      ({ html, failureSummary }) => `${impact} ${id}: ${html.slice(0, 120)} ${failureSummary.slice(0, 200)}`,
    ),
  );
}

/**
 * Of a page in light and in dark. All rules apply in the scheme that it is in, only those about colours in the other,
 * in which it stays: drawing everything again costs as much as many rules.
 */
export async function axeObjectionsInBothSchemes(
  page: Page,
  options: BothSchemesOptions = {},
): Promise<string[]> {
  const { within, coloursWithin = within } = options;
  const lines = await axeObjections(page, { within });
  const isDark = await page.evaluate('matchMedia("(prefers-color-scheme: dark)").matches');
  const [before, after] = isDark ? (['dark', 'light'] as const) : (['light', 'dark'] as const);
  await page.emulateMedia({ colorScheme: after });
  // Scripts are notified in the next frame.
  await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))');
  const others = await axeObjections(page, { rules: colourRules, within: coloursWithin });
  return [...lines.map(line => `${before}: ${line}`), ...others.map(line => `${after}: ${line}`)];
}
