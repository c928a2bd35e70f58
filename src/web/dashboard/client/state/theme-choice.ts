/** The theme somebody chose; theme.ts puts it into force. */
export type ThemeChoice = 'system' | 'light' | 'dark';

const key = 'terse-theme';

export function themeChoice(): ThemeChoice {
  const stored = localStorage.getItem(key);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function chooseTheme(choice: ThemeChoice): void {
  if (choice === 'system') localStorage.removeItem(key);
  else localStorage.setItem(key, choice);
  dispatchEvent(new Event('terse-theme'));
}
