/** The violations that axe finds on a page, one readable line each. */
import type { Page } from 'playwright-core';

const axeSource = await Bun.file(import.meta.resolve('axe-core/axe.min.js').replace('file://', '')).text();
/** Resolves when all finite animations have ended: axe misjudges elements that are still fading in. */
const animationsEnd = `Promise.all(
  document.getAnimations()
    .filter(each => each.effect.getComputedTiming().endTime !== Infinity)
    .map(each => each.finished.catch(() => undefined)),
)`;
/** The rules whose result depends on the colour scheme; all others read the document, its styles and its layout. */
const colourRules = ['color-contrast', 'link-in-text-block'];

interface AxeOptions {
  readonly rules?: readonly string[];
  /** A selector of the parts to check. Rules about the whole document apply only without it. */
  readonly within?: string | undefined;
}

interface BothSchemesOptions {
  readonly within?: string | undefined;
  /** The same for the check in the other colour scheme. */
  readonly coloursWithin?: string | undefined;
}

export async function axeViolations(page: Page, { rules, within }: AxeOptions = {}): Promise<string[]> {
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
 * The violations in light and in dark. All rules are checked in the current scheme, only those about colours in the
 * other. The page then stays in the other scheme, because rendering it again costs as much as many rules.
 */
export async function axeViolationsInBothSchemes(
  page: Page,
  options: BothSchemesOptions = {},
): Promise<string[]> {
  const { within, coloursWithin = within } = options;
  const lines = await axeViolations(page, { within });
  const isDark = await page.evaluate('matchMedia("(prefers-color-scheme: dark)").matches');
  const [before, after] = isDark ? (['dark', 'light'] as const) : (['light', 'dark'] as const);
  await page.emulateMedia({ colorScheme: after });
  // Scripts are notified of the change in the next frame.
  await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))');
  const others = await axeViolations(page, { rules: colourRules, within: coloursWithin });
  return [...lines.map(line => `${before}: ${line}`), ...others.map(line => `${after}: ${line}`)];
}
