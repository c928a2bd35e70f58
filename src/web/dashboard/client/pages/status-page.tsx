/** How the server is doing, for whoever runs it: rates from two looks at its counters, and what they are made of. */
import { useEffect, useRef } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import { readStatus, type ServerStatus } from '../api/status.ts';
import { formatAgo, formatNumber } from '../format.ts';
import { useResource } from '../state/resource.ts';
import { type Gauge, gaugesOf } from '../status/gauges.ts';
import { Sparkline } from '../status/sparkline.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { Loaded, Skeleton } from '../ui/states.tsx';

const lookMs = 2_000;
/** Five minutes of looks. */
const looksMax = 150;

export function StatusPage() {
  const resource = useResource('status', readStatus);
  const looks = useRef<ServerStatus[]>([]);
  const { reload, value } = resource;
  useEffect(() => browserClock.every(lookMs, reload), [reload]);
  if (value !== undefined && looks.current.at(-1) !== value) {
    looks.current = [...looks.current, value].slice(-looksMax);
  }
  return (
    <>
      <PageHeader
        title={texts.operations.title}
        {...(value !== undefined && {
          note: texts.operations.note(value.version, formatAgo(value.startedAt)),
        })}
      />
      <Loaded resource={resource} skeleton={<Skeleton lines={6} tall />}>
        {status => <ShownStatus status={status} looks={looks.current} />}
      </Loaded>
    </>
  );
}

function ShownStatus({
  status,
  looks,
}: {
  readonly status: ServerStatus;
  readonly looks: readonly ServerStatus[];
}) {
  return (
    <>
      <section class="card parts" aria-label={texts.operations.parts}>
        {Object.entries(status.parts).map(([name, works]) => (
          <span key={name} class={works ? 'part part-ok' : 'part part-down'}>
            {name}: {works ? texts.operations.works : texts.operations.fails}
          </span>
        ))}
      </section>
      <div class="gauges">
        {gaugesOf(looks).map(gauge => (
          <GaugeCard key={gauge.name} gauge={gauge} />
        ))}
      </div>
      <MetricTable status={status} />
    </>
  );
}

function GaugeCard({ gauge }: { readonly gauge: Gauge }) {
  return (
    <section class={`card gauge gauge-${gauge.state}`} aria-label={gauge.label}>
      <h2>{gauge.label}</h2>
      <p class="figure-value">{gauge.text}</p>
      <Sparkline values={gauge.history} />
      <p class="quiet">{gauge.help}</p>
    </section>
  );
}

function MetricTable({ status }: { readonly status: ServerStatus }) {
  return (
    <details class="card disclosure">
      <summary>{texts.operations.all}</summary>
      <table class="metrics">
        <tbody>
          {status.metrics.flatMap(({ name, help, samples }) =>
            samples.map(({ labels, value }) => {
              const shownLabels = Object.entries(labels).map(([label, text]) => `${label}=${text}`);
              return (
                <tr key={`${name} ${shownLabels}`}>
                  <th scope="row" title={help}>
                    <code>{name}</code> <span class="quiet">{shownLabels.join(' ')}</span>
                  </th>
                  <td>{formatNumber(value)}</td>
                </tr>
              );
            }),
          )}
        </tbody>
      </table>
    </details>
  );
}
