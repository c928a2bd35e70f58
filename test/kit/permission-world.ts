/** A server with one caller and one subject of every kind, for the permission matrix. */

import type { ActorName, Subject } from '../e2e/permission-matrix.ts';
import { callerOf } from './client.ts';
import { forceLinkState } from './stored-rows.ts';
import { startTerseProcess, type TerseProcess } from './terse-process.ts';

export type RequestHeaders = Readonly<Record<string, string>>;

export interface PermissionWorld {
  readonly url: string;
  /** The caller's credentials; a new session each time. */
  headersOf(actor: ActorName): Promise<RequestHeaders>;
  /** The id for the path, of a new subject each time; undefined if the path names none. */
  nameOf(subject: Subject): Promise<string | undefined>;
  stop(): Promise<unknown>;
}

const linkStates = ['disabled', 'expired', 'exhausted', 'quarantined', 'blocked'] as const;
const ownLinks: ReadonlySet<Subject> = new Set(['active', 'publicStats', 'deleted', ...linkStates]);

export async function createPermissionWorld(): Promise<PermissionWorld> {
  const terse: TerseProcess = await startTerseProcess({ env: { TERSE_LIMITS: 'off' } });
  const call = callerOf(terse.url);
  const post = async (path: string, body: unknown, key?: string) => {
    const answer = await call('POST', path, { body, ...(key !== undefined && { key }) });
    if (answer.status > 201) throw new Error(`${path} answered ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const createAccount = async (name: string, role = 'member'): Promise<string> =>
    (await post('/api/v1/accounts', { name, role, plan: 'unlimited' })).id;
  const createKey = async (accountId: string | undefined, scopes?: readonly string[]) =>
    post('/api/v1/keys', { name: 'of the matrix', accountId, scopes });

  const ownerId = await createAccount('owner');
  const suspendedId = await createAccount('suspended');
  const owner = await createKey(ownerId);
  const revoked = await createKey(ownerId);
  await call('DELETE', `/api/v1/keys/${revoked.id}`);
  const keys: Readonly<Partial<Record<ActorName, string>>> = {
    revoked: revoked.key,
    suspended: (await createKey(suspendedId)).key,
    narrow: (await createKey(ownerId, ['links:read'])).key,
    owner: owner.key,
    stranger: (await createKey(await createAccount('stranger'))).key,
    moderator: (await createKey(await createAccount('moderator', 'moderator'))).key,
    adminNarrow: (await createKey(undefined, ['links:read', 'links:write', 'stats:read'])).key,
    admin: (await createKey(undefined)).key,
  };
  await post(`/api/v1/accounts/${suspendedId}/suspend`, {});

  let latestKeyId: string | undefined;
  const openSession = async (): Promise<{ id: string; cookie: string }> => {
    const { headers, body } = await call('POST', '/api/v1/session', {
      key: undefined,
      body: { key: owner.key },
    });
    return { id: body.session.id, cookie: headers.get('set-cookie')!.split(';')[0]! };
  };
  /** One at a time: an account has a maximum of active keys. */
  const nextOwnersKey = async (): Promise<string> => {
    if (latestKeyId !== undefined) await call('DELETE', `/api/v1/keys/${latestKeyId}`);
    const { id } = await createKey(ownerId);
    latestKeyId = id;
    return id;
  };
  const createLink = async (subject: Subject): Promise<string> => {
    const publicStats = subject === 'publicStats';
    const { shortCode } = await post(
      '/api/v1/links',
      { longUrl: 'https://example.com/', publicStats },
      owner.key,
    );
    if (subject === 'deleted') await call('DELETE', `/api/v1/links/${shortCode}`, { key: owner.key });
    const state = linkStates.find(each => each === subject);
    if (state !== undefined) forceLinkState(terse.dataFolder, shortCode, state);
    return shortCode;
  };

  return {
    url: terse.url,
    async headersOf(actor) {
      if (actor === 'nobody') return {};
      const key = keys[actor];
      if (key !== undefined) return { Authorization: `Bearer ${key}` };
      const { cookie } = await openSession();
      const site = actor === 'session' ? 'same-origin' : 'cross-site';
      return { Cookie: cookie, 'Sec-Fetch-Site': site };
    },
    async nameOf(subject) {
      if (ownLinks.has(subject)) return createLink(subject);
      switch (subject) {
        case 'ownerless': {
          const made = await call('POST', '/api/v1/links', {
            key: undefined,
            body: { longUrl: 'https://a.example/' },
          });
          return made.body.shortCode;
        }
        case 'missing':
          return 'of-nobody';
        case 'ownersKey':
          return nextOwnersKey();
        case 'ownersSession':
          return (await openSession()).id;
        case 'blockEntry':
          return (await post('/api/v1/blocklist', { entry: 'removed.example' })).id;
        case 'otherAccount':
          return createAccount('other');
        default:
          return undefined;
      }
    },
    stop: () => terse.stop(),
  };
}
