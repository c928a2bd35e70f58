/** Everything of an account leaves the page when it signs out or another one signs in. Imported for its effect. */
import { forgetDrafts } from '../links/drafts.ts';
import { forgetLinks, forgetTotals } from './links.ts';
import { closeOverlay } from './router.ts';
import { accountIdIn, session } from './session.ts';

let last = accountIdIn(session.get());

session.subscribe(next => {
  const id = accountIdIn(next);
  if (last !== undefined && id !== last) {
    forgetLinks();
    forgetTotals();
    forgetDrafts();
    closeOverlay();
  }
  last = id;
});
