/** Actions on a link, available everywhere: the row's menu, the link's page, the keyboard. */
import { texts } from '../../texts.ts';
import { deleteLinks, deleteLinksOnLeaving, editLinks } from '../api/calls.ts';
import { isAbort, messageOf, messageOfProblem } from '../api/request.ts';
import type { BulkResult, LinkFields, LinkView } from '../api/types.ts';
import { putLinks, takeLinks } from '../state/links.ts';
import { openOverlay } from '../state/router.ts';
import { copyWithToast } from '../ui/copy.tsx';
import type { MenuItem } from '../ui/menu.tsx';
import { showToast, showUndo, withdrawToast } from '../ui/toast.tsx';

/** Whether its owner may enable and disable it; only moderation re-enables a link that moderation has stopped. */
export const canSwitch = (link: LinkView): boolean =>
  link.status !== 'quarantined' && link.status !== 'blocked';

export async function switchLinks(
  links: readonly LinkView[],
  status: 'active' | 'disabled',
): Promise<readonly LinkView[]> {
  const changed = await changeLinks(links, { status });
  if (changed.length === 0) return changed;
  // Links that already had this status keep it when the others are undone.
  const back = links.filter(link => link.status !== status && changed.some(isSame(link)));
  showUndo(texts.links.switched(changed.length, status), () => {
    void changeLinks(back, { status: status === 'active' ? 'disabled' : 'active' });
  });
  return changed;
}

const isSame =
  ({ shortCode }: LinkView) =>
  (other: LinkView): boolean =>
    other.shortCode === shortCode;

/** The links as they are afterwards; those that could not be changed are left out, and the reasons are shown. */
export async function changeLinks(
  links: readonly LinkView[],
  change: LinkFields,
  onProgress?: (done: number) => void,
): Promise<readonly LinkView[]> {
  const results = await editAll(links, change, onProgress);
  const changed = results?.flatMap(({ link }) => link ?? []) ?? [];
  putLinks(changed);
  return changed;
}

export function menuOf(link: LinkView): MenuItem[] {
  const isOn = link.status !== 'disabled';
  return [
    {
      label: texts.actions.copyLink,
      icon: 'copy',
      onSelect: () => void copyWithToast(link.shortUrl),
    },
    { label: texts.actions.edit, icon: 'edit', onSelect: () => openOverlay({ kind: 'edit', link }) },
    {
      label: texts.manage.duplicate,
      icon: 'duplicate',
      onSelect: () => openOverlay({ kind: 'create', longUrl: '', like: link }),
    },
    { label: texts.actions.qr, icon: 'qr', onSelect: () => openOverlay({ kind: 'qr', link }) },
    {
      label: texts.manage.share,
      icon: 'globe',
      onSelect: () => openOverlay({ kind: 'share', link }),
    },
    ...(canSwitch(link)
      ? [
          {
            label: isOn ? texts.actions.disable : texts.actions.enable,
            icon: 'power' as const,
            onSelect: () => void switchLinks([link], isOn ? 'disabled' : 'active'),
          },
        ]
      : []),
    {
      label: texts.actions.delete,
      icon: 'trash',
      isDangerous: true,
      onSelect: () => void removeLinks([link]),
    },
  ];
}

interface Removal {
  links: readonly LinkView[];
  cancel: () => void;
}

/** Drops pending deletions: another account that signs in must not carry them out. */
export function forgetRemovals(): readonly LinkView[] {
  const going = [...pending].flatMap(({ links, cancel }) => {
    cancel();
    return links;
  });
  pending.clear();
  return going;
}

/** A user who signs out cannot undo any longer, and cannot delete afterwards. */
export async function finishRemovals(): Promise<void> {
  const going = forgetRemovals();
  if (going.length > 0) await deleteAll(going);
}

/** From the user's request on, so that closing the page while links are still being disabled deletes them, too. */
const pending = new Set<Removal>();

addEventListener('pagehide', () => {
  for (const removal of pending) {
    removal.cancel();
    deleteLinksOnLeaving(codesOf(removal.links));
  }
  pending.clear();
});

/**
 * Deleting with undo. On the server, deleting is final, so a link is disabled at once, which stops it for visitors, and
 * deleted when its message disappears, or when the page is closed. Resolves to the links that will be deleted.
 */
export async function removeLinks(links: readonly LinkView[]): Promise<readonly LinkView[]> {
  takeLinks(codesOf(links));
  const removal: Removal = { links, cancel: () => {} };
  pending.add(removal);
  const active = links.filter(({ status }) => status === 'active');
  const results = await editAll(active, { status: 'disabled' });
  // The page was closed or the user signed out meanwhile.
  if (results === undefined || !pending.has(removal)) {
    pending.delete(removal);
    return links;
  }
  const disabled = new Map(
    results.flatMap(({ link }) => (link === undefined ? [] : [[link.shortCode, link]])),
  );
  const failed = active.filter(({ shortCode }) => !disabled.has(shortCode));
  putLinks(failed);
  // Their current versions on the server.
  const going = links
    .filter(link => !failed.includes(link))
    .map(link => disabled.get(link.shortCode) ?? link);
  removal.links = going;
  if (going.length === 0) {
    pending.delete(removal);
    return going;
  }
  const toast = showUndo(
    texts.links.deleted(going.length),
    () => {
      pending.delete(removal);
      putLinks(going);
      void changeLinks([...disabled.values()], { status: 'active' });
    },
    () => {
      pending.delete(removal);
      void deleteAll(going);
    },
  );
  removal.cancel = () => withdrawToast(toast);
  return going;
}

/** Deleted now, or before by someone else. */
const isGone = (result: BulkResult | undefined): boolean =>
  result !== undefined && [204, 404, 410].includes(result.status);

/** Links that could not be deleted are shown again, as they were before this call. */
async function deleteAll(links: readonly LinkView[]): Promise<void> {
  const results = await withToasts(onResults => deleteLinks(codesOf(links), onResults));
  if (results !== undefined) putLinks(links.filter((_, place) => !isGone(results[place])));
}

const editAll = (
  links: readonly LinkView[],
  change: LinkFields,
  onProgress?: (done: number) => void,
): Promise<readonly BulkResult[] | undefined> =>
  withToasts(onResults => editLinks(codesOf(links), change, onResults), onProgress);

/**
 * One result per link, in order, up to the call that failed. Errors are shown. Undefined when the account has signed out
 * meanwhile: its links must not appear in the list of the next one.
 */
async function withToasts(
  work: (onResults: (results: readonly BulkResult[]) => void) => Promise<void>,
  onProgress?: (done: number) => void,
): Promise<readonly BulkResult[] | undefined> {
  const results: BulkResult[] = [];
  const problems = new Set<string>();
  try {
    await work(answers => {
      results.push(...answers);
      for (const { problem } of answers) if (problem !== undefined) problems.add(messageOfProblem(problem));
      onProgress?.(results.length);
    });
  } catch (error) {
    if (isAbort(error)) return undefined;
    problems.add(messageOf(error));
  }
  for (const problem of problems) showToast(problem, { isProblem: true });
  return results;
}

const codesOf = (links: readonly LinkView[]): string[] => links.map(({ shortCode }) => shortCode);
