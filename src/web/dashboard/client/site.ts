/** Facts about this server, from the page it rendered, and about this browser. */
import { isTimeZone } from '../../../base/zone.ts';
import { createStore, useStore } from './state/store.ts';

/** Some tests run without a page. */
const meta = (name: string): string =>
  globalThis.document?.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';

/** Public origin of the short links, such as `https://terse.example`. */
export const baseUrl = meta('terse-base-url');
export const mapPath = meta('terse-map');
const browserZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
/** Browsers may have no time zone, or one without a name, which the server does not know either. */
export const timeZone = isTimeZone(browserZone) ? browserZone : 'UTC';
/** The modifier key that is held together with a letter, as this platform names it. */
export const commandKey = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl';

/** The theme that the user chose; theme.ts applies it. */
export type ThemeChoice = 'system' | 'light' | 'dark';

const key = 'terse-theme';

function themeChoice(): ThemeChoice {
  const stored = localStorage.getItem(key);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

const chosen = createStore<ThemeChoice | undefined>(undefined);
/** Renders the component again when another theme is chosen. */
export const useThemeChoice = (): ThemeChoice => useStore(chosen) ?? themeChoice();

export function chooseTheme(choice: ThemeChoice): void {
  if (choice === 'system') localStorage.removeItem(key);
  else localStorage.setItem(key, choice);
  chosen.set(choice);
  dispatchEvent(new Event('terse-theme'));
}
