/**
 * Deleting with a way back. Deleting is final for the server, so a link is switched off at once, which stops it
 * for visitors, and deleted when the time for second thoughts is over, or when the page is left.
 */
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import { deleteLink, editLink } from '../api/links.ts';
import { messageOf } from '../api/problem.ts';
import type { LinkView } from '../api/types.ts';
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
    for (const { shortCode } of removal.links)
      void deleteLink(shortCode, { keepalive: true }).catch(() => undefined);
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
  const failed: LinkView[] = [];
  for (const link of links) {
    try {
      await editLink(link.shortCode, { status });
    } catch (error) {
      failed.push(link);
      showToast(messageOf(error), { isProblem: true });
    }
  }
  return failed;
}

async function deleteAll(links: readonly LinkView[]): Promise<void> {
  for (const link of links) {
    await deleteLink(link.shortCode).catch(error => {
      putLink({ ...link, status: 'disabled' });
      showToast(messageOf(error), { isProblem: true });
    });
  }
}
