/**
 * Real Redis for tests: one that a whole test process shares, and ones that a test has to itself to pause and kill.
 * Every write is in its log before it is answered, so what it acknowledged survives a kill.
 */
import { type Engine, EngineProcess, startEngine } from './engine-process.ts';
import { thingOf } from './found.ts';
import { findRedis } from './redis-programs.ts';
import { askRedis } from './redis-question.ts';
import { type Revivable, shareEngine } from './shared-engine.ts';

export interface SharedRedis extends Revivable {
  readonly url: string;
  /** Deletes every key. Tests that share the server write under a prefix of their own instead. */
  flush(): Promise<void>;
}

export interface RedisEngine extends Engine, SharedRedis {}

export interface RedisOptions {
  /** As in its configuration file, such as `{ maxmemory: '64mb' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** One per test process, or the server that TERSE_TEST_REDIS names. No test may pause or stop it. */
export const sharedRedis = shareEngine(async (): Promise<SharedRedis> => {
  const given = process.env.TERSE_TEST_REDIS;
  if (given === undefined) return startRedis();
  return { url: given, flush: () => flushAt(given) };
});

/** An exclusive one, which the caller stops. */
export function startRedis(options: RedisOptions = {}): Promise<RedisEngine> {
  return startEngine('redis', (folder, port) => new RedisProcess(folder, port, options));
}

export class RedisProcess extends EngineProcess implements RedisEngine {
  readonly url: string;
  readonly port: number;

  constructor(folder: string, port: number, { settings }: RedisOptions) {
    const { server, env } = thingOf(findRedis());
    const url = `redis://127.0.0.1:${port}`;
    const all = {
      bind: '127.0.0.1',
      port: String(port),
      dir: folder,
      appendonly: 'yes',
      // With the default 'everysec' an acknowledged write may be only in memory for up to 2 s during a sync, and a kill
      // would lose it.
      appendfsync: 'no',
      save: '',
      ...settings,
    };
    super(folder, {
      name: 'Redis',
      command: [server, ...Object.entries(all).flatMap(([name, value]) => [`--${name}`, value])],
      env,
      stopSignal: 'SIGTERM',
      // While it loads its log it reports its configuration, but not its keys.
      isReady: async () =>
        (await askRedis(url, 'CONFIG GET dir')).includes(folder) &&
        (await askRedis(url, 'DBSIZE')).startsWith(':'),
    });
    this.url = url;
    this.port = port;
  }

  flush(): Promise<void> {
    return flushAt(this.url);
  }
}

export async function flushAt(url: string): Promise<void> {
  const answer = await askRedis(url, 'FLUSHALL');
  if (!answer.startsWith('+OK')) throw new Error(`Redis did not forget: ${answer}`);
}
