/** What a code costs: from an id to its characters, and back. */
import { seededRandom } from '../../src/base/random.ts';
import { createCodeSpace } from '../../src/codes/code-space.ts';
import { measure } from '../kit/measure.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Scenario } from '../kit/scenario.ts';

const lengths = [6, 7, 12];
const operations = 50_000;

export const permutation: Scenario = {
  name: 'permutation',
  summary: 'encoding and decoding codes',
  async run({ options }) {
    const rows = [];
    for (const length of lengths) {
      const space = createCodeSpace(seededRandom(length).bytes(32), length);
      const codes = Array.from({ length: operations }, (_, id) => space.encode(id));
      const { encode, decode } = await interleaved(options.rounds, {
        encode: () => nsPerOperation(id => space.encode(id).length),
        decode: () => nsPerOperation(id => space.decode(codes[id]!)!),
      });
      rows.push([String(length), measure(encode), measure(decode)]);
    }
    return {
      tables: [
        { title: 'Keyed permutation and Base62', columns: ['characters', 'encode ns', 'decode ns'], rows },
      ],
    };
  },
};

function nsPerOperation(operate: (id: number) => number): number {
  let sum = 0;
  const startedNs = Bun.nanoseconds();
  for (let id = 0; id < operations; id += 1) sum += operate(id);
  const elapsedNs = Bun.nanoseconds() - startedNs;
  // Using the sum keeps the loop from being optimised away.
  if (sum < 0) throw new Error('ids are never negative');
  return elapsedNs / operations;
}
