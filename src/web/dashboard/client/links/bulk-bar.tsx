/** The actions for all selected links, each through one call for a thousand of them. */
import { useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import type { LinkFields, LinkSwitches, LinkView } from '../api/types.ts';
import { formatNumber } from '../format.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { SelectField } from '../ui/field.tsx';
import { showToast } from '../ui/toast.tsx';
import { tagsOf } from './find.ts';
import { canSwitch, changeLinks, removeLinks, switchLinks } from './link-actions.ts';
import { expiryOf, switchNames } from './link-form.ts';
import { TagsField } from './link-inputs.tsx';

interface BulkBarProps {
  readonly links: readonly LinkView[];
  /** All links that match the filters, for selecting everything. */
  readonly shown: readonly LinkView[];
  readonly onSelected: (selected: ReadonlySet<string>) => void;
}

export function BulkBar({ links, shown, onSelected }: BulkBarProps) {
  const [isBusy, setBusy] = useState(false);
  const [isEditing, setEditing] = useState(false);
  const [done, setDone] = useState<number>();
  /** Links that could not be changed stay selected, so that the user can try again. */
  const run = async (work: () => Promise<readonly LinkView[]>): Promise<void> => {
    setBusy(true);
    const changed = new Set((await work()).map(({ shortCode }) => shortCode));
    setBusy(false);
    setDone(undefined);
    onSelected(new Set(links.map(({ shortCode }) => shortCode).filter(code => !changed.has(code))));
  };
  const change = (fields: LinkFields): Promise<void> =>
    run(async () => {
      const changed = await changeLinks(links, fields, setDone);
      if (changed.length > 0) showToast(texts.bulkEdit.changed(changed.length));
      return changed;
    });
  const switchable = links.filter(canSwitch);
  return (
    <section class="bulk-bar" aria-label={texts.bulk.label}>
      <strong role="status">
        {done === undefined
          ? texts.bulk.selected(formatNumber(links.length))
          : texts.importing.progress(formatNumber(done), formatNumber(links.length))}
      </strong>
      {links.length < shown.length && (
        <Button
          kind="quiet"
          small
          onClick={() => onSelected(new Set(shown.map(({ shortCode }) => shortCode)))}
        >
          {texts.bulk.selectAll(formatNumber(shown.length))}
        </Button>
      )}
      <Button small busy={isBusy} icon="edit" onClick={() => setEditing(true)}>
        {texts.bulkEdit.open}
      </Button>
      <Button
        small
        busy={isBusy}
        icon="power"
        disabled={switchable.length === 0}
        onClick={() => void run(() => switchLinks(switchable, 'disabled'))}
      >
        {texts.actions.disable}
      </Button>
      <Button
        small
        busy={isBusy}
        icon="check"
        disabled={switchable.length === 0}
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
      {isEditing && (
        <BulkEditDialog
          links={links}
          onClose={() => setEditing(false)}
          onChange={fields => {
            setEditing(false);
            void change(fields);
          }}
        />
      )}
    </section>
  );
}

const expiries = ['keep', 'never', 'day', 'week', 'month', 'year'] as const;
const redirects = ['keep', '302', '301', '307', '308'] as const;
const switches = ['keep', 'on', 'off'] as const;

interface BulkEditDialogProps {
  readonly links: readonly LinkView[];
  readonly onClose: () => void;
  readonly onChange: (change: LinkFields) => void;
}

/** Only what the user chooses is changed; tags are added to and removed from those that each link has. */
function BulkEditDialog({ links, onClose, onChange }: BulkEditDialogProps) {
  const [addTags, setAddTags] = useState<readonly string[]>([]);
  const [removeTags, setRemoveTags] = useState<readonly string[]>([]);
  const [expiry, setExpiry] = useState<(typeof expiries)[number]>('keep');
  const [redirect, setRedirect] = useState<(typeof redirects)[number]>('keep');
  const [switched, setSwitched] = useState<Partial<LinkSwitches>>({});
  const { bulkEdit, form, fields } = texts;
  const change: LinkFields = {
    ...(addTags.length > 0 && { addTags: [...addTags] }),
    ...(removeTags.length > 0 && { removeTags: [...removeTags] }),
    ...(expiry !== 'keep' && { expiresAt: expiryOf(expiry, '', browserClock.now()) ?? null }),
    ...(redirect !== 'keep' && { redirectType: Number(redirect) }),
    ...switched,
  };
  const own = tagsOf(links).map(([tag]) => tag);
  return (
    <FormDialog
      title={bulkEdit.title(links.length)}
      onClose={onClose}
      submitLabel={bulkEdit.submit(links.length)}
      canSubmit={Object.keys(change).length > 0}
      isFilled={Object.keys(change).length > 0}
      onSubmit={async () => onChange(change)}
    >
      <div class="form">
        <TagsField label={bulkEdit.addTags} tags={addTags} onTags={setAddTags} />
        <fieldset class="remove-tags">
          <legend>{bulkEdit.removeTags}</legend>
          {own.length === 0 && <p class="field-help">{bulkEdit.noTags}</p>}
          {own.map(tag => (
            <button
              key={tag}
              type="button"
              class="tag"
              aria-pressed={removeTags.includes(tag)}
              onClick={() =>
                setRemoveTags(
                  removeTags.includes(tag) ? removeTags.filter(other => other !== tag) : [...removeTags, tag],
                )
              }
            >
              {tag}
            </button>
          ))}
        </fieldset>
        <div class="form-pair">
          <SelectField
            label={fields.expiresAt}
            value={expiry}
            choices={expiries.map(value => ({
              value,
              label: value === 'keep' ? bulkEdit.unchanged : form.expiries[value],
            }))}
            onValue={setExpiry}
          />
          <SelectField
            label={fields.redirectType}
            value={redirect}
            choices={redirects.map(value => ({
              value,
              label: value === 'keep' ? bulkEdit.unchanged : form.redirectTypes[value],
            }))}
            onValue={setRedirect}
          />
        </div>
        <div class="form-pair">
          {switchNames.map(name => (
            <SelectField
              key={name}
              label={form.switches[name].label}
              value={switched[name] === undefined ? 'keep' : switched[name] ? 'on' : 'off'}
              choices={switches.map(value => ({
                value,
                label: value === 'keep' ? bulkEdit.unchanged : bulkEdit[value],
              }))}
              onValue={value => setSwitched(withSwitch(switched, name, value))}
            />
          ))}
        </div>
      </div>
    </FormDialog>
  );
}

function withSwitch(
  switched: Partial<LinkSwitches>,
  name: keyof LinkSwitches,
  value: (typeof switches)[number],
): Partial<LinkSwitches> {
  const { [name]: _, ...others } = switched;
  return value === 'keep' ? others : { ...others, [name]: value === 'on' };
}
