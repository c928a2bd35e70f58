/**
 * Where DynamoDB Local is: it comes by Maven into the project's cache. It runs on a Java that has its compiler, because a
 * launcher of ours makes it listen on loopback only, and on the processors that its libraries were built for.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scaled } from '../scale.ts';
import { type Found, once } from './found.ts';
import { fetchJars, javaVersion } from './maven-jars.ts';
import { cacheFolder, runs, unpackOnce } from './unpacked-package.ts';

export interface DynamoProgram {
  /** Options of DynamoDB Local follow. */
  readonly command: readonly string[];
}

const version = '2.6.1';
const javaVersionMin = 17;
const jar = `DynamoDBLocal-${version}.jar`;
const launcher = join(import.meta.dir, 'dynamodb-loopback.java');
/** It starts in half the time when it collects garbage in one thread and compiles without much thought. */
const quickStart = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
/** It writes a half more when it thinks, which pays over a million links. */
const longRun = ['-Xmx4g', '-XX:+UseParallelGC'];

export const findDynamo = once((): Found<DynamoProgram> => {
  if (process.arch !== 'x64') return { reason: `DynamoDB Local has no libraries for ${process.arch}` };
  const [java, maven] = [Bun.which('java'), Bun.which('mvn')];
  const compiler = ['--describe-module', 'jdk.compiler'];
  if (java === null || javaVersion(java) < javaVersionMin || !runs([java, ...compiler], '.')) {
    return { reason: `no Java ${javaVersionMin} with a compiler on PATH, which DynamoDB Local needs` };
  }
  const folder = join(cacheFolder, `dynamodb-${version}`);
  const programs = [`com.amazonaws:DynamoDBLocal:${version}`] as const;
  if (!unpackOnce(folder, jar, into => maven !== null && fetchJars(maven, into, programs))) {
    return {
      reason:
        maven === null
          ? 'no Maven on PATH, by which DynamoDB Local comes'
          : 'DynamoDB Local cannot be had by Maven',
    };
  }
  const classes = compiledLauncher(java, folder);
  if (classes === undefined) return { reason: 'the launcher of DynamoDB Local does not compile' };
  const options = [
    ...scaled(quickStart, longRun),
    '-Djava.net.preferIPv4Stack=true',
    `-Djava.library.path=${folder}`,
  ];
  const path = [classes, join(folder, '*')].join(':');
  return { thing: { command: [java, ...options, '-cp', path, 'Loopback', '-disableTelemetry'] } };
});

/** Once for every text of the launcher. */
function compiledLauncher(java: string, home: string): string | undefined {
  const textHash = Bun.hash(readFileSync(launcher)).toString(36);
  const folder = join(cacheFolder, `dynamodb-launcher-${textHash}`);
  // The compiler, unlike the machine, takes what libraries lie beside the jars for jars that are broken.
  const jars = [...new Bun.Glob('*.jar').scanSync({ cwd: home, absolute: true })].join(':');
  const compile = [java, '-m', 'jdk.compiler/com.sun.tools.javac.Main', '-cp', jars, '-d', '.', launcher];
  return unpackOnce(folder, 'Loopback.class', into => runs(compile, into)) ? folder : undefined;
}
