/** Signing in, with a password or with an API key. Over a page whose session ended it is a dialog. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { acceptInvitation, signIn } from '../api/calls.ts';
import { goTo } from '../state/router.ts';
import { noteSignedIn, noteSignedOut } from '../state/session.ts';
import { Button, Wordmark } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import type { TextFieldProps } from '../ui/field.tsx';
import { ProblemNotice, Segments, TextField, useSubmit } from '../ui/field.tsx';

type Way = 'password' | 'key';

export function SignInPage() {
  return (
    <main class="sign-in">
      <div class="sign-in-card card">
        <Wordmark />
        <h1>{texts.signIn.title}</h1>
        <SignInForm />
      </div>
      <p class="quiet">{texts.signIn.foot}</p>
    </main>
  );
}

/** The page behind stays as it was, with all typed input. */
export function SignInAgain() {
  return (
    <Dialog title={texts.signIn.again} size="small" isStubborn onClose={() => undefined}>
      <p class="quiet">{texts.signIn.againText}</p>
      <SignInForm />
      <Button kind="quiet" small onClick={noteSignedOut}>
        {texts.signIn.leave}
      </Button>
    </Dialog>
  );
}

function SignInForm() {
  const [way, setWay] = useState<Way>('password');
  const [email, setEmail] = useState('');
  const [secret, setSecret] = useState('');
  const submit = async (): Promise<void> =>
    noteSignedIn(
      await signIn(way === 'key' ? { key: secret.trim() } : { email: email.trim(), password: secret }),
    );
  const { problem, isBusy, onSubmit, forget } = useSubmit(submit, { staysBusy: true });
  return (
    <form class="form" noValidate onSubmit={onSubmit}>
      <Segments
        label={texts.signIn.way}
        value={way}
        choices={[
          { value: 'password', label: texts.signIn.withPassword },
          { value: 'key', label: texts.signIn.withKey },
        ]}
        onValue={next => {
          setWay(next);
          setSecret('');
          forget();
        }}
      />
      {way === 'password' && (
        <TextField
          label={texts.signIn.email}
          type="email"
          name="username"
          autocomplete="username"
          value={email}
          onText={setEmail}
          data-autofocus
        />
      )}
      <TextField
        key={way}
        label={way === 'key' ? texts.signIn.key : texts.signIn.password}
        help={way === 'key' ? texts.signIn.keyHelp : undefined}
        type="password"
        name="password"
        autocomplete={way === 'key' ? 'off' : 'current-password'}
        value={secret}
        onText={setSecret}
      />
      <ProblemNotice problem={problem} />
      <Button kind="primary" type="submit" busy={isBusy} disabled={secret === ''}>
        {texts.signIn.submit}
      </Button>
    </form>
  );
}

export const passwordLengthMin = 12;

/** The page of an invitation: choose a password and get signed in. */
export function InvitationPage() {
  const [password, setPassword] = useState('');
  const isLongEnough = password.length >= passwordLengthMin;
  const accept = async (): Promise<void> => {
    const account = await acceptInvitation(location.hash.slice(1), password);
    goTo('/');
    if (account.email !== null) noteSignedIn(await signIn({ email: account.email, password }));
  };
  const { problem, isBusy, onSubmit } = useSubmit(accept, { canSubmit: isLongEnough, staysBusy: true });
  return (
    <main class="sign-in">
      <form class="sign-in-card card" noValidate onSubmit={onSubmit}>
        <Wordmark />
        <h1>{texts.invitation.title}</h1>
        <p class="quiet">{texts.invitation.text}</p>
        <NewPasswordField value={password} onText={setPassword} />
        <ProblemNotice problem={problem} />
        <Button kind="primary" type="submit" busy={isBusy} disabled={!isLongEnough}>
          {texts.invitation.submit}
        </Button>
      </form>
    </main>
  );
}

export function NewPasswordField(props: Pick<TextFieldProps, 'value' | 'onText'>) {
  return (
    <TextField
      {...props}
      label={texts.account.newPassword}
      help={texts.account.passwordHelp(passwordLengthMin)}
      type="password"
      autocomplete="new-password"
    />
  );
}
