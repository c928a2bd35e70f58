import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  AclOperations,
  AclPermissionTypes,
  Admin,
  ResourcePatternTypes,
  ResourceTypes,
} from '@platformatic/kafka';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { freeEnginePorts } from '../../../test/kit/engines/free-port.ts';
import { type KafkaEngine, sharedKafka, startKafka } from '../../../test/kit/engines/kafka.ts';
import { selfSigned } from '../../../test/kit/self-signed.ts';
import { until } from '../../../test/kit/until.ts';
import { systemClock } from '../../base/clock.ts';
import type { Finding } from '../../base/finding.ts';
import { HeadBook, headsTopic } from '../../clicks/logs/kafka-heads.ts';
import { parseKafkaAddress } from '../../engines/kafka/address.ts';
import { examineKafka } from '../../engines/kafka/doctor.ts';
import { openKafkaReader } from '../../engines/kafka/reader.ts';
import { kafkaGroups, kafkaTopicPlans, type StreamConfig, setUp } from '../setup.ts';
import { findingOf, verdictsOf } from './fake-verdicts.ts';

const clock = systemClock;

function settingsFor(stream: string, more: Partial<StreamConfig> = {}) {
  const store = { links: 'memory', data: './data', stats: 'sqlite' } as const;
  return {
    ...store,
    stream,
    clicks: true,
    clickDays: 90,
    writes: 'direct',
    archive: undefined,
    ...more,
  } as const;
}

function look(stream: string, more: Partial<StreamConfig> = {}): Promise<Finding[]> {
  const config = settingsFor(stream, more);
  return examineKafka({ url: stream, plans: kafkaTopicPlans(config), groups: kafkaGroups(config), clock });
}

async function prepare(stream: string, more: Partial<StreamConfig> = {}) {
  const [, kafka] = await Array.fromAsync(setUp(settingsFor(stream, more)));
  return kafka!;
}

async function asAdmin(stream: string, work: (admin: Admin) => Promise<unknown>): Promise<void> {
  const bootstrapBrokers = [...parseKafkaAddress(stream).servers];
  const admin = new Admin({ clientId: 'test', bootstrapBrokers, retries: 5 });
  await work(admin).finally(() => admin.close());
}

const makeTopic = (stream: string, partitions: number, configs: Record<string, string> = {}): Promise<void> =>
  asAdmin(stream, async admin => {
    const { topic } = parseKafkaAddress(stream);
    await admin.createTopics({
      topics: [topic],
      partitions,
      replicas: 1,
      configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
    });
    await until('the topic', async () => (await admin.listTopics()).includes(topic));
  });

/** Leaves out the latency, which depends on the machine. */
function verdicts(findings: readonly Finding[]) {
  const { latency: _latency, ...others } = verdictsOf(findings);
  return others;
}

const nothingWrong = { brokers: 'ok', topic: 'ok', reading: 'ok', writing: 'ok', group: 'ok' } as const;

test('each broker that is down is one finding, which names no secret', async () => {
  const findings = await look('kafka://terse:hunter2@127.0.0.1:1,127.0.0.1:2/clicks');
  expect(findings).toMatchObject([
    { subject: 'kafka', check: 'reachable', verdict: 'fail' },
    { subject: 'kafka', check: 'reachable', verdict: 'fail' },
  ]);
  expect(findings[0]?.detail).toContain('ECONNREFUSED');
  expect(findings[0]?.fix).toStartWith('start Kafka, or correct the hosts and ports in TERSE_STREAM');
  expect(JSON.stringify(findings)).not.toContain('hunter2');
});

test('a port that speaks another protocol is not mistaken for Kafka', async () => {
  const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('hello') });
  const [finding] = await look(`kafka://127.0.0.1:${other.port}/clicks`);
  await other.stop(true);
  expect(finding?.detail).toContain('it does not speak Kafka');
  expect(finding?.fix).toBe('correct the host and the port in TERSE_STREAM');
});

describeWithEngine('kafka', 'the doctor of Kafka', () => {
  test('reports missing topics, and finds nothing wrong once they are created', async () => {
    const stream = (await sharedKafka()).freshTopicUrl({ partitions: 3 });
    const { topic } = parseKafkaAddress(stream);
    const missing = await look(stream, { writes: 'queued' });
    expect(missing.filter(({ check }) => check === 'topic')).toHaveLength(4);
    expect(findingOf(missing, 'topic')).toMatchObject({
      verdict: 'warn',
      detail: `${topic} does not exist, or this client may not see it`,
    });
    expect(findingOf(missing, 'topic')?.fix).toStartWith('run `terse setup` to create it');

    const made = await prepare(stream, { writes: 'queued' });
    expect(made.done).toEqual([
      `made the topic ${topic} with 3 partitions`,
      `made the topic ${topic}-heads with 1 partition`,
      `made the topic ${topic}-links with 3 partitions`,
      `made the topic ${topic}-links-dead with 1 partition`,
    ]);
    expect(made.differences).toEqual([]);
    expect(verdicts(await look(stream, { writes: 'queued' }))).toEqual(nothingWrong);
    const again = await prepare(stream, { writes: 'queued' });
    expect(again).toMatchObject({ done: [], differences: [] });
    expect(again.found).toContain(`the topic ${topic} has 3 partitions, 1 copy`);
  });

  test('finds out without a message whether the queue of links is writable', async () => {
    const stream = (await sharedKafka()).freshTopicUrl({ partitions: 1 });
    const queue = { clicks: false, writes: 'queued' } as const;
    await prepare(stream, queue);
    const findings = await look(stream, queue);
    expect(findingOf(findings, 'writing')).toMatchObject({
      verdict: 'ok',
      detail: 'allowed on all topics; no message was written',
    });
    const reader = openKafkaReader(parseKafkaAddress(stream), { clock });
    const { topic } = parseKafkaAddress(stream);
    expect((await reader.offsets(`${topic}-links`, 'latest')).get(0)).toBe(0);
    await reader.close();
  });

  test('writes only messages that readers of announcements ignore', async () => {
    const stream = (await sharedKafka()).freshTopicUrl({ partitions: 1 });
    await prepare(stream);
    expect(verdicts(await look(stream))).toEqual(nothingWrong);
    const address = parseKafkaAddress(stream);
    const reader = openKafkaReader(address, { clock });
    const written = await reader.offsets(headsTopic(address.topic), 'latest');
    expect(written.get(0)).toBeGreaterThan(0);
    expect(await new HeadBook(reader, address.topic, clock).heads()).toEqual([]);
    await reader.close();
  });

  test('rejects more copies than there are brokers, in setup too', async () => {
    const stream = `${(await sharedKafka()).freshTopicUrl()}&replication=3`;
    expect(findingOf(await look(stream), 'replication')).toMatchObject({
      verdict: 'fail',
      detail: 'replication=3 needs 3 brokers, and there is 1',
      fix: 'start 2 more, or set replication=1 in TERSE_STREAM',
    });
    await expect(prepare(stream)).rejects.toThrow(
      /INVALID_REPLICATION_FACTOR.*\nstart more brokers, or lower replication=/,
    );
    const fixed = stream.replace('replication=3', 'replication=1');
    await prepare(fixed);
    expect(verdicts(await look(fixed))).toEqual(nothingWrong);
  });

  test('rejects more in-sync copies than there are copies', async () => {
    const stream = `${(await sharedKafka()).freshTopicUrl()}&minInsync=2`;
    expect(findingOf(await look(stream), 'replication')?.detail).toContain('no write would be acknowledged');
    await makeTopic(stream, 4, { 'min.insync.replicas': '2' });
    const finding = findingOf(await look(stream), 'acknowledgement');
    expect(finding?.detail).toContain('has min.insync.replicas=2 and 1 copy: no write is acknowledged');
    expect(finding?.fix).toMatch(/kafka-configs\.sh .*--add-config min\.insync\.replicas=1$/);
  });

  test('compares a topic with the settings, in setup too', async () => {
    const stream = (await sharedKafka()).freshTopicUrl({ partitions: 6 });
    const { topic } = parseKafkaAddress(stream);
    await makeTopic(stream, 2, { 'retention.ms': '3600000', 'retention.bytes': '1000000' });
    const { done, differences = [] } = await prepare(stream);
    expect(done).toEqual([`made the topic ${topic}-heads with 1 partition`]);
    expect(differences).toHaveLength(3);
    const findings = await look(stream);
    expect(findingOf(findings, 'partitions')).toMatchObject({ detail: `${topic} has 2 instead of 6` });
    expect(findingOf(findings, 'partitions')?.fix).toContain(`--alter --topic ${topic} --partitions 6`);
    expect(findingOf(findings, 'retention')?.detail).toContain('for 1 h, and they are needed for 168 h');
    expect(verdicts(findings)).toEqual({ ...nothingWrong, partitions: 'warn', retention: 'warn' });

    await asAdmin(stream, admin =>
      admin.createPartitions({ topics: [{ name: topic, count: 6, assignments: null }] }),
    );
    await until('the partitions', async () => findingOf(await look(stream), 'partitions') === undefined);
    expect(verdicts(await look(stream))).toEqual({ ...nothingWrong, retention: 'warn' });
  });

  test('rejects a queue of links with limited retention, and clicks that are compacted', async () => {
    const stream = (await sharedKafka()).freshTopicUrl({ partitions: 1 });
    const { topic } = parseKafkaAddress(stream);
    await makeTopic(stream, 1, { 'cleanup.policy': 'compact' });
    await makeTopic(stream.replace(topic, `${topic}-links`), 1);
    const findings = await look(stream, { writes: 'queued' });
    expect(findingOf(findings, 'cleanup')).toMatchObject({ verdict: 'fail' });
    expect(findingOf(findings, 'retention')).toMatchObject({ verdict: 'fail' });
    expect(findingOf(findings, 'retention')?.fix).toContain(`${topic}-links --add-config retention.ms=-1`);
  });
});

describeWithEngine(
  'kafka',
  'the doctor of a Kafka with passwords and TLS',
  () => {
    const [saslPort, tlsPort] = freeEnginePorts(2);
    const { certificate, key } = selfSigned();
    const inOneLine = (pem: string): string => pem.replaceAll('\n', '\\n');
    let broker: KafkaEngine;
    beforeAll(async () => {
      const jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_terse="right";';
      broker = await startKafka({
        listeners: { SASL_PLAINTEXT: saslPort!, SSL: tlsPort! },
        settings: {
          'listener.name.sasl_plaintext.sasl.enabled.mechanisms': 'PLAIN',
          'listener.name.sasl_plaintext.plain.sasl.jaas.config': jaas,
          'listener.name.ssl.ssl.keystore.type': 'PEM',
          'listener.name.ssl.ssl.keystore.certificate.chain': inOneLine(certificate),
          'listener.name.ssl.ssl.keystore.key': inOneLine(key),
          'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
          'super.users': 'User:ANONYMOUS',
          'allow.everyone.if.no.acl.found': 'true',
          // The default is 3, which one broker cannot satisfy.
          'offsets.topic.replication.factor': '3',
        },
      });
    });
    afterAll(() => broker.stop());
    const reasonAt = async (stream: string): Promise<Pick<Finding, 'detail' | 'fix'>> => {
      const findings = await look(stream);
      expect(findings).toHaveLength(1);
      expect(findings[0]).toMatchObject({ check: 'reachable', verdict: 'fail' });
      return findings[0]!;
    };

    test('distinguishes a wrong password from a missing one, and accepts the right one', async () => {
      const at = (login: string) => `kafka://${login}127.0.0.1:${saslPort}/clicks?login=plain`;
      const wrong = await reasonAt(at('terse:wrong@'));
      expect(wrong.detail).toContain('it refuses the login');
      expect(wrong.fix).toBe('correct the user or the password in TERSE_STREAM');
      expect((await reasonAt(at(''))).fix).toContain('kafka://USER:PASSWORD@');
      const mechanism = await reasonAt(at('terse:right@').replace('plain', 'scram-sha-256'));
      expect(mechanism.fix).toStartWith('correct ?login= in TERSE_STREAM');
      expect(verdicts(await look(at('terse:right@')))).toMatchObject({ brokers: 'ok', topic: 'warn' });
    });

    test('finds whether a port is encrypted, and who signed its certificate', async () => {
      expect(await reasonAt(`kafka://127.0.0.1:${tlsPort}/clicks`)).toMatchObject({
        detail: `127.0.0.1:${tlsPort}: it speaks TLS`,
        fix: 'write TERSE_STREAM as kafkas://…',
      });
      expect(await reasonAt(`kafkas://${broker.address}/clicks`)).toMatchObject({
        detail: `${broker.address}: it speaks Kafka without TLS`,
        fix: 'write TERSE_STREAM as kafka://…',
      });
      expect((await reasonAt(`kafkas://127.0.0.1:${tlsPort}/clicks`)).fix).toContain('NODE_EXTRA_CA_CERTS');
    });

    test('finds which topics are not writable, and that one is not visible', async () => {
      const topic = `limited-${Bun.randomUUIDv7()}`;
      const queue = { clicks: false, writes: 'queued' } as const;
      const open = `kafka://${broker.address}/${topic}?partitions=1`;
      const limited = `kafka://terse:right@127.0.0.1:${saslPort}/${topic}?login=plain&partitions=1`;
      await prepare(open, queue);
      const plans = kafkaTopicPlans(settingsFor(limited, queue));
      const check = async (name: string) =>
        findingOf(await examineKafka({ url: limited, plans, groups: [], clock }), name);
      const allow = (name: string, principal: string) => ({
        resourceType: ResourceTypes.TOPIC,
        resourceName: name,
        resourcePatternType: ResourcePatternTypes.LITERAL,
        principal,
        host: '*',
        operation: AclOperations.READ,
        permissionType: AclPermissionTypes.ALLOW,
      });
      await asAdmin(open, admin => admin.createAcls({ creations: [allow(`${topic}-links`, 'User:terse')] }));
      await until('the rule', async () => (await check('writing'))?.verdict === 'fail');
      expect(await check('writing')).toMatchObject({
        detail: `not allowed to write to ${topic}-links`,
        fix: expect.stringContaining('allow User:terse to Describe, Read, Write'),
      });
      const dead = `${topic}-links-dead`;
      await asAdmin(open, admin => admin.createAcls({ creations: [allow(dead, 'User:other')] }));
      await until('the rule', async () => (await check('topic'))?.verdict === 'warn');
      const hidden = await check('topic');
      expect(hidden?.detail).toBe(`${dead} does not exist, or User:terse may not see it`);
      expect(hidden?.fix).toContain('if it exists, allow User:terse to Describe');
    });

    test('finds that partitions cannot be shared, and why', async () => {
      expect(findingOf(await look(`kafka://${broker.address}/clicks`), 'group')).toMatchObject({
        verdict: 'fail',
        fix: 'set offsets.topic.replication.factor=1 on the brokers, or start 2 more: it is 3',
      });
    });

    test('does not wait for a broker that hangs', async () => {
      broker.pause();
      const { detail } = await reasonAt(`kafka://${broker.address}/clicks`);
      broker.resume();
      expect(detail).toContain('it accepts connections and says nothing');
    });
  },
  { own: true },
);
