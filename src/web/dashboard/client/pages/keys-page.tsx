/** API keys: made, shown once, rotated, revoked. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { listKeys, type NewKey, revokeKey, rotateKey } from '../api/keys.ts';
import { messageOf } from '../api/problem.ts';
import type { KeyView, Role } from '../api/types.ts';
import { formatAgo, formatDay } from '../format.ts';
import { CreateKeyDialog, ShownKeyDialog } from '../keys/key-dialogs.tsx';
import { useResource } from '../state/resource.ts';
import { ActionTable } from '../ui/action-table.tsx';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { Menu } from '../ui/menu.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
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
  const run = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      showToast(messageOf(error), { isProblem: true });
      setStep({ kind: 'none' });
    }
  };
  const revoke = (key: KeyView): Promise<void> =>
    run(async () => {
      await revokeKey(key.id);
      setStep({ kind: 'none' });
      resource.reload();
      showToast(texts.keys.revoked(key.name));
    });
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
          onConfirm={() => run(async () => show(await rotateKey(step.key.id)))}
          onClose={() => setStep({ kind: 'none' })}
        />
      )}
    </>
  );
}

function KeyTable({
  keys,
  onStep,
}: {
  readonly keys: readonly KeyView[];
  readonly onStep: (step: Step) => void;
}) {
  // Keys that work come first; the rest is kept for the record.
  const ordered = keys.toSorted((a, b) => Number(a.revokedAt !== null) - Number(b.revokedAt !== null));
  return (
    <ActionTable heads={[texts.keys.name, texts.keys.scopes, texts.keys.createdAt, texts.keys.lastUsed]}>
      {ordered.map(key => (
        <tr key={key.id} class={key.revokedAt === null ? '' : 'row-off'}>
          <th scope="row">
            {key.name}
            {key.revokedAt !== null && <span class="badge badge-disabled">{texts.keys.isRevoked}</span>}
            {key.revokedAt === null && key.expiresAt !== null && (
              <span class="quiet">{texts.links.expires(formatAgo(key.expiresAt))}</span>
            )}
          </th>
          <td>
            <span class="tags">
              {key.scopes.map(scope => (
                <code key={scope} class="tag">
                  {scope}
                </code>
              ))}
            </span>
          </td>
          <td>{formatDay(key.createdAt)}</td>
          <td>{key.lastUsedAt === null ? texts.keys.never : formatAgo(key.lastUsedAt)}</td>
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
