/**
 * Java programs by Maven, which locates them, downloads their dependencies and verifies them. A tiny temporary project
 * names them as its only dependencies.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runs } from './unpacked-package.ts';

/** `group:artifact:version` */
type Coordinates = `${string}:${string}:${string}`;

/** Brings them and all that they depend on into the folder. */
export function fetchJars(maven: string, into: string, programs: readonly Coordinates[]): boolean {
  writeFileSync(join(into, 'pom.xml'), projectWith(programs));
  const isFetched = runs([maven, '-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=.'], into);
  rmSync(join(into, 'pom.xml'));
  return isFetched;
}

function projectWith(programs: readonly Coordinates[]): string {
  const dependencies = programs.map(coordinates => {
    const [group, artifact, version] = coordinates.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  });
  return `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>terse</groupId>
  <artifactId>engines-for-tests</artifactId>
  <version>1</version>
  <dependencies>${dependencies.join('')}</dependencies>
</project>
`;
}

export function javaVersion(java: string): number {
  const said = Bun.spawnSync([java, '-version']).stderr.toString();
  return Number(/version "(\d+)/.exec(said)?.[1] ?? 0);
}
