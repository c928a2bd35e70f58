/** The last clicks of a link as they come in. */
import { texts } from '../../texts.ts';
import type { LiveClick } from '../api/types.ts';
import { countryName, formatClock, formatNumber } from '../format.ts';
import type { Live } from './use-live.ts';

const shownMax = 6;

export function LivePanel({ live }: { readonly live: Live }) {
  return (
    <section class="card live" aria-label={texts.live.title}>
      <header class="card-header">
        <h2>
          <span class={live.isConnected ? 'live-dot' : 'live-dot live-off'} aria-hidden="true" />
          {texts.live.title}
        </h2>
        <p class="live-count" role="status">
          <strong data-testid="live-count">{formatNumber(live.seen)}</strong>{' '}
          {live.isConnected ? texts.live.since : texts.live.connecting}
        </p>
      </header>
      {live.recent.length === 0 ? (
        <p class="quiet">{texts.live.none}</p>
      ) : (
        <ul class="live-list">
          {live.recent.slice(0, shownMax).map((click, index) => (
            <LiveRow key={`${click.at}-${live.seen - index}`} click={click} />
          ))}
        </ul>
      )}
    </section>
  );
}

function LiveRow({ click }: { readonly click: LiveClick }) {
  const place = [click.city, countryName(click.country)]
    .filter(text => text !== undefined && text !== '')
    .join(', ');
  return (
    <li>
      <time>{formatClock(click.at)}</time>
      <span>{place === '' ? texts.stats.unknownPlace : place}</span>
      <span class="quiet">{[click.browser, click.os].filter(text => text !== '').join(' · ')}</span>
      <bdi class="quiet">{click.referrer === '' ? texts.stats.direct : click.referrer}</bdi>
      {click.kind !== 'human' && <span class="badge badge-bot">{texts.live.bot}</span>}
      {click.signal !== 'none' && <span class="badge badge-bot">{texts.live.suspicious}</span>}
    </li>
  );
}
