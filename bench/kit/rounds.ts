/**
 * Contenders take turns, and every other round in the opposite order: whatever else the machine does, and
 * whatever warms up on the way, falls on all of them alike.
 */
export async function interleaved<Name extends string, Figures>(
  rounds: number,
  contenders: Readonly<Record<Name, (round: number) => Figures | Promise<Figures>>>,
): Promise<Record<Name, Figures[]>> {
  const names = Object.keys(contenders) as Name[];
  const figures = Object.fromEntries(names.map(name => [name, []])) as unknown as Record<Name, Figures[]>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      figures[name].push(await contenders[name](round));
    }
  }
  return figures;
}
