/**
 * Deleting with a way back. Deleting is final for the server, so a link is switched off at once, which stops it
 * for visitors, and deleted when the time for second thoughts is over, or when the page is left.
 */
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import { deleteLinks, editLinks } from '../api/links.ts';
import { messageOf } from '../api/problem.ts';
import type { BulkResult, LinkFields, LinkView } from '../api/types.ts';
import { putLink, takeLink } from '../state/link-index.ts';
import { dismissToast, showToast } from '../ui/toast.tsx';

const secondThoughtsMs = 8_000;

interface Removal {
  links: readonly LinkView[];
  cancel: () => void;
}

/** From the moment somebody wants it, so that leaving the page while links are still being switched off deletes them, too. */
const pending = new Set<Removal>();

addEventListener('pagehide', () => {
  for (const removal of pending) {
    removal.cancel();
    void deleteLinks(codesOf(removal.links), { keepalive: true }).catch(() => undefined);
  }
  pending.clear();
});

export async function removeLinks(links: readonly LinkView[]): Promise<void> {
  for (const { shortCode } of links) takeLink(shortCode);
  const removal: Removal = { links, cancel: () => {} };
  pending.add(removal);
  const active = links.filter(({ status }) => status === 'active');
  const failed = await setStatus(active, 'disabled');
  // The page was left meanwhile, and they are deleted.
  if (!pending.has(removal)) return;
  for (const link of failed) putLink(link);
  const going = links.filter(link => !failed.includes(link));
  removal.links = going;
  if (going.length === 0) {
    pending.delete(removal);
    return;
  }
  removal.cancel = browserClock.after(secondThoughtsMs, () => {
    pending.delete(removal);
    dismissToast(toast);
    void deleteAll(going);
  });
  const undo = (): void => {
    removal.cancel();
    pending.delete(removal);
    for (const link of going) putLink(link);
    void setStatus(
      going.filter(link => active.includes(link)),
      'active',
    );
  };
  const toast = showToast(texts.links.deleted(going.length), {
    action: { label: texts.actions.undo, run: undo },
    forMs: secondThoughtsMs,
  });
}

/** Those that could not be changed. */
async function setStatus(links: readonly LinkView[], status: 'active' | 'disabled'): Promise<LinkView[]> {
  const results = await editAll(links, { status });
  return links.filter((_, place) => results[place]?.link === undefined);
}

async function deleteAll(links: readonly LinkView[]): Promise<void> {
  const results = await toldOf(deleteLinks(codesOf(links)));
  for (const [place, link] of links.entries())
    if (results[place]?.status !== 204) putLink({ ...link, status: 'disabled' });
}

/** One result per link, in order; none when the call failed. What went wrong is shown. */
export const editAll = async (links: readonly LinkView[], change: LinkFields): Promise<BulkResult[]> =>
  links.length === 0 ? [] : toldOf(editLinks(codesOf(links), change));

async function toldOf(call: Promise<BulkResult[]>): Promise<BulkResult[]> {
  const tell = (detail: string): unknown => showToast(detail, { isProblem: true });
  try {
    const results = await call;
    new Set(results.flatMap(({ problem }) => problem?.detail ?? [])).forEach(tell);
    return results;
  } catch (error) {
    tell(messageOf(error));
    return [];
  }
}

const codesOf = (links: readonly LinkView[]): string[] => links.map(({ shortCode }) => shortCode);
