/** Making a key, and the one time it is shown. */
import { useState } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import { createKey, type NewKey } from '../api/keys.ts';
import type { Role } from '../api/types.ts';
import { type ExpiryChoice, expiryOf } from '../links/expiry.ts';
import { SelectField, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { SecretDialog } from '../ui/secret-dialog.tsx';

const memberScopes = ['links:read', 'links:write', 'stats:read'] as const;
const scopesOf: Readonly<Record<Role, readonly (keyof typeof texts.keys.scopeTexts)[]>> = {
  member: memberScopes,
  moderator: [...memberScopes, 'moderate'],
  admin: [...memberScopes, 'moderate', 'admin'],
};
const lives = ['never', 'month', 'year'] as const satisfies readonly ExpiryChoice[];

export interface CreateKeyDialogProps {
  readonly role: Role;
  readonly onMade: (made: NewKey) => void;
  readonly onClose: () => void;
}

export function CreateKeyDialog({ role, onMade, onClose }: CreateKeyDialogProps) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly string[]>(memberScopes);
  const [life, setLife] = useState<(typeof lives)[number]>('never');
  const make = async (): Promise<void> => {
    const expiresAt = expiryOf(life, '', browserClock.now()) ?? null;
    onMade(await createKey({ name: name.trim(), scopes, ...(expiresAt !== null && { expiresAt }) }));
  };
  return (
    <FormDialog
      title={texts.keys.create}
      size="small"
      onClose={onClose}
      submitLabel={texts.keys.make}
      canSubmit={name.trim() !== '' && scopes.length > 0}
      onSubmit={make}
    >
      <div class="form">
        <TextField
          label={texts.keys.name}
          value={name}
          onText={setName}
          placeholder={texts.keys.nameHint}
          maxLength={100}
          data-autofocus
        />
        <fieldset class="choices">
          <legend>{texts.keys.scopes}</legend>
          {scopesOf[role].map(scope => (
            <label key={scope}>
              <input
                type="checkbox"
                checked={scopes.includes(scope)}
                onChange={event =>
                  setScopes(
                    event.currentTarget.checked
                      ? [...scopes, scope]
                      : scopes.filter(other => other !== scope),
                  )
                }
              />
              <span>
                <code>{scope}</code> {texts.keys.scopeTexts[scope]}
              </span>
            </label>
          ))}
        </fieldset>
        <SelectField
          label={texts.form.expiry}
          value={life}
          choices={lives.map(value => ({ value, label: texts.form.expiries[value] }))}
          onValue={setLife}
        />
      </div>
    </FormDialog>
  );
}

export function ShownKeyDialog({ made, onClose }: { readonly made: NewKey; readonly onClose: () => void }) {
  return (
    <SecretDialog
      title={texts.keys.shownTitle}
      text={texts.keys.shownText}
      secret={made.key}
      copyLabel={texts.keys.copy}
      doneLabel={texts.keys.kept}
      onClose={onClose}
    />
  );
}
