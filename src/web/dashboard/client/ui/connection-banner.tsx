/** Says that the server cannot be reached, when it is tried again, and lets one try now. */
import { useEffect, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import { connection, retryNow } from '../state/connection.ts';
import { useStore } from '../state/store.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

export function ConnectionBanner() {
  const { isAway, retryAtMs } = useStore(connection);
  const [nowMs, setNowMs] = useState(browserClock.now);
  useEffect(() => {
    if (!isAway) return;
    setNowMs(browserClock.now());
    return browserClock.every(500, () => setNowMs(browserClock.now()));
  }, [isAway]);
  if (!isAway) return null;
  const seconds = Math.max(0, Math.ceil((retryAtMs - nowMs) / 1_000));
  return (
    <div class="banner" role="alert">
      <Icon name="cloudOff" />
      <p>
        <strong>{texts.connection.away}</strong>{' '}
        <span aria-hidden="true">{texts.connection.retryIn(seconds)}</span>
      </p>
      <Button small onClick={retryNow}>
        {texts.connection.retryNow}
      </Button>
    </div>
  );
}
