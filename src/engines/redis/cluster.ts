/**
 * Redis Cluster: each key belongs to one of several primaries, each with a connection and a breaker of its own, so that
 * a dead one takes only its own keys with it. The slot map is asked of any server that answers: every few seconds, more
 * often while one is down, and at once when a server says that a key has moved. A call that went to the wrong server
 * fails and is not forwarded; so nothing reaches a server before `onAvailable` has reported that its data may differ.
 *
 * The client library has a Cluster of its own. It waits without end for a server that is stopped rather than dead, also
 * while it looks for that server's successor, and it follows redirections silently.
 */
import { nameOf, type ServerAddress } from './client.ts';
import { Commands, type CommandsOptions } from './commands.ts';
import { RedisNode } from './node.ts';
import {
  deadlineMsDefault,
  type Redis,
  type RedisRefusal,
  type RedisReply,
  RedisUnavailable,
} from './redis.ts';

const refreshEveryMs = 2_000;
const refreshWhileDownEveryMs = 500;
/** Refusals that say that the key is, or will be, at another server. */
const movedCodes = ['MOVED', 'ASK', 'TRYAGAIN'];
const tagsTriedMax = 100_000;

export class RedisCluster extends Commands implements Redis {
  readonly #nodes = new Map<string, RedisNode>();
  readonly #seeds: ReadonlySet<string>;
  readonly #timeoutMs: number;
  #owners: (RedisNode | undefined)[] = new Array(slotCount);
  #primaries: readonly RedisNode[] = [];
  #isCovered = false;
  #tags: readonly string[] = [];
  #refreshing: Promise<void> | undefined;
  #cancelRefresh: (() => void) | undefined;
  #turn = 0;
  #isClosed = false;

  constructor(options: CommandsOptions) {
    super(options);
    this.#timeoutMs = options.timeoutMs;
    const { address } = options;
    this.#seeds = new Set(address.servers.map(nameOf));
    for (const server of address.servers) this.#nodeAt(server);
    this.#plan();
  }

  get isAvailable(): boolean {
    return this.#isCovered && this.#primaries.every(({ isAvailable }) => isAvailable);
  }

  areTogether(keys: readonly string[]): boolean {
    return new Set(keys.map(slotOf)).size <= 1;
  }

  keyOnEach(name: string): readonly string[] {
    return this.#tags.map(tag => `${name}:{${tag}}`);
  }

  override async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRefresh?.();
    await super.close();
  }

  isAvailableFor(key: string): boolean {
    return this.#owners[slotOf(key)]?.isAvailable ?? false;
  }

  protected override nodes(): readonly RedisNode[] {
    return [...this.#nodes.values()];
  }

  protected override primaries(): readonly RedisNode[] {
    return this.#primaries;
  }

  protected override whereToListen(): ServerAddress | undefined {
    return this.#anyNode()?.server;
  }

  /**
   * By the owner of the channel's slot, because messages published on different servers do not keep their order. While
   * the owner is down, by the first server that answers.
   */
  override async publish(channel: string, message: string, deadlineMs = deadlineMsDefault): Promise<void> {
    const owner = this.#owners[slotOf(channel)];
    const node = owner?.isAvailable ? owner : this.nodes().find(({ isAvailable }) => isAvailable);
    if (node === undefined) throw new RedisUnavailable('no server of the Redis Cluster answers');
    await node.send(['PUBLISH', channel, message], deadlineMs);
  }

  protected override ownerOf(key: string | undefined): RedisNode {
    const node = key === undefined ? this.#anyNode() : this.#owners[slotOf(key)];
    if (node === undefined)
      throw new RedisUnavailable('no server of the Redis Cluster is known to keep the key');
    return node;
  }

  protected override onRefusal({ code }: RedisRefusal): void {
    if (movedCodes.includes(code)) void this.#refresh();
  }

  /** Takes turns, so that neither the work nor an outdated view stays with one server. */
  #anyNode(): RedisNode | undefined {
    const available = this.nodes().filter(({ isAvailable }) => isAvailable);
    this.#turn += 1;
    return available[this.#turn % available.length];
  }

  #nodeAt(server: ServerAddress): RedisNode {
    const known = this.#nodes.get(nameOf(server));
    if (known !== undefined) return known;
    const node: RedisNode = new RedisNode({
      clock: this.clock,
      login: this.address,
      server,
      isOfCluster: true,
      timeoutMs: this.#timeoutMs,
      onAvailable: () => {
        if (this.#primaries.includes(node)) this.tellAvailable();
        void this.#refresh();
      },
      onDown: reason => {
        if (this.#primaries.includes(node)) this.notifyDown(reason);
        void this.#refresh();
      },
    });
    this.#nodes.set(node.name, node);
    return node;
  }

  #plan(): void {
    if (this.#isClosed) return;
    this.#cancelRefresh?.();
    const delayMs = this.isAvailable ? refreshEveryMs : refreshWhileDownEveryMs;
    this.#cancelRefresh = this.clock.after(delayMs, () => void this.#refresh());
  }

  #refresh(): Promise<void> {
    this.#refreshing ??= this.#askForSlots().finally(() => {
      this.#refreshing = undefined;
      this.#plan();
    });
    return this.#refreshing;
  }

  async #askForSlots(): Promise<void> {
    const node = this.#anyNode();
    if (node === undefined) return;
    try {
      const reply = await node.send(['CLUSTER', 'SLOTS'], deadlineMsDefault);
      if (!this.#isClosed) this.#assign(readSlots(reply, node.server));
    } catch {
      // Another server is asked in a moment; a server that is down shows in its own calls.
    }
  }

  #assign(ranges: readonly SlotRange[]): void {
    if (ranges.length === 0) return;
    const owners: (RedisNode | undefined)[] = new Array(slotCount);
    for (const { from, to, primary } of ranges) owners.fill(this.#nodeAt(primary), from, to + 1);
    const hasChanged = owners.some((owner, slot) => owner !== this.#owners[slot]);
    if (!hasChanged) return;
    this.#owners = owners;
    this.#isCovered = !owners.includes(undefined);
    this.#primaries = [...new Set(owners)].filter(node => node !== undefined);
    this.#tags = this.#primaries.flatMap(node => tagKeptBy(node, owners));
    for (const node of this.nodes()) {
      if (this.#primaries.includes(node) || this.#seeds.has(node.name)) continue;
      this.#nodes.delete(node.name);
      this.retire(node);
    }
    this.tellAvailable();
  }
}

/**
 * The first tag whose slot the node owns, which stays the same for as long as the slots do, whichever node owns them.
 */
function tagKeptBy(node: RedisNode, owners: readonly (RedisNode | undefined)[]): string[] {
  for (let tag = 0; tag < tagsTriedMax; tag += 1) {
    if (owners[slotOf(String(tag))] === node) return [String(tag)];
  }
  return [];
}

/**
 * Which server of a Cluster keeps a key: the key, or the part of it in braces, hashes to one of 16,384 slots
 * (CRC-16/XMODEM), and each slot belongs to one primary.
 */
export const slotCount = 16_384;

interface SlotRange {
  readonly from: number;
  /** Inclusive. */
  readonly to: number;
  readonly primary: ServerAddress;
}

const polynomial = 0x1021;
const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc & 0x8000 ? polynomial : 0);
  return crc;
});
const encoder = new TextEncoder();

export function slotOf(key: string): number {
  const opening = key.indexOf('{');
  const closing = opening === -1 ? -1 : key.indexOf('}', opening + 1);
  const tag = closing > opening + 1 ? key.slice(opening + 1, closing) : key;
  let crc = 0;
  for (const byte of encoder.encode(tag)) crc = ((crc << 8) & 0xffff) ^ crcTable[(crc >> 8) ^ byte]!;
  return crc % slotCount;
}

/** Reads the answer to CLUSTER SLOTS. A server that does not know its own host is where it was asked. */
export function readSlots(reply: RedisReply, asked: ServerAddress): SlotRange[] {
  if (!Array.isArray(reply)) return [];
  return reply.flatMap(row => {
    if (!Array.isArray(row) || !Array.isArray(row[2])) return [];
    const [from, to, [host, port]] = row;
    return [
      {
        from: Number(from),
        to: Number(to),
        primary: { host: String(host || asked.host), port: Number(port) },
      },
    ];
  });
}
