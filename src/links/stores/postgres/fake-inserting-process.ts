/**
 * A process that inserts one link after the other, names each as soon as it is acknowledged, and never ends by itself.
 */
import { writeSync } from 'node:fs';
import { insertItem, sampleLink } from '../../store-samples.ts';
import { openStore } from './fake-database.ts';

if (import.meta.main) {
  const { store } = await openStore(process.argv[2]!);
  for (let number = 0; ; number += 1) {
    const code = `killed${number}`;
    await store.insert([insertItem(sampleLink(code))]);
    writeSync(1, `${code}\n`);
  }
}
