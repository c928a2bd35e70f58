/**
 * Terse processes that each reach the store and Redis through separate network links, so that a test can cut off one
 * process from one engine, or all of them from both.
 */
import { type NetworkLink, startNetworkLink } from './network-link.ts';
import { startTerseProcess, type TerseProcess } from './terse-process.ts';

/** `refused`: connections are ended and new ones rejected. `swallowed`: connections stay open and nothing gets through. */
export type LinkFault = 'refused' | 'swallowed';

/** The route of one process to one engine. */
export class EngineRoute {
  readonly #link: NetworkLink;
  #fault: LinkFault | undefined;

  constructor(link: NetworkLink) {
    this.#link = link;
  }

  async fail(fault: LinkFault): Promise<void> {
    if (this.#fault !== undefined) return;
    this.#fault = fault;
    if (fault === 'refused') await this.#link.refuse();
    else this.#link.cut();
  }

  async heal(): Promise<void> {
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault === 'refused') await this.#link.accept();
    if (fault === 'swallowed') this.#link.mend();
  }

  stop(): Promise<void> {
    return this.#link.stop();
  }
}

export interface FleetMember {
  readonly terse: TerseProcess;
  readonly url: string;
  readonly store: EngineRoute;
  readonly redis: EngineRoute;
}

export interface FleetOptions {
  readonly count: number;
  /** As in TERSE_LINKS; the engine listens on loopback. */
  readonly links: string;
  /** As in TERSE_CACHE. */
  readonly cache: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Fleet {
  readonly members: readonly FleetMember[];
  readonly urls: readonly string[];
  stop(): Promise<void>;
}

export async function startFleet({ count, links, cache, env = {} }: FleetOptions): Promise<Fleet> {
  const members: FleetMember[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(
      members.map(async ({ terse, store, redis }) => {
        await Promise.all([store.heal(), redis.heal()]);
        await terse.stop();
        await Promise.all([store.stop(), redis.stop()]);
      }),
    );
  };
  try {
    // One after the other: the first migrates the store, and two cores are not enough for three starts at once.
    for (let index = 0; index < count; index += 1) members.push(await startMember(links, cache, env));
  } catch (error) {
    await stop();
    throw error;
  }
  return { members, urls: members.map(({ url }) => url), stop };
}

async function startMember(
  links: string,
  cache: string,
  env: Readonly<Record<string, string>>,
): Promise<FleetMember> {
  const store = await startNetworkLink(placeIn(links));
  const redis = await startNetworkLink(placeIn(cache));
  try {
    const terse = await startTerseProcess({
      env: {
        TERSE_LINKS: links.replace(placeIn(links), store.address),
        TERSE_CACHE: cache.replace(placeIn(cache), redis.address),
        TERSE_LOG_LEVEL: 'silent',
        ...env,
      },
    });
    return { terse, url: terse.url, store: new EngineRoute(store), redis: new EngineRoute(redis) };
  } catch (error) {
    await Promise.all([store.stop(), redis.stop()]);
    throw error;
  }
}

/** Host and port of an engine's address; that of DynamoDB has them in a parameter. */
export function placeIn(address: string): string {
  const [place] = /127\.0\.0\.1:\d+/.exec(address) ?? [];
  if (place === undefined) throw new Error(`${address} names no loopback port`);
  return place;
}
