/**
 * Does `work` for 0, 1, 2 … up to `count`, never more than `concurrency` at a time. After a failure nothing more is
 * started; running work ends before the failure is thrown.
 */
export async function inParallel(
  count: number,
  concurrency: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failure: { readonly error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    while (next < count && failure === undefined) {
      const index = next;
      next += 1;
      try {
        await work(index);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, worker));
  if (failure !== undefined) throw failure.error;
}
