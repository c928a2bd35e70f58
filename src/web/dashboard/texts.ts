/**
 * Every word the dashboard says, in one place: to be read in one go, corrected without looking for it, and
 * translated one day. A text that contains a number or a name is a function.
 */
import { frameTexts } from './texts/frame.ts';
import { linkTexts } from './texts/links.ts';
import { numberTexts } from './texts/numbers.ts';
import { staffTexts } from './texts/staff.ts';

export const texts = { ...frameTexts, ...linkTexts, ...numberTexts, ...staffTexts } as const;
