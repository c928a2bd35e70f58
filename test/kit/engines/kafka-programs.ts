/** Where Kafka is: its jars come by Maven into the project's cache. It runs on any Java from 17 on. */
import { join } from 'node:path';
import { type Found, once } from './found.ts';
import { fetchJars, javaVersion } from './maven-jars.ts';
import { cacheFolder, unpackOnce } from './unpacked-package.ts';

export interface KafkaProgram {
  /** The path of a broker's properties follows. */
  readonly command: readonly string[];
}

const version = '4.1.0';
/** The logger, with which the broker reports why it does not start. */
const loggerVersion = '1.7.36';
const javaVersionMin = 17;
const jar = `kafka_2.13-${version}.jar`;
const programs = [
  `org.apache.kafka:kafka_2.13:${version}`,
  `org.slf4j:slf4j-simple:${loggerVersion}`,
] as const;

export const findKafka = once((): Found<KafkaProgram> => {
  const [java, maven] = [Bun.which('java'), Bun.which('mvn')];
  if (java === null || javaVersion(java) < javaVersionMin) {
    return { reason: `no Java ${javaVersionMin} on PATH, which Kafka needs` };
  }
  const folder = join(cacheFolder, `kafka-${version}-${loggerVersion}`);
  if (!unpackOnce(folder, jar, into => maven !== null && fetchJars(maven, into, programs))) {
    return {
      reason: maven === null ? 'no Maven on PATH, by which Kafka comes' : 'Kafka cannot be had by Maven',
    };
  }
  // Brokers of tests have little data and run for seconds, on busy machines.
  const quick = ['-Xms64m', '-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto'];
  const options = [
    ...quick,
    '-Djava.net.preferIPv4Stack=true',
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=error',
  ];
  return { thing: { command: [java, ...options, '-cp', join(folder, '*'), 'kafka.Kafka'] } };
});
