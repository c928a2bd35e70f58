import { expect, test } from 'bun:test';
import { interleaved } from './rounds.ts';

test('contenders take turns and swap their order every round', async () => {
  const turns: string[] = [];
  const play = (name: string) => (round: number) => {
    turns.push(name + round);
    return round;
  };
  const figures = await interleaved(3, { a: play('a'), b: play('b') });
  expect(turns).toEqual(['a0', 'b0', 'b1', 'a1', 'a2', 'b2']);
  expect(figures).toEqual({ a: [0, 1, 2], b: [0, 1, 2] });
});
