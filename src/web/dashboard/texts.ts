/**
 * Every word the dashboard says, in one place: to be read in one go, corrected without looking for it, and translated
 * (texts/german.ts). A text that contains a number or a name is a function.
 *
 * `texts` is in the language that is shown, so it is read while something is drawn and never kept.
 */
import { frameTexts, type Translation } from './texts/frame.ts';
import { linkTexts } from './texts/links.ts';
import { manageTexts } from './texts/manage.ts';
import { numberTexts } from './texts/numbers.ts';
import { staffTexts } from './texts/staff.ts';
import { statsTexts } from './texts/stats.ts';

export const english = {
  ...frameTexts,
  ...linkTexts,
  ...manageTexts,
  ...numberTexts,
  ...staffTexts,
  ...statsTexts,
} as const;
export type Texts = Translation<typeof english>;

export let texts: Texts = english;

/** Everything must be drawn again afterwards: client/language.ts does both. */
export function replaceTexts(next: Texts): void {
  texts = next;
}
