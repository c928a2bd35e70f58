/** The state of the server for operators: rates from two samples of its counters, and the metrics behind them. */
import { useRef } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { readStatus } from '../api/calls.ts';
import type { ServerStatus } from '../api/types.ts';
import { formatAgo, formatNumber } from '../format.ts';
import { useRefresh, useResource } from '../state/connection.ts';
import { Loaded, PageHeader, Skeleton } from '../ui/page.tsx';
import { type Gauge, gaugesOf } from './gauges.ts';

const lookMs = 2_000;
/** Five minutes of scrapes. */
const scrapesMax = 150;

export function StatusPage() {
  const resource = useResource('status', readStatus);
  const scrapes = useRef<ServerStatus[]>([]);
  const { value } = resource;
  useRefresh(resource.reload, lookMs);
  if (value !== undefined && scrapes.current.at(-1) !== value) {
    scrapes.current = [...scrapes.current, value].slice(-scrapesMax);
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
        {status => <ShownStatus status={status} scrapes={scrapes.current} />}
      </Loaded>
    </>
  );
}

function ShownStatus({
  status,
  scrapes,
}: {
  readonly status: ServerStatus;
  readonly scrapes: readonly ServerStatus[];
}) {
  return (
    <>
      <section class="card parts" aria-label={texts.operations.parts}>
        {Object.entries(status.parts).map(([name, works]) => (
          <span key={name} class={works ? 'part part-ok' : 'part part-down'}>
            {texts.operations.partNames[name] ?? name}:{' '}
            {works ? texts.operations.works : texts.operations.fails}
          </span>
        ))}
      </section>
      <div class="gauges">
        {gaugesOf(scrapes).map(gauge => (
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
                  <td>{formatNumber(value ?? 0)}</td>
                </tr>
              );
            }),
          )}
        </tbody>
      </table>
    </details>
  );
}

/** A number's recent history as a small line. The number itself is beside it, so the line is decoration. */
const width = 120;
const height = 28;

function Sparkline({ values }: { readonly values: readonly number[] }) {
  const most = Math.max(...values, 1e-9);
  const step = width / Math.max(1, values.length - 1);
  const points = values.map(
    (value, index) =>
      `${(index * step).toFixed(1)},${(height - 2 - (value / most) * (height - 4)).toFixed(1)}`,
  );
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {points.length > 1 && <polyline points={points.join(' ')} />}
    </svg>
  );
}
