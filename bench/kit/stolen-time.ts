/**
 * The steal time of the machine: CPU time of other virtual machines on the same hardware. A pause that they cause looks
 * like one of the server's, so a long load reports both. NaN if the system does not report it.
 */
import { readFileSync } from 'node:fs';

export interface MachineTime {
  readonly totalTicks: number;
  readonly stolenTicks: number;
}

export function machineTime(read = () => readFileSync('/proc/stat', 'utf8')): MachineTime {
  try {
    const [, user, nice, system, idle, waiting, hardware, software, stolen] = read()
      .split(/\s+/, 9)
      .map(Number);
    const used = [user, nice, system, idle, waiting, hardware, software, stolen] as readonly number[];
    return { totalTicks: used.reduce((sum, ticks) => sum + ticks, 0), stolenTicks: stolen! };
  } catch {
    return { totalTicks: Number.NaN, stolenTicks: Number.NaN };
  }
}

/** In percent of all cores. */
export function stolenPercent(from: MachineTime, to: MachineTime): number {
  return ((to.stolenTicks - from.stolenTicks) / Math.max(1, to.totalTicks - from.totalTicks)) * 100;
}
