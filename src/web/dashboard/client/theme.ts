/**
 * Light or dark, decided before anything is drawn: this file is loaded before the style sheet. The root element always
 * carries the active theme, so that the style sheet states each colour twice and not three times.
 */
const key = 'terse-theme';
const system = matchMedia('(prefers-color-scheme: dark)');

function apply(): void {
  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem(key);
  } catch {
    // A browser without storage follows the system.
  }
  const theme = chosen === 'light' || chosen === 'dark' ? chosen : system.matches ? 'dark' : 'light';
  document.documentElement.dataset.theme = theme;
}

apply();
system.addEventListener('change', apply);
addEventListener('storage', apply);
addEventListener('terse-theme', apply);
