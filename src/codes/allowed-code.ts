import { Problem } from '../base/errors.ts';

/** Refusals in a row that show the lists of forbidden words to be wrong, not the draws to be unlucky. */
const refusalsMax = 1_000;

/** The first of the codes that `draw` offers which the filter lets pass; `refusals` counts those before it. */
export async function firstAllowed(
  draw: (refusals: number) => string | Promise<string>,
  isAllowed: (code: string) => boolean,
): Promise<string> {
  for (let refusals = 0; refusals < refusalsMax; refusals += 1) {
    const code = await draw(refusals);
    if (isAllowed(code)) return code;
  }
  throw new Problem('codes_exhausted', { detail: 'The lists of forbidden words leave no short code.' });
}
