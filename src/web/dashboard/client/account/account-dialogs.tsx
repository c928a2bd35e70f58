/** Making an account, and the invitation to hand over. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { createAccount, type ManagedAccount } from '../api/accounts.ts';
import { messageOf } from '../api/problem.ts';
import type { Role } from '../api/types.ts';
import { hrefOf } from '../state/router.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { SelectField, TextField } from '../ui/field.tsx';

const plans = ['free', 'pro', 'verified', 'unlimited'] as const;
const roles = ['member', 'moderator', 'admin'] as const;

export interface AccountDialogProps {
  readonly onMade: (account: ManagedAccount) => void;
  readonly onClose: () => void;
}

export function AccountDialog({ onMade, onClose }: AccountDialogProps) {
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('member');
  const [plan, setPlan] = useState<(typeof plans)[number]>('free');
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    try {
      onMade(await createAccount({ name: name.trim(), email: email.trim() || null, role, plan }));
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <form
      class="contents"
      noValidate
      onSubmit={event => {
        event.preventDefault();
        if (!isBusy) void submit();
      }}
    >
      <Dialog
        title={texts.accounts.create}
        size="small"
        onClose={onClose}
        footer={
          <>
            <Button kind="quiet" onClick={onClose}>
              {texts.actions.cancel}
            </Button>
            <Button kind="primary" type="submit" busy={isBusy} disabled={name.trim() === ''}>
              {texts.accounts.make}
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
            label={texts.accounts.name}
            value={name}
            onText={setName}
            maxLength={100}
            data-autofocus
          />
          <TextField
            label={texts.signIn.email}
            type="email"
            value={email}
            onText={setEmail}
            autocomplete="off"
          />
          <div class="form-pair">
            <SelectField
              label={texts.accounts.role}
              value={role}
              choices={roles.map(value => ({ value, label: texts.roles[value] }))}
              onValue={setRole}
            />
            <SelectField
              label={texts.accounts.plan}
              value={plan}
              choices={plans.map(value => ({ value, label: value }))}
              onValue={setPlan}
            />
          </div>
        </div>
      </Dialog>
    </form>
  );
}

export interface InvitationDialogProps {
  readonly account: ManagedAccount;
  readonly token: string;
  readonly onClose: () => void;
}

/** The token stands behind the hash, where no server and no log sees it. */
export function InvitationDialog({ account, token, onClose }: InvitationDialogProps) {
  const address = `${location.origin}${hrefOf('/invitation')}#${token}`;
  return (
    <Dialog
      title={texts.accounts.invitationTitle(account.name)}
      size="small"
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          {texts.accounts.handedOver}
        </Button>
      }
    >
      <p>{account.email === null ? texts.accounts.needsEmail : texts.accounts.invitationText}</p>
      <p class="secret">
        <code>{address}</code>
        <CopyButton text={address} label={texts.accounts.copyInvitation} />
      </p>
    </Dialog>
  );
}
