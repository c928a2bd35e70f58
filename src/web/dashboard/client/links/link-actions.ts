/** What can be done with a link from anywhere: the row's menu, the link's page, the keyboard. */
import { texts } from '../../texts.ts';
import type { LinkView } from '../api/types.ts';
import { putLink } from '../state/link-index.ts';
import { openOverlay } from '../state/overlay.ts';
import { copyWithToast } from '../ui/copy.tsx';
import type { MenuItem } from '../ui/menu.tsx';
import { showToast } from '../ui/toast.tsx';
import { editAll, removeLinks } from './remove.ts';

export interface LinkActions {
  menuOf(link: LinkView): MenuItem[];
}

/** Whether its owner may switch it on and off; what moderation has stopped, only moderation starts again. */
export const canSwitch = (link: LinkView): boolean =>
  link.status !== 'quarantined' && link.status !== 'blocked';

export async function switchLinks(
  links: readonly LinkView[],
  status: 'active' | 'disabled',
): Promise<readonly LinkView[]> {
  const results = await editAll(links, { status });
  const changed = results.flatMap(({ link }) => link ?? []);
  for (const link of changed) putLink(link);
  if (changed.length > 0) showToast(texts.links.switched(changed.length, status));
  return changed;
}

export const linkActions: LinkActions = {
  menuOf(link) {
    const isOn = link.status !== 'disabled';
    return [
      {
        label: texts.actions.copyLink,
        icon: 'copy',
        onSelect: () => void copyWithToast(link.shortUrl),
      },
      { label: texts.actions.edit, icon: 'edit', onSelect: () => openOverlay({ kind: 'edit', link }) },
      { label: texts.actions.qr, icon: 'qr', onSelect: () => openOverlay({ kind: 'qr', link }) },
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
  },
};
