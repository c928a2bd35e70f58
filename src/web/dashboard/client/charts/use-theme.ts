import { useEffect, useState } from 'preact/hooks';

/** The theme in force, for what is drawn with colours read from the style sheet. */
export function useTheme(): string {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? 'light');
  useEffect(() => {
    const observer = new MutationObserver(() => setTheme(document.documentElement.dataset.theme ?? 'light'));
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => observer.disconnect();
  }, []);
  return theme;
}
