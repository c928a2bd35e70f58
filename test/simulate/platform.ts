/** The platform's own timers, clocks and random numbers, which a simulation replaces. */
import type { Kernel, Party } from './kernel.ts';

/**
 * Replaces the platform's own time and randomness by those of the simulation, so that code which bypasses the ports is
 * simulated too, and no run depends on the machine. The returned function restores them.
 */
export function holdPlatform(kernel: Kernel): () => void {
  const own = {
    setImmediate: globalThis.setImmediate,
    setTimeout: globalThis.setTimeout,
    setInterval: globalThis.setInterval,
    clearImmediate: globalThis.clearImmediate,
    clearTimeout: globalThis.clearTimeout,
    clearInterval: globalThis.clearInterval,
    dateNow: Date.now,
    performanceNow: performance.now,
    mathRandom: Math.random,
    getRandomValues: crypto.getRandomValues,
  };
  const partyNow = (): Party => kernel.current;
  const timer = (cancel: () => void) => Object.assign(cancel, { unref: () => {}, ref: () => {} });
  // A timer from before the simulation is the platform's own.
  const clearing = (clearOwn: (id: never) => void) =>
    ((id?: unknown) => void (typeof id === 'function' ? id() : clearOwn(id as never))) as never;
  globalThis.setImmediate = ((task: () => void) => timer(partyNow().after(0, task))) as never;
  globalThis.setTimeout = ((task: () => void, delayMs = 0) =>
    timer(partyNow().clock().after(delayMs, task))) as never;
  globalThis.setInterval = ((task: () => void, periodMs = 1) =>
    timer(partyNow().clock().every(periodMs, task))) as never;
  globalThis.clearImmediate = clearing(own.clearImmediate);
  globalThis.clearTimeout = clearing(own.clearTimeout);
  globalThis.clearInterval = clearing(own.clearInterval);
  Date.now = () => Math.floor(kernel.nowMs);
  performance.now = () => kernel.nowMs - kernel.startMs;
  Math.random = () => kernel.random.float();
  crypto.getRandomValues = <Bytes>(bytes: Bytes): Bytes => {
    const view = bytes as unknown as Uint8Array;
    view.set(kernel.random.bytes(view.length));
    return bytes;
  };
  return () => {
    globalThis.setImmediate = own.setImmediate;
    globalThis.setTimeout = own.setTimeout;
    globalThis.setInterval = own.setInterval;
    globalThis.clearImmediate = own.clearImmediate;
    globalThis.clearTimeout = own.clearTimeout;
    globalThis.clearInterval = own.clearInterval;
    Date.now = own.dateNow;
    performance.now = own.performanceNow;
    Math.random = own.mathRandom;
    crypto.getRandomValues = own.getRandomValues;
  };
}
