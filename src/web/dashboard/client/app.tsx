/** The dashboard as a whole: who is signed in decides whether there is a page, and the address which. */
import { useEffect } from 'preact/hooks';
import { arrive } from './arrive.ts';
import { destinationsFor } from './destinations.ts';
import { isWebAddress } from './format.ts';
import { Frame } from './frame.tsx';
import { Overlays } from './overlays.tsx';
import { InvitationPage } from './pages/invitation-page.tsx';
import { PageAt } from './pages/page-at.tsx';
import { SignInAgain, SignInPage } from './pages/sign-in.tsx';
import { openOverlay, overlay } from './state/overlay.ts';
import { followLinks, goTo, usePlace } from './state/router.ts';
import { session } from './state/session.ts';
import { handleKey, isTyping, onKeys } from './state/shortcuts.ts';
import { useStore } from './state/store.ts';
import { ConnectionBanner } from './ui/connection-banner.tsx';
import { Wordmark } from './ui/icon.tsx';
import { Toasts } from './ui/toast.tsx';

export function App() {
  const current = useStore(session);
  const { path } = usePlace();
  useEffect(() => {
    void arrive();
    addEventListener('click', followLinks);
    addEventListener('keydown', handleKey);
    addEventListener('paste', createFromPaste);
  }, []);
  const role = current.kind === 'signedIn' ? current.account.role : 'member';
  useEffect(() => onKeys(globalKeys(role)), [role]);

  if (path === '/invitation') return <InvitationPage />;
  if (current.kind === 'unknown') return <Starting />;
  if (current.kind === 'signedOut') {
    return (
      <>
        <ConnectionBanner />
        <SignInPage />
      </>
    );
  }
  return (
    <>
      <Frame account={current.account}>
        <PageAt account={current.account} />
      </Frame>
      <Overlays role={current.account.role} />
      {current.kind === 'expired' && <SignInAgain />}
      <Toasts />
    </>
  );
}

function Starting() {
  return (
    <>
      <ConnectionBanner />
      <div class="starting">
        <Wordmark />
      </div>
    </>
  );
}

function globalKeys(role: 'member' | 'moderator' | 'admin'): Record<string, () => void> {
  const places = destinationsFor(role).flatMap(({ destinations }) => destinations);
  return {
    ...Object.fromEntries(places.map(({ key, path }) => [`g ${key}`, () => goTo(path)])),
    c: () => openOverlay({ kind: 'create', longUrl: '' }),
    '?': () => openOverlay({ kind: 'help' }),
    'mod+k': () => openOverlay({ kind: 'palette' }),
    '/': () => {
      const search = document.querySelector<HTMLInputElement>('[data-shortcut-search]');
      if (search === null) openOverlay({ kind: 'palette' });
      else search.focus();
    },
  };
}

/** An address pasted anywhere but into a field is meant to be shortened. */
function createFromPaste(event: ClipboardEvent): void {
  if (isTyping(event.target) || overlay.get().kind !== 'none' || session.get().kind !== 'signedIn') return;
  const text = event.clipboardData?.getData('text/plain') ?? '';
  if (!isWebAddress(text)) return;
  event.preventDefault();
  openOverlay({ kind: 'create', longUrl: text.trim() });
}
