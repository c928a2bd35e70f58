/**
 * The language of the dashboard: the one chosen here, else the first of the browser's that we have. English comes with
 * the script; another one is a file that is loaded when it is needed. Numbers and dates follow the language, too.
 */
import { english, replaceTexts, type Texts } from '../texts.ts';
import { createStore } from './state/store.ts';

/** Each is named in its own language, so that its speakers find it. */
export const languages = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;
export const languageNames = Object.keys(languages) as readonly Language[];

/** Components that subscribe to it are rendered again in the new language. */
export const language = createStore<Language>('en');

const key = 'terse-language';

const loaders: Readonly<Record<Language, () => Promise<Texts>>> = {
  en: async () => english,
  de: async () => {
    const { content } = document.querySelector<HTMLMetaElement>('meta[name="terse-texts-de"]')!;
    return ((await import(content)) as { german: Texts }).german;
  },
};

const isLanguage = (name: string | null | undefined): name is Language =>
  name !== null && name !== undefined && Object.hasOwn(languages, name);

export function preferredLanguage(chosen: string | null, wanted: readonly string[]): Language {
  if (isLanguage(chosen)) return chosen;
  return wanted.map(tag => tag.split('-')[0]!.toLowerCase()).find(isLanguage) ?? 'en';
}

/** Called before anything is rendered. If a language cannot be loaded, the dashboard is in English. */
export async function startLanguage(): Promise<void> {
  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem(key);
  } catch {
    // A browser without storage follows its own languages.
  }
  await show(preferredLanguage(chosen, navigator.languages)).catch(() => show('en'));
}

/** Stored first: leaving the page while the texts are loading must not lose the choice. */
export async function chooseLanguage(next: Language): Promise<void> {
  try {
    localStorage.setItem(key, next);
  } finally {
    await show(next);
  }
}

let wanted: Language | undefined;

async function show(next: Language): Promise<void> {
  wanted = next;
  const texts = await loaders[next]();
  // Another one was chosen while this one was loading.
  if (wanted !== next) return;
  replaceTexts(texts);
  document.documentElement.lang = next;
  language.set(next);
}
