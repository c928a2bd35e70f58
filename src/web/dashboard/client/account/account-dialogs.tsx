/** Making an account, and the invitation to hand over. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { createAccount, type ManagedAccount } from '../api/accounts.ts';
import type { Role } from '../api/types.ts';
import { hrefOf } from '../state/router.ts';
import { SelectField, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { SecretDialog } from '../ui/secret-dialog.tsx';

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
  return (
    <FormDialog
      title={texts.accounts.create}
      size="small"
      onClose={onClose}
      submitLabel={texts.accounts.make}
      canSubmit={name.trim() !== ''}
      onSubmit={async () =>
        onMade(await createAccount({ name: name.trim(), email: email.trim() || null, role, plan }))
      }
    >
      <div class="form">
        <TextField label={texts.accounts.name} value={name} onText={setName} maxLength={100} data-autofocus />
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
    </FormDialog>
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
    <SecretDialog
      title={texts.accounts.invitationTitle(account.name)}
      text={account.email === null ? texts.accounts.needsEmail : texts.accounts.invitationText}
      secret={address}
      copyLabel={texts.accounts.copyInvitation}
      doneLabel={texts.accounts.handedOver}
      onClose={onClose}
    />
  );
}
