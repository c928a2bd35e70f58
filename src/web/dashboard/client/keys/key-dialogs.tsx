/** Making a key, and the one time it is shown. */
import { useState } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import { createKey, type NewKey } from '../api/keys.ts';
import { messageOf } from '../api/problem.ts';
import type { Role } from '../api/types.ts';
import { type ExpiryChoice, expiryOf } from '../links/expiry.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { SelectField, TextField } from '../ui/field.tsx';

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
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    try {
      const expiresAt = expiryOf(life, '', browserClock.now()) ?? null;
      onMade(await createKey({ name: name.trim(), scopes, ...(expiresAt !== null && { expiresAt }) }));
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <form
      class="contents"
      onSubmit={event => {
        event.preventDefault();
        void submit();
      }}
    >
      <Dialog
        title={texts.keys.create}
        size="small"
        onClose={onClose}
        footer={
          <>
            <Button kind="quiet" onClick={onClose}>
              {texts.actions.cancel}
            </Button>
            <Button
              kind="primary"
              type="submit"
              busy={isBusy}
              disabled={name.trim() === '' || scopes.length === 0}
            >
              {texts.keys.make}
            </Button>
          </>
        }
      >
        <div class="form">
          {problem !== undefined && (
            <p class="notice" role="alert">
              {problem}
            </p>
          )}
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
      </Dialog>
    </form>
  );
}

export function ShownKeyDialog({ made, onClose }: { readonly made: NewKey; readonly onClose: () => void }) {
  return (
    <Dialog
      title={texts.keys.shownTitle}
      size="small"
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          {texts.keys.kept}
        </Button>
      }
    >
      <p>{texts.keys.shownText}</p>
      <p class="secret">
        <code>{made.key}</code>
        <CopyButton text={made.key} label={texts.keys.copy} />
      </p>
    </Dialog>
  );
}
