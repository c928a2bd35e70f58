/** Blocked destinations: the state of the operator's lists, and entries added and removed here. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { addBlockEntry, readBlocklist, removeBlockEntry } from '../api/calls.ts';
import { messageOf } from '../api/request.ts';
import type { BlockEntry, Blocklist } from '../api/types.ts';
import { formatAgo, formatDay } from '../format.ts';
import { usePages } from '../state/connection.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { TextField, useSubmit } from '../ui/field.tsx';
import { ActionTable, Empty, Loaded, MorePages, PageHeader, Skeleton } from '../ui/page.tsx';
import { showToast } from '../ui/toast.tsx';

export function BlocklistsPage() {
  const resource = usePages('blocklist', readBlocklist, (before, next) => ({
    ...next,
    entries: [...before.entries, ...next.entries],
  }));
  const [removing, setRemoving] = useState<BlockEntry>();
  const remove = async ({ id, entry }: BlockEntry): Promise<void> => {
    await removeBlockEntry(id);
    showToast(texts.blocklists.removed(entry));
    setRemoving(undefined);
    resource.reload();
  };
  return (
    <>
      <PageHeader title={texts.blocklists.title} note={texts.blocklists.note} />
      <AddEntry onAdded={resource.reload} />
      <Loaded resource={resource} skeleton={<Skeleton lines={6} />}>
        {blocklist => (
          <>
            {blocklist.entries.length === 0 ? (
              <Empty icon="ban" title={texts.blocklists.none} text={texts.blocklists.noneText} />
            ) : (
              <>
                <EntryTable entries={blocklist.entries} onRemove={setRemoving} />
                <MorePages pages={resource} label={texts.stats.more} />
              </>
            )}
            <Lists lists={blocklist.lists} />
          </>
        )}
      </Loaded>
      {removing !== undefined && (
        <ConfirmDialog
          title={texts.blocklists.removeTitle(removing.entry)}
          text={texts.blocklists.removeText}
          action={texts.blocklists.remove}
          onConfirm={() => remove(removing)}
          onClose={() => setRemoving(undefined)}
        />
      )}
    </>
  );
}

function AddEntry({ onAdded }: { readonly onAdded: () => void }) {
  const [entry, setEntry] = useState('');
  const [reason, setReason] = useState('');
  const add = async (): Promise<void> => {
    await addBlockEntry(entry.trim(), reason.trim());
    showToast(texts.blocklists.added(entry.trim()));
    setEntry('');
    setReason('');
    onAdded();
  };
  const { problem, isBusy, onSubmit } = useSubmit(add, { canSubmit: entry.trim() !== '' });
  return (
    <form class="card add-entry" aria-label={texts.blocklists.add} onSubmit={onSubmit}>
      <TextField
        label={texts.blocklists.entry}
        help={texts.blocklists.entryHelp}
        value={entry}
        onText={setEntry}
        placeholder={texts.blocklists.entryHint}
        autocapitalize="none"
        spellcheck={false}
        problem={problem === undefined ? undefined : messageOf(problem)}
      />
      <TextField label={texts.blocklists.reason} value={reason} onText={setReason} maxLength={500} />
      <Button kind="primary" type="submit" busy={isBusy} disabled={entry.trim() === ''}>
        {texts.blocklists.add}
      </Button>
    </form>
  );
}

interface EntryTableProps {
  readonly entries: readonly BlockEntry[];
  readonly onRemove: (entry: BlockEntry) => void;
}

function EntryTable({ entries, onRemove }: EntryTableProps) {
  return (
    <ActionTable
      heads={[texts.blocklists.own, texts.blocklists.reason, texts.blocklists.addedAt]}
      actions={texts.blocklists.remove}
    >
      {entries.map(entry => (
        <tr key={entry.id}>
          <th scope="row">
            <bdi>{entry.entry}</bdi>
          </th>
          <td data-label={texts.blocklists.reason}>{entry.reason ?? '–'}</td>
          <td data-label={texts.blocklists.addedAt} title={formatDay(entry.addedAt)}>
            {formatAgo(entry.addedAt)}
          </td>
          <td class="cell-actions">
            <IconButton
              class="danger"
              label={`${texts.blocklists.remove}: ${entry.entry}`}
              icon="trash"
              onClick={() => onRemove(entry)}
            />
          </td>
        </tr>
      ))}
    </ActionTable>
  );
}

function Lists({ lists }: Pick<Blocklist, 'lists'>) {
  return (
    <section class="card" aria-label={texts.blocklists.lists}>
      <h2>{texts.blocklists.lists}</h2>
      <ul class="session-list">
        {lists.map(list => (
          <li key={list.name}>
            <div>
              <strong>{texts.blocklists.listNames[list.name] ?? list.name}</strong>
              {list.fault !== null && <p class="field-problem">{list.fault}</p>}
              {list.loadedAt !== null && (
                <p class="quiet">{texts.blocklists.loaded(formatAgo(list.loadedAt))}</p>
              )}
            </div>
            <span class={list.state === 'loaded' ? 'badge badge-active' : 'badge badge-blocked'}>
              {texts.blocklists.entries(list.entries)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
