/** Where an invitation leads: choose a password, and be signed in. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { acceptInvitation } from '../api/accounts.ts';
import { messageOf } from '../api/problem.ts';
import { signIn } from '../api/session.ts';
import { goTo } from '../state/router.ts';
import { noteSignedIn } from '../state/session.ts';
import { Button } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { Wordmark } from '../ui/icon.tsx';

const passwordLengthMin = 12;

export function InvitationPage() {
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      const account = await acceptInvitation(location.hash.slice(1), password);
      goTo('/');
      if (account.email !== null) noteSignedIn(await signIn({ email: account.email, password }));
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form
        class="sign-in-card card"
        noValidate
        onSubmit={event => {
          event.preventDefault();
          if (!isBusy && password.length >= passwordLengthMin) void submit();
        }}
      >
        <Wordmark />
        <h1>{texts.invitation.title}</h1>
        <p class="quiet">{texts.invitation.text}</p>
        <TextField
          label={texts.account.newPassword}
          help={texts.account.passwordHelp(passwordLengthMin)}
          type="password"
          autocomplete="new-password"
          value={password}
          onText={setPassword}
        />
        {problem !== undefined && (
          <p class="notice" role="alert">
            {problem}
          </p>
        )}
        <Button kind="primary" type="submit" busy={isBusy} disabled={password.length < passwordLengthMin}>
          {texts.invitation.submit}
        </Button>
      </form>
    </main>
  );
}
