/** Messages in as few writes as brokers take, which refuse what is too large at once. */

/** A message is never cut; one that is too large by itself is alone in its piece. */
export function* piecesOf<Message extends { readonly length: number }>(
  messages: readonly Message[],
  lengthMax: number,
): Generator<readonly Message[]> {
  let piece: Message[] = [];
  let length = 0;
  for (const message of messages) {
    if (piece.length > 0 && length + message.length > lengthMax) {
      yield piece;
      [piece, length] = [[], 0];
    }
    piece.push(message);
    length += message.length;
  }
  if (piece.length > 0) yield piece;
}
