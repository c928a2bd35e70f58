/** Sends single visits on new connections all the time, to detect when a server has recovered. */
export interface Probe {
  readonly startedAtMs: number;
  readonly latencyMs: number;
  readonly isServed: boolean;
}

export interface Probing {
  readonly probes: readonly Probe[];
  stop(): Promise<void>;
}

const everyMs = 25;
const outstandingMax = 40;
const timeoutMs = 1_000;

export function startProbing(url: string): Probing {
  const probes: Probe[] = [];
  let outstanding = 0;
  const probe = async (): Promise<void> => {
    if (outstanding >= outstandingMax) return;
    outstanding += 1;
    const startedAtMs = Date.now();
    const startedMs = performance.now();
    const status = await fetch(url, {
      redirect: 'manual',
      keepalive: false,
      headers: { Connection: 'close' },
      signal: AbortSignal.timeout(timeoutMs),
    }).then(
      async response => {
        await response.arrayBuffer();
        return response.status;
      },
      () => Number.NaN,
    );
    outstanding -= 1;
    probes.push({ startedAtMs, latencyMs: performance.now() - startedMs, isServed: status < 400 });
  };
  const timer = setInterval(probe, everyMs);
  return {
    probes,
    async stop() {
      clearInterval(timer);
      while (outstanding > 0) await Bun.sleep(everyMs);
    },
  };
}

/** How many visits in a row must be served quickly until a server counts as recovered. */
const rowLength = 10;

/** The time from `fromMs` until visitors were served quickly again; undefined if they are not yet. */
export function recoveryMs(probes: readonly Probe[], fromMs: number, quickMs: number): number | undefined {
  const since = probes
    .filter(({ startedAtMs }) => startedAtMs >= fromMs)
    .toSorted((a, b) => a.startedAtMs - b.startedAtMs);
  let inRow = 0;
  for (const [index, { isServed, latencyMs }] of since.entries()) {
    inRow = isServed && latencyMs <= quickMs ? inRow + 1 : 0;
    if (inRow === rowLength) return since[index - rowLength + 1]!.startedAtMs - fromMs;
  }
  return undefined;
}
