/** What can be done with all selected links at once. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { editLink } from '../api/links.ts';
import { messageOf } from '../api/problem.ts';
import type { LinkView } from '../api/types.ts';
import { formatNumber } from '../format.ts';
import { putLink } from '../state/link-index.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { showToast } from '../ui/toast.tsx';
import { canSwitch, switchLinks } from './link-actions.ts';
import { removeLinks } from './remove.ts';

export interface BulkBarProps {
  readonly links: readonly LinkView[];
  /** All that the filters let through, for selecting everything. */
  readonly shown: readonly LinkView[];
  readonly onSelected: (selected: ReadonlySet<string>) => void;
}

export function BulkBar({ links, shown, onSelected }: BulkBarProps) {
  const [isBusy, setBusy] = useState(false);
  const [tag, setTag] = useState('');
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    await work();
    setBusy(false);
    onSelected(new Set());
  };
  const addTag = async (): Promise<void> => {
    for (const link of links.filter(({ tags }) => !tags.includes(tag))) {
      await editLink(link.shortCode, { tags: [...link.tags, tag] }).then(putLink, error =>
        showToast(messageOf(error), { isProblem: true }),
      );
    }
    setTag('');
  };
  const switchable = links.filter(canSwitch);
  return (
    <section class="bulk-bar" aria-label={texts.bulk.label}>
      <strong>{texts.bulk.selected(formatNumber(links.length))}</strong>
      {links.length < shown.length && (
        <Button
          kind="quiet"
          small
          onClick={() => onSelected(new Set(shown.map(({ shortCode }) => shortCode)))}
        >
          {texts.bulk.selectAll(formatNumber(shown.length))}
        </Button>
      )}
      <form
        class="bulk-tag"
        onSubmit={event => {
          event.preventDefault();
          if (tag.trim() !== '') void run(addTag);
        }}
      >
        <input
          class="input"
          value={tag}
          maxLength={50}
          placeholder={texts.bulk.addTag}
          aria-label={texts.bulk.addTag}
          onInput={event => setTag(event.currentTarget.value.trim())}
        />
      </form>
      <Button
        small
        busy={isBusy}
        icon="power"
        onClick={() => void run(() => switchLinks(switchable, 'disabled'))}
      >
        {texts.actions.disable}
      </Button>
      <Button
        small
        busy={isBusy}
        icon="check"
        onClick={() => void run(() => switchLinks(switchable, 'active'))}
      >
        {texts.actions.enable}
      </Button>
      <Button
        small
        busy={isBusy}
        kind="danger"
        icon="trash"
        onClick={() => void run(() => removeLinks(links))}
      >
        {texts.actions.delete}
      </Button>
      <IconButton label={texts.bulk.clear} icon="close" onClick={() => onSelected(new Set())} />
    </section>
  );
}
