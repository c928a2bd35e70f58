/** API keys: create, show once, rotate, revoke. */
import { useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import { createKey, listKeys, revokeKey, rotateKey } from '../api/calls.ts';
import type { KeyView, NewKey, Role } from '../api/types.ts';
import { formatAgo, formatDay } from '../format.ts';
import { expiryText, isPast } from '../links/link-details.tsx';
import { type ExpiryChoice, expiryOf } from '../links/link-form.ts';
import { useResource } from '../state/connection.ts';
import { Button, Icon } from '../ui/button.tsx';
import { ConfirmDialog, FormDialog, SecretDialog } from '../ui/dialog.tsx';
import { SelectField, TextField } from '../ui/field.tsx';
import { Menu } from '../ui/menu.tsx';
import { ActionTable, Empty, Loaded, PageHeader } from '../ui/page.tsx';
import { showToast } from '../ui/toast.tsx';

type Step =
  | { readonly kind: 'none' | 'create' }
  | { readonly kind: 'shown'; readonly made: NewKey }
  | { readonly kind: 'revoke' | 'rotate'; readonly key: KeyView };

export function KeysPage({ role }: { readonly role: Role }) {
  const resource = useResource('keys', listKeys);
  const [step, setStep] = useState<Step>({ kind: 'none' });
  const show = (made: NewKey): void => {
    resource.reload();
    setStep({ kind: 'shown', made });
  };
  const revoke = async (key: KeyView): Promise<void> => {
    await revokeKey(key.id);
    setStep({ kind: 'none' });
    resource.reload();
    showToast(texts.keys.revoked(key.name));
  };
  return (
    <>
      <PageHeader title={texts.keys.title} note={texts.keys.note}>
        <Button kind="primary" icon="plus" onClick={() => setStep({ kind: 'create' })}>
          {texts.keys.create}
        </Button>
      </PageHeader>
      <Loaded resource={resource}>
        {keys =>
          keys.length === 0 ? (
            <Empty icon="key" title={texts.keys.none} text={texts.keys.noneText} />
          ) : (
            <KeyTable keys={keys} onStep={setStep} />
          )
        }
      </Loaded>
      {step.kind === 'create' && (
        <CreateKeyDialog role={role} onMade={show} onClose={() => setStep({ kind: 'none' })} />
      )}
      {step.kind === 'shown' && <ShownKeyDialog made={step.made} onClose={() => setStep({ kind: 'none' })} />}
      {step.kind === 'revoke' && (
        <ConfirmDialog
          title={texts.keys.revokeTitle(step.key.name)}
          text={texts.keys.revokeText}
          action={texts.keys.revoke}
          onConfirm={() => revoke(step.key)}
          onClose={() => setStep({ kind: 'none' })}
        />
      )}
      {step.kind === 'rotate' && (
        <ConfirmDialog
          title={texts.keys.rotateTitle(step.key.name)}
          text={texts.keys.rotateText}
          action={texts.keys.rotate}
          onConfirm={async () => show(await rotateKey(step.key.id))}
          onClose={() => setStep({ kind: 'none' })}
        />
      )}
    </>
  );
}

const isOver = ({ revokedAt, expiresAt }: KeyView): boolean =>
  revokedAt !== null || (expiresAt !== null && isPast(expiresAt));

function KeyTable({
  keys,
  onStep,
}: {
  readonly keys: readonly KeyView[];
  readonly onStep: (step: Step) => void;
}) {
  // Active keys come first; the others are kept for the record.
  const ordered = keys.toSorted((a, b) => Number(isOver(a)) - Number(isOver(b)));
  return (
    <ActionTable heads={[texts.keys.name, texts.keys.scopes, texts.keys.createdAt, texts.keys.lastUsed]}>
      {ordered.map(key => (
        <tr key={key.id} class={isOver(key) ? 'row-off' : ''}>
          <th scope="row">
            {key.name}
            {key.revokedAt !== null && <span class="badge badge-disabled">{texts.keys.isRevoked}</span>}
            {key.revokedAt === null && key.expiresAt !== null && (
              <span class={isPast(key.expiresAt) ? 'badge badge-expired' : 'quiet'}>
                {expiryText(key.expiresAt)}
              </span>
            )}
          </th>
          <td data-label={texts.keys.scopes}>
            <span class="tags">
              {key.scopes.map(scope => (
                <code key={scope} class="tag">
                  {scope}
                </code>
              ))}
            </span>
          </td>
          <td data-label={texts.keys.createdAt}>{formatDay(key.createdAt)}</td>
          <td data-label={texts.keys.lastUsed}>
            {key.lastUsedAt === null ? texts.keys.never : formatAgo(key.lastUsedAt)}
          </td>
          <td class="cell-actions">
            {key.revokedAt === null && (
              <Menu
                label={texts.keys.more(key.name)}
                items={[
                  {
                    label: texts.keys.rotate,
                    icon: 'refresh',
                    onSelect: () => onStep({ kind: 'rotate', key }),
                  },
                  {
                    label: texts.keys.revoke,
                    icon: 'ban',
                    isDangerous: true,
                    onSelect: () => onStep({ kind: 'revoke', key }),
                  },
                ]}
              >
                <Icon name="more" />
              </Menu>
            )}
          </td>
        </tr>
      ))}
    </ActionTable>
  );
}

const memberScopes = ['links:read', 'links:write', 'stats:read'] as const;
type Scope = KeyView['scopes'][number];
const scopesOf: Readonly<Record<Role, readonly Scope[]>> = {
  member: memberScopes,
  moderator: [...memberScopes, 'moderate'],
  admin: [...memberScopes, 'moderate', 'admin'],
};
const lives = ['never', 'month', 'year'] as const satisfies readonly ExpiryChoice[];

interface CreateKeyDialogProps {
  readonly role: Role;
  readonly onMade: (made: NewKey) => void;
  readonly onClose: () => void;
}

/** Creating a key, and showing it once. */
function CreateKeyDialog({ role, onMade, onClose }: CreateKeyDialogProps) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<Scope[]>([...memberScopes]);
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
          label={texts.fields.expiresAt}
          value={life}
          choices={lives.map(value => ({ value, label: texts.form.expiries[value] }))}
          onValue={setLife}
        />
      </div>
    </FormDialog>
  );
}

function ShownKeyDialog({ made, onClose }: { readonly made: NewKey; readonly onClose: () => void }) {
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
