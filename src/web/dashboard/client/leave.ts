/** Signing out: the server is told, and nothing of the account stays in the page. */
import { texts } from '../texts.ts';
import { signOut } from './api/session.ts';
import { forgetLinks } from './state/link-index.ts';
import { forgetTotals } from './state/link-totals.ts';
import { goTo } from './state/router.ts';
import { noteSignedOut } from './state/session.ts';
import { showToast } from './ui/toast.tsx';

export async function leave(): Promise<void> {
  try {
    await signOut();
  } catch {
    return void showToast(texts.errors.unreachable, { isProblem: true });
  }
  forgetLinks();
  forgetTotals();
  goTo('/');
  noteSignedOut();
}
