/** What was typed into the form of a link, kept in this tab until it is sent or discarded. */
import type { LinkDraft } from './link-form.ts';

const nameOf = (key: string): string => `terse-draft ${key}`;

export function readDraft(key: string): LinkDraft | undefined {
  const text = sessionStorage.getItem(nameOf(key));
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as LinkDraft;
  } catch {
    return undefined;
  }
}

export function keepDraft(key: string, draft: LinkDraft): void {
  try {
    sessionStorage.setItem(nameOf(key), JSON.stringify(draft));
  } catch {
    // A browser without room keeps the form as it is, but not beyond it.
  }
}

export const dropDraft = (key: string): void => sessionStorage.removeItem(nameOf(key));

/** Another user may sign in next. */
export function forgetDrafts(): void {
  for (const name of Object.keys(sessionStorage))
    if (name.startsWith(nameOf(''))) sessionStorage.removeItem(name);
}
