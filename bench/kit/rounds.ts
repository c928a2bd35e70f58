/**
 * Contenders take turns, in the opposite order every other round, so that disturbances and warm-up affect all of them
 * alike.
 */
type Contenders = Readonly<Record<string, (round: number) => unknown>>;

/** What each contender returned, by round. */
type Rounds<Of extends Contenders> = { [Name in keyof Of]: Awaited<ReturnType<Of[Name]>>[] };

export async function interleaved<Of extends Contenders>(
  rounds: number,
  contenders: Of,
): Promise<Rounds<Of>> {
  const names = Object.keys(contenders);
  const figures: Record<string, unknown[]> = Object.fromEntries(names.map(name => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      figures[name]!.push(await contenders[name]!(round));
    }
  }
  return figures as Rounds<Of>;
}
