/** The whole dashboard in German, as a file of its own that only readers of German load. */
import type { Texts } from '../texts.ts';
import { germanFrameTexts } from './german/frame.ts';
import { germanLinkTexts } from './german/links.ts';
import { germanManageTexts } from './german/manage.ts';
import { germanNumberTexts } from './german/numbers.ts';
import { germanStaffTexts } from './german/staff.ts';
import { germanStatsTexts } from './german/stats.ts';

export const german: Texts = {
  ...germanFrameTexts,
  ...germanLinkTexts,
  ...germanManageTexts,
  ...germanNumberTexts,
  ...germanStaffTexts,
  ...germanStatsTexts,
};
