/** The fields of a link, for creating and for editing. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { Icon } from '../ui/button.tsx';
import { SelectField, Switch, TextField } from '../ui/field.tsx';
import { expiryChoices, type LinkDraft, lacksMoment, switchNames } from './link-form.ts';
import { AliasField, TagsField, UtmFields } from './link-inputs.tsx';

interface LinkFieldsProps {
  readonly draft: LinkDraft;
  readonly onDraft: (draft: LinkDraft) => void;
  readonly isNew: boolean;
  /** The server's errors, by the name of the field. */
  readonly problems: Readonly<Record<string, string>>;
}

/** The fields that show the server's error about them. */
export const fieldsWithProblems = ['longUrl', 'customAlias', 'title', 'tags', 'expiresAt', 'maxClicks'];

const redirectTypes = ['302', '301', '307', '308'] as const;

export function LinkFieldset({ draft, onDraft, isNew, problems }: LinkFieldsProps) {
  const set = (change: Partial<LinkDraft>): void => onDraft({ ...draft, ...change });
  // Only for the initial address, so that the section does not open while an address is typed.
  const [hasUtm] = useState(/[?&]utm_/.test(draft.longUrl));
  return (
    <div class="form">
      <TextField
        label={texts.fields.longUrl}
        type="url"
        inputMode="url"
        value={draft.longUrl}
        onText={longUrl => set({ longUrl })}
        placeholder="https://"
        required
        maxLength={2048}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        data-autofocus
        problem={problems.longUrl}
      />
      {isNew && (
        <AliasField alias={draft.alias} onAlias={alias => set({ alias })} problem={problems.customAlias} />
      )}
      <TextField
        label={texts.fields.title}
        value={draft.title}
        onText={title => set({ title })}
        placeholder={texts.form.titleHint}
        maxLength={300}
        problem={problems.title}
      />
      <TagsField tags={draft.tags} onTags={tags => set({ tags })} problem={problems.tags} />
      <ExpiryFields draft={draft} onChange={set} problem={problems.expiresAt} />
      <Disclosure label={texts.form.utm} isOpen={hasUtm}>
        <UtmFields longUrl={draft.longUrl} onLongUrl={longUrl => set({ longUrl })} />
      </Disclosure>
      <Disclosure label={texts.form.more} isOpen={problems.maxClicks !== undefined}>
        <div class="form-pair">
          <SelectField
            label={texts.fields.redirectType}
            help={texts.form.redirectTypeHelp}
            value={draft.redirectType}
            choices={redirectTypes.map(value => ({ value, label: texts.form.redirectTypes[value] }))}
            onValue={redirectType => set({ redirectType })}
          />
          <TextField
            label={texts.fields.maxClicks}
            help={texts.form.maxClicksHelp}
            type="number"
            min={1}
            value={draft.maxClicks}
            onText={maxClicks => set({ maxClicks })}
            placeholder={texts.form.noLimit}
            problem={problems.maxClicks}
          />
        </div>
        {switchNames.map(name => (
          <Switch
            key={name}
            label={texts.form.switches[name].label}
            help={texts.form.switches[name].help}
            checked={draft[name]}
            onChange={isOn => set({ [name]: isOn })}
          />
        ))}
      </Disclosure>
    </div>
  );
}

function ExpiryFields({
  draft,
  onChange,
  problem,
}: {
  readonly draft: LinkDraft;
  readonly onChange: (change: Partial<LinkDraft>) => void;
  readonly problem: string | undefined;
}) {
  return (
    <div class="form-pair">
      <SelectField
        label={texts.fields.expiresAt}
        value={draft.expiry}
        choices={expiryChoices.map(value => ({ value, label: texts.form.expiries[value] }))}
        onValue={expiry => onChange({ expiry })}
        problem={draft.expiry === 'custom' ? undefined : problem}
      />
      {draft.expiry === 'custom' && (
        <TextField
          label={texts.form.expiryMoment}
          type="datetime-local"
          value={draft.expiryMoment}
          onText={expiryMoment => onChange({ expiryMoment })}
          problem={lacksMoment(draft) ? texts.form.expiryIncomplete : problem}
        />
      )}
    </div>
  );
}

function Disclosure({
  label,
  isOpen,
  children,
}: {
  readonly label: string;
  readonly isOpen: boolean;
  readonly children: ComponentChildren;
}) {
  const details = useRef<HTMLDetailsElement>(null);
  // Only opened, never closed: a section must not collapse while the user empties a field, and must open for a problem.
  useLayoutEffect(() => {
    if (isOpen && details.current !== null) details.current.open = true;
  }, [isOpen]);
  return (
    <details class="disclosure" ref={details}>
      <summary>
        <Icon name="right" size={14} />
        {label}
      </summary>
      <div class="form">{children}</div>
    </details>
  );
}
