/**
 * `npm run chaos -- --minutes=30 [--engines=postgres|postgres-queued|dynamodb] [--seed=N] [--processes=3] [--record]`, or `--check=FILE` to
 * judge a history again. Ends with status 1 when there is a violation.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { check, type Verdict } from './checker.ts';
import { readHistory } from './history.ts';
import { type EngineSet, engineSets } from './installation.ts';
import { runChaos, summaryOf, usualOptions } from './run.ts';

const shownMax = 50;
const documentPath = join(import.meta.dir, '../../docs/chaos.md');

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    engines: { type: 'string', default: 'postgres' },
    seed: { type: 'string' },
    processes: { type: 'string', default: String(usualOptions.processes) },
    record: { type: 'boolean', default: false },
    check: { type: 'string' },
  },
});

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

function show(verdict: Verdict, of: { set: EngineSet; seed: number; processes: number }): string {
  const summary = summaryOf(verdict, of);
  print(`\n${summary}`);
  for (const [rule, some] of Map.groupBy(verdict.violations, each => each.rule))
    print(`${rule}: ${some.length}`);
  for (const { rule, atMs, what } of verdict.violations.slice(0, shownMax))
    print(`${rule} at ${(atMs / 1_000).toFixed(1)} s: ${what}`);
  process.exitCode = verdict.violations.length === 0 ? 0 : 1;
  return summary;
}

/** Replaces the part of the document about these engines. */
async function record(set: EngineSet, summary: string): Promise<void> {
  const marks = [`<!-- chaos: ${set} -->`, `<!-- end: ${set} -->`] as const;
  const text = existsSync(documentPath) ? await Bun.file(documentPath).text() : '';
  const [from, to] = marks.map(mark => text.indexOf(mark)) as [number, number];
  const part = `${marks[0]}\n${summary}${marks[1]}`;
  const next =
    from === -1 ? `${text}\n${part}\n` : text.slice(0, from) + part + text.slice(to + marks[1].length);
  await Bun.write(documentPath, next);
}

if (values.check !== undefined) {
  const events = readHistory(values.check);
  const run = events.find(event => event.type === 'run')!;
  const set = run.engines as EngineSet;
  const summary = show(check(events), { set, seed: run.seed, processes: run.processes });
  if (values.record) await record(set, summary);
} else {
  const set = values.engines as EngineSet;
  if (!engineSets.includes(set)) throw new Error(`--engines is one of ${engineSets.join(', ')}`);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const processes = Number(values.processes);
  print(
    `npm run chaos -- --minutes=${values.minutes} --engines=${set} --seed=${seed} --processes=${processes}`,
  );
  const forMs = Number(values.minutes) * 60_000;
  const verdict = await runChaos({ ...usualOptions, set, seed, processes, forMs, onLine: print });
  const summary = show(verdict, { set, seed, processes });
  if (values.record) await record(set, summary);
}
