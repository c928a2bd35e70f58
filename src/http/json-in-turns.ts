/**
 * A long list as JSON, made and sent a piece at a time so that redirects get their turn in between. Each item is in the
 * spelling of the request already.
 */
import { type Clock, Turns } from '../base/clock.ts';
import { jsonPieces, jsonText, spelled } from './route.ts';
import type { RequestSpelling } from './spellings.ts';

const itemsPerTurn = 200;
/** In characters; an answer that is shorter is sent whole. */
const pieceLength = 64 * 1024;

export interface JsonListOptions<Item> {
  readonly clock: Clock;
  readonly spelling: RequestSpelling;
  /** The field that has the list. */
  readonly name: string;
  readonly items: readonly Item[];
  readonly viewOf: (item: Item, index: number) => unknown;
  /** The other fields. */
  readonly rest?: Readonly<Record<string, unknown>>;
}

export async function jsonList<Item>(options: JsonListOptions<Item>): Promise<Response> {
  const { clock, spelling, name, items, viewOf, rest = {} } = options;
  const turns = new Turns(clock, itemsPerTurn);
  const pieces: Uint8Array[] = [];
  let text = `{"${name}":[`;
  for (const [index, item] of items.entries()) {
    if (!turns.hasRoom()) await turns.next();
    text += `${index === 0 ? '' : ','}${JSON.stringify(spelling.spell(viewOf(item, index)))}`;
    if (text.length < pieceLength) continue;
    pieces.push(Buffer.from(text));
    text = '';
  }
  const others = JSON.stringify(spelling.spell(rest)).slice(1);
  text += others === '}' ? ']}' : `],${others}`;
  return spelled(pieces.length === 0 ? jsonText(text) : jsonPieces([...pieces, Buffer.from(text)]));
}
