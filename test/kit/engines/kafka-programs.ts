/**
 * Where Kafka is: its jars come by Maven, which knows from where and checks them, into the project's cache. A tiny
 * project that names the broker as its only dependency is written for that and thrown away. It runs on any Java from 17 on.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Found, once } from './found.ts';
import { cacheFolder, runs, unpackOnce } from './unpacked-package.ts';

export interface KafkaProgram {
  /** The path of a broker's properties follows. */
  readonly command: readonly string[];
}

const version = '4.1.0';
/** By which the broker says why it does not start. */
const loggerVersion = '1.7.36';
const javaVersionMin = 17;
const jar = `kafka_2.13-${version}.jar`;

export const findKafka = once((): Found<KafkaProgram> => {
  const [java, maven] = [Bun.which('java'), Bun.which('mvn')];
  if (java === null || javaVersion(java) < javaVersionMin) {
    return { reason: `no Java ${javaVersionMin} on PATH, which Kafka needs` };
  }
  const folder = join(cacheFolder, `kafka-${version}-${loggerVersion}`);
  if (!unpackOnce(folder, jar, into => maven !== null && fetchJars(maven, into))) {
    return {
      reason: maven === null ? 'no Maven on PATH, by which Kafka comes' : 'Kafka cannot be had by Maven',
    };
  }
  // Brokers of tests hold little and live for seconds, on machines that have other things to do.
  const quick = ['-Xms64m', '-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto'];
  const options = [
    ...quick,
    '-Djava.net.preferIPv4Stack=true',
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=error',
  ];
  return { thing: { command: [java, ...options, '-cp', join(folder, '*'), 'kafka.Kafka'] } };
});

function javaVersion(java: string): number {
  const said = Bun.spawnSync([java, '-version']).stderr.toString();
  return Number(/version "(\d+)/.exec(said)?.[1] ?? 0);
}

function fetchJars(maven: string, into: string): boolean {
  writeFileSync(join(into, 'pom.xml'), project);
  const copy = [maven, '-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=.'];
  const isFetched = runs(copy, into);
  rmSync(join(into, 'pom.xml'));
  return isFetched;
}

const dependency = (group: string, artifact: string, itsVersion: string): string =>
  `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${itsVersion}</version></dependency>`;

const project = `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>terse</groupId>
  <artifactId>kafka-for-tests</artifactId>
  <version>1</version>
  <dependencies>
    ${dependency('org.apache.kafka', 'kafka_2.13', version)}
    ${dependency('org.slf4j', 'slf4j-simple', loggerVersion)}
  </dependencies>
</project>
`;
