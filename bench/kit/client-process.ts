/** A load client as a separate process on given cores. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientPlan, ClientReport, Moment, OnMoment } from './client-plan.ts';
import { boundTo } from './cores.ts';

export interface ClientOptions {
  readonly cores: readonly number[];
  readonly onMoment?: OnMoment | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A line of the process's output, with one of these. */
interface Said {
  readonly moment?: Moment;
  readonly report?: ClientReport;
}

export async function runClient(
  plan: ClientPlan,
  { cores, onMoment, signal }: ClientOptions,
): Promise<ClientReport> {
  const program = join(import.meta.dir, 'load-client-process.ts');
  const client = Bun.spawn(boundTo(cores, [process.execPath, program, JSON.stringify(plan)]), {
    stdout: 'pipe',
    stderr: 'pipe',
    ...(signal !== undefined && { signal }),
  });
  const errors = new Response(client.stderr).text();
  let report: ClientReport | undefined;
  for await (const said of jsonLines(client.stdout) as AsyncGenerator<Said>) {
    if (said.moment !== undefined) onMoment?.(said.moment);
    report = said.report;
  }
  if (report === undefined) throw new Error(`the load client failed: ${await errors}`);
  return report;
}

/** Passes the many raw requests to a client as a file, separated by NUL. */
export async function withRequestsFile<Result>(
  folder: string,
  requests: readonly string[],
  work: (path: string) => Promise<Result>,
): Promise<Result> {
  const path = join(folder, `requests-${process.pid}-${Bun.nanoseconds()}`);
  await Bun.write(path, requests.join('\0'));
  try {
    return await work(path);
  } finally {
    rmSync(path, { force: true });
  }
}

/** The lines of JSON that the process prints. */
async function* jsonLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n')) {
      yield JSON.parse(text.slice(0, end));
      text = text.slice(end + 1);
    }
  }
}
