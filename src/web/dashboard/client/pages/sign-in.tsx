/** Signing in, with a password or with an API key. Over a page whose session ended it is a dialog. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { messageOf } from '../api/problem.ts';
import { signIn } from '../api/session.ts';
import { noteSignedIn, noteSignedOut } from '../state/session.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Segments, TextField } from '../ui/field.tsx';
import { Wordmark } from '../ui/icon.tsx';

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

/** The page behind stays as it was, with everything that was typed. */
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
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      noteSignedIn(
        await signIn(way === 'key' ? { key: secret.trim() } : { email: email.trim(), password: secret }),
      );
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <form
      class="form"
      noValidate
      onSubmit={event => {
        event.preventDefault();
        if (!isBusy) void submit();
      }}
    >
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
          setProblem(undefined);
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
      {problem !== undefined && (
        <p class="notice" role="alert">
          {problem}
        </p>
      )}
      <Button kind="primary" type="submit" busy={isBusy} disabled={secret === ''}>
        {texts.signIn.submit}
      </Button>
    </form>
  );
}
