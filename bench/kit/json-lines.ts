/** What a process says, one line of JSON after the other. */
export async function* jsonLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n')) {
      yield JSON.parse(text.slice(0, end));
      text = text.slice(end + 1);
    }
  }
}
