/** The whole dashboard: the session decides whether there is a page, and the address decides which. */
import { render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { browserClock } from '../../../base/clock.ts';
import { texts } from '../texts.ts';
import { readAccount } from './api/calls.ts';
import { ApiProblem } from './api/request.ts';
import type { AccountView } from './api/types.ts';
import { areWebAddresses, isWebAddress } from './format.ts';
import { destinationsFor, Frame } from './frame.tsx';
import { language, startLanguage } from './language.ts';
import { forgetRemovals } from './links/link-actions.ts';
import { forgetDrafts } from './links/link-form.ts';
import { Overlays } from './overlays.tsx';
import { AccountPage } from './pages/account-page.tsx';
import { AccountsPage } from './pages/accounts-page.tsx';
import { BlocklistsPage } from './pages/blocklists-page.tsx';
import { AuditPage } from './pages/history.tsx';
import { KeysPage } from './pages/keys-page.tsx';
import { LinkPage } from './pages/link-page.tsx';
import { LinksPage } from './pages/links-page.tsx';
import { OverviewPage } from './pages/overview-page.tsx';
import { QueuePage } from './pages/queue-page.tsx';
import { SharedPage } from './pages/shared-page.tsx';
import { SignInAgain, SignInPage } from './pages/sign-in.tsx';
import { InvitationPage, SignUpPage } from './pages/sign-up.tsx';
import { StatusPage } from './pages/status-page.tsx';
import { forgetLinks, forgetTotals } from './state/links.ts';
import {
  closeOverlay,
  followLinks,
  goTo,
  handleKey,
  hrefOf,
  isPageActive,
  isTyping,
  onKeys,
  openOverlay,
  usePlace,
} from './state/router.ts';
import { accountIdIn, mayBeSignedIn, noteSignedIn, noteSignedOut, session } from './state/session.ts';
import { useStore } from './state/store.ts';
import { LinkButton, Wordmark } from './ui/button.tsx';
import { ConnectionBanner, Empty, PageHeader } from './ui/page.tsx';
import { undoLast } from './ui/toast.tsx';

function App() {
  const current = useStore(session);
  const { path } = usePlace();
  useStore(language);
  useEffect(() => {
    if (sharedCodeIn(path) === undefined) void arrive();
    addEventListener('click', followLinks);
    addEventListener('keydown', handleKey);
    addEventListener('paste', createFromPaste);
  }, []);
  const role = current.kind === 'signedIn' ? current.account.role : 'member';
  useEffect(() => onKeys(globalKeys(role)), [role]);

  const shared = sharedCodeIn(path);
  if (shared !== undefined) return <SharedPage code={shared} />;
  if (path === '/invitation') return <InvitationPage />;
  if (current.kind === 'unknown') return <Starting />;
  if (current.kind === 'signedOut') {
    return (
      <>
        <ConnectionBanner />
        {path === '/sign-up' ? <SignUpPage /> : <SignInPage />}
      </>
    );
  }
  return (
    <>
      {/* Another account begins with a new page. */}
      <Frame key={current.account.id} account={current.account}>
        <PageAt account={current.account} />
      </Frame>
      <Overlays role={current.account.role} />
      {current.kind === 'expired' && <SignInAgain />}
    </>
  );
}

const sharedCodeIn = (path: string): string | undefined => /^\/shared\/([\w-]+)$/.exec(path)?.[1];

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
    z: undoLast,
    '?': () => openOverlay({ kind: 'help' }),
    'mod+k': () => openOverlay({ kind: 'palette' }),
    '/': () => {
      const search = document.querySelector<HTMLInputElement>('[data-shortcut-search]');
      if (search === null) openOverlay({ kind: 'palette' });
      else search.focus();
    },
  };
}

/** A URL pasted anywhere but into a field is meant to be shortened, and so are several, one per line. */
function createFromPaste(event: ClipboardEvent): void {
  if (isTyping(event.target) || !isPageActive()) return;
  const text = event.clipboardData?.getData('text/plain') ?? '';
  const isOne = isWebAddress(text);
  if (!isOne && !areWebAddresses(text)) return;
  event.preventDefault();
  openOverlay(isOne ? { kind: 'create', longUrl: text.trim() } : { kind: 'import', text });
}

const pausesMs = [500, 1_000, 2_000, 4_000, 10_000];
const refusals = [401, 403];

/**
 * Finds out who is signed in when the page loads. Only a rejection by the server means that the user is signed out: a
 * page that is closed while the answer arrives, or a failing server, says nothing about it and must not sign the user
 * out.
 */
async function arrive(): Promise<void> {
  if (!mayBeSignedIn()) return noteSignedOut();
  for (let failures = 0; ; failures += 1) {
    try {
      return noteSignedIn(await readAccount());
    } catch (error) {
      if (error instanceof ApiProblem && refusals.includes(error.status)) return noteSignedOut();
    }
    const pauseMs = pausesMs[Math.min(failures, pausesMs.length - 1)]!;
    await new Promise<void>(resolve => browserClock.after(pauseMs, resolve));
  }
}

/** The page for an address. */
function PageAt({ account }: { readonly account: AccountView }) {
  const { path } = usePlace();
  const shown = useRef(path);
  // Focuses the heading: a screen reader announces the page, and Tab continues from there.
  useEffect(() => {
    if (path === shown.current) return;
    shown.current = path;
    document.querySelector<HTMLElement>('#content h1')?.focus({ preventScroll: true });
  }, [path]);
  const code = /^\/links\/([\w-]+)$/.exec(path)?.[1];
  if (code !== undefined) return <LinkPage key={code} code={code} />;
  switch (path) {
    case '/':
      return <OverviewPage account={account} />;
    case '/links':
      return <LinksPage />;
    case '/keys':
      return <KeysPage role={account.role} />;
    case '/account':
      return <AccountPage account={account} />;
  }
  if (account.role === 'member') return <NoPage />;
  switch (path) {
    case '/moderation':
      return <QueuePage />;
    case '/moderation/blocklists':
      return <BlocklistsPage />;
    case '/moderation/audit':
      return <AuditPage role={account.role} />;
  }
  if (account.role !== 'admin') return <NoPage />;
  switch (path) {
    case '/status':
      return <StatusPage />;
    case '/accounts':
      return <AccountsPage own={account} />;
    default:
      return <NoPage />;
  }
}

function NoPage() {
  return (
    <>
      <PageHeader title={texts.missing.title} />
      <Empty icon="search" title={texts.missing.heading} text={texts.missing.text}>
        <LinkButton href={hrefOf('/')}>{texts.missing.home}</LinkButton>
      </Empty>
    </>
  );
}

const root = document.getElementById('dashboard');
if (root !== null) void startLanguage().then(() => render(<App />, root));

/** Everything of an account leaves the page when it signs out or another one signs in. */
let last = accountIdIn(session.get());

session.subscribe(next => {
  const id = accountIdIn(next);
  if (last !== undefined && id !== last) {
    forgetRemovals();
    forgetLinks();
    forgetTotals();
    forgetDrafts();
    closeOverlay();
  }
  last = id;
});
