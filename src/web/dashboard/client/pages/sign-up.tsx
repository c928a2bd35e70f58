/** Signing up, where the server allows it, which also signs in. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { signIn, signUp } from '../api/calls.ts';
import { ApiProblem } from '../api/request.ts';
import { goTo, hrefOf } from '../state/router.ts';
import { noteSignedIn } from '../state/session.ts';
import { Button } from '../ui/button.tsx';
import { ProblemNotice, TextField, useSubmit } from '../ui/field.tsx';
import { Loaded } from '../ui/page.tsx';
import { EntryPage, NewPasswordField, passwordLengthMin, useSignInOptions } from './sign-in.tsx';

export function SignUpPage() {
  const options = useSignInOptions();
  const isClosed = options.value?.signUp === false;
  return (
    <EntryPage title={isClosed ? texts.signUp.notOpen : texts.signUp.title}>
      <Loaded resource={options}>
        {() => (isClosed ? <p class="quiet">{texts.signUp.notOpenText}</p> : <SignUpForm />)}
      </Loaded>
      <p class="quiet">
        {!isClosed && texts.signUp.haveAccount} <a href={hrefOf('/')}>{texts.signIn.submit}</a>
      </p>
    </EntryPage>
  );
}

function SignUpForm() {
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const isFilled = name.trim() !== '' && email.trim() !== '' && password.length >= passwordLengthMin;
  const submit = async (): Promise<void> => {
    await signUp({ name: name.trim(), email: email.trim(), password });
    const account = await signIn({ email: email.trim(), password }).catch(explained);
    goTo('/');
    noteSignedIn(account);
  };
  const { problem, isBusy, onSubmit } = useSubmit(submit, { canSubmit: isFilled, staysBusy: true });
  return (
    <form class="form" noValidate onSubmit={onSubmit}>
      <TextField
        label={texts.signUp.name}
        name="name"
        value={name}
        onText={setName}
        maxLength={100}
        autocomplete="name"
      />
      <TextField
        label={texts.signIn.email}
        type="email"
        name="username"
        autocomplete="username"
        value={email}
        onText={setEmail}
      />
      <NewPasswordField value={password} onText={setPassword} />
      <ProblemNotice problem={problem} />
      <Button kind="primary" type="submit" busy={isBusy} disabled={!isFilled}>
        {texts.signUp.submit}
      </Button>
    </form>
  );
}

/** Signing up answers the same when the address has an account already; then the new password does not open it. */
function explained(error: unknown): never {
  if (error instanceof ApiProblem && error.code === 'sign_in_failed')
    throw new ApiProblem(error.status, error.code, texts.signUp.failed);
  throw error;
}
