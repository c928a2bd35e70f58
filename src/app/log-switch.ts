/**
 * SIGUSR2 makes the log tell everything, and the next one makes it tell as much as the settings say again: whoever looks
 * into trouble need not restart what is in trouble. A signal, because it works on whoever hangs too little to die and
 * too much to answer, and needs no key.
 */
import type { Log, LogLevel } from '../ops/log.ts';

/** `onSwitched` hears of each change. */
export function switchLogBySignal(log: Log, onSwitched: (level: LogLevel) => void = () => {}): void {
  const usual = log.level;
  process.on('SIGUSR2', () => onSwitched(switchLog(log, usual)));
}

export function switchLog(log: Log, usual: LogLevel): LogLevel {
  // Where everything is told already, a little less is the only change there is.
  const other = usual === 'debug' ? 'info' : 'debug';
  const isBack = log.level !== usual;
  const level = isBack ? usual : other;
  if (!isBack) log.setLevel(level);
  log.warn('the log level is changed by SIGUSR2', { level });
  log.setLevel(level);
  return level;
}
