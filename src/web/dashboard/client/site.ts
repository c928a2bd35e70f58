/** What the page was told about this server when it was made. */
import { isTimeZone } from '../../../base/zone.ts';

const meta = (name: string): string =>
  document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';

/** Public origin of the short links, such as `https://terse.example`. */
export const baseUrl = meta('terse-base-url');
export const mapPath = meta('terse-map');
const browserZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
/** Browsers may have no zone, or one without a name, which the server does not know either. */
export const timeZone = isTimeZone(browserZone) ? browserZone : 'UTC';
/** What is held down together with a letter, as this machine's keys say it. */
export const commandKey = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl';
