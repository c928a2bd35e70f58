/**
 * Finds DynamoDB Local, which Maven downloads into the project's cache. It needs a Java with its compiler, because a
 * launcher of ours makes it listen on loopback only, and a processor that its libraries support.
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
/** Halves the time to start: single-threaded garbage collection and no optimising compiler. */
const quickStart = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
/** Writes half as much again, which pays off for a million links. */
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

/** Compiles each version of the launcher once. */
function compiledLauncher(java: string, home: string): string | undefined {
  const textHash = Bun.hash(readFileSync(launcher)).toString(36);
  const folder = join(cacheFolder, `dynamodb-launcher-${textHash}`);
  // Only jars: the compiler, unlike the JVM, mistakes the native libraries beside them for broken jars.
  const jars = [...new Bun.Glob('*.jar').scanSync({ cwd: home, absolute: true })].join(':');
  const compile = [java, '-m', 'jdk.compiler/com.sun.tools.javac.Main', '-cp', jars, '-d', '.', launcher];
  return unpackOnce(folder, 'Loopback.class', into => runs(compile, into)) ? folder : undefined;
}
