/** Searches, filters and orders under a name, kept in this browser; and the export of what is shown. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import type { LinkTotal, LinkView } from '../api/types.ts';
import { hrefOf } from '../state/router.ts';
import { accountIdIn, session } from '../state/session.ts';
import { Button, Icon, IconButton } from '../ui/button.tsx';
import { saveFile } from '../ui/copy.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { Menu } from '../ui/menu.tsx';
import { showToast } from '../ui/toast.tsx';
import { csvFile, linksAsCsv, linksAsJson } from './link-table.ts';

interface View {
  readonly name: string;
  /** As in the address bar, without the question mark. */
  readonly query: string;
}

/** Earlier versions kept the views of all accounts of a browser together. */
const sharedKey = 'terse-views';
const viewsMax = 30;
const parts = ['search', 'status', 'tag', 'sort'];

/** The views of an account in this browser. The first account to sign in takes over those of earlier versions. */
export function readViews(account: string, storage: Storage = localStorage): readonly View[] {
  const key = `${sharedKey}-${account}`;
  const shared = storage.getItem(sharedKey);
  if (shared !== null) {
    if (storage.getItem(key) === null) storage.setItem(key, shared);
    storage.removeItem(sharedKey);
  }
  try {
    const kept = JSON.parse(storage.getItem(key) ?? '[]') as View[];
    return kept.filter(({ name, query }) => typeof name === 'string' && typeof query === 'string');
  } catch {
    return [];
  }
}

function useViews() {
  const account = accountIdIn(session.get()) ?? '';
  const [saved, setSaved] = useState(() => readViews(account));
  const keep = (next: readonly View[]): void => {
    setSaved(next);
    localStorage.setItem(`${sharedKey}-${account}`, JSON.stringify(next));
  };
  return { saved, keep };
}

/** The parts that a view consists of, always in the same order. */
function viewQuery(query: URLSearchParams): string {
  const own = new URLSearchParams();
  for (const name of parts) {
    const value = query.get(name);
    if (value !== null && value !== '') own.set(name, value);
  }
  return own.toString();
}

const addressOf = (query: string): string => hrefOf(query === '' ? '/links' : `/links?${query}`);

/** Renders nothing while there is no view to save and none saved. */
export function Views({ query }: { readonly query: URLSearchParams }) {
  const { saved, keep } = useViews();
  const [isSaving, setSaving] = useState(false);
  const current = viewQuery(query);
  const isNew = current !== '' && !saved.some(view => view.query === current);
  if (saved.length === 0 && !isNew) return null;
  return (
    <nav class="views" aria-label={texts.views.label}>
      <ul>
        <li>
          <a class="view" href={addressOf('')} aria-current={current === '' ? 'page' : undefined}>
            {texts.views.all}
          </a>
        </li>
        {saved.map(view => (
          <li key={view.name} class={view.query === current ? 'view-open' : ''}>
            <a
              class="view"
              href={addressOf(view.query)}
              aria-current={view.query === current ? 'page' : undefined}
            >
              {view.name}
            </a>
            {view.query === current && (
              <IconButton
                label={texts.views.remove(view.name)}
                icon="close"
                size={14}
                onClick={() => keep(saved.filter(({ name }) => name !== view.name))}
              />
            )}
          </li>
        ))}
      </ul>
      {isNew && saved.length < viewsMax && (
        <Button small icon="plus" onClick={() => setSaving(true)}>
          {texts.views.save}
        </Button>
      )}
      {isSaving && (
        <SaveDialog
          onSave={name => keep([...saved.filter(view => view.name !== name), { name, query: current }])}
          onClose={() => setSaving(false)}
        />
      )}
    </nav>
  );
}

interface SaveDialogProps {
  readonly onSave: (name: string) => void;
  readonly onClose: () => void;
}

function SaveDialog({ onSave, onClose }: SaveDialogProps) {
  const [name, setName] = useState('');
  const save = async (): Promise<void> => {
    onSave(name.trim());
    onClose();
  };
  return (
    <FormDialog
      title={texts.views.title}
      size="small"
      onClose={onClose}
      submitLabel={texts.actions.save}
      canSubmit={name.trim() !== ''}
      onSubmit={save}
    >
      <TextField
        label={texts.views.name}
        help={texts.views.help}
        placeholder={texts.views.nameHint}
        value={name}
        onText={setName}
        maxLength={40}
        autocomplete="off"
        data-autofocus
      />
    </FormDialog>
  );
}

interface ExportMenuProps {
  readonly links: readonly LinkView[];
  readonly totals: ReadonlyMap<string, LinkTotal>;
}

export function ExportMenu({ links, totals }: ExportMenuProps) {
  const save = (kind: 'csv' | 'json'): void => {
    const file =
      kind === 'csv'
        ? csvFile(linksAsCsv(links, totals))
        : new Blob([linksAsJson(links, totals)], { type: 'application/json' });
    saveFile(`terse-links.${kind}`, file);
    showToast(texts.exporting.done(links.length));
  };
  return (
    <Menu
      label={texts.exporting.label}
      class="button button-plain"
      isNamed
      items={[
        { label: texts.exporting.csv, icon: 'download', onSelect: () => save('csv') },
        { label: texts.exporting.json, icon: 'download', onSelect: () => save('json') },
      ]}
    >
      <Icon name="download" />
      <span>{texts.exporting.label}</span>
    </Menu>
  );
}
