import { expect, test } from 'vitest';
import {
  createTokens,
  mintBootstrapToken,
  revokeBootstrapTokens,
} from '../../../../../shared/adapters/azure/bootstrap/bootstrap-token.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import type { CreateOutcome, Kubernetes } from '../../../../../shared/ports/kubernetes.ts';

const AT_MS = Date.UTC(2026, 10, 22, 9, 0, 0);

interface Secret {
  readonly metadata: { readonly name: string; readonly annotations?: object };
  readonly stringData: Readonly<Record<string, string>>;
}

/** Mints tokens; the API server answers each as the test says. */
function mint(outcome: CreateOutcome<object> = { kind: 'created', object: {} }) {
  const made: Array<readonly [string, Secret]> = [];
  const create = (kind: string, object: Secret): Promise<CreateOutcome<object>> => {
    made.push([kind, object]);
    return Promise.resolve(outcome);
  };
  const patch = () => Promise.resolve({ kind: 'written', object: {} });
  return { made, token: mintBootstrapToken({ create, patch } as unknown as Kubernetes, 'general-0abc', AT_MS) };
}

test('a token is a Secret of its kind that says whose it is, ends in half an hour and lets a node ask for a certificate', async () => {
  const { made, token } = mint();
  const [id = '', secret = ''] = (await token).split('.');
  expect(await token).toMatch(/^[0-9a-z]{6}\.[0-9a-f]{16}$/);
  expect(made).toEqual([
    [
      'Secret',
      {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'bootstrap.kubernetes.io/token',
        metadata: {
          name: `bootstrap-token-${id}`,
          namespace: 'kube-system',
          labels: { 'app.kubernetes.io/managed-by': 'nodewright' },
          annotations: { 'nodewright.dev/nodeclaim': 'general-0abc' },
        },
        stringData: {
          'token-id': id,
          'token-secret': secret,
          expiration: '2026-11-22T09:30:00.000Z',
          'usage-bootstrap-authentication': 'true',
          'auth-extra-groups': 'system:bootstrappers:nodewright',
        },
      },
    ],
  ]);
});

/** An API server that holds Secrets by name, and these NodeClaims. */
function secrets(claims: ReadonlySet<string> = new Set(['a', 'general-0abc'])) {
  const kept = new Map<string, Secret>();
  const asked: Array<string> = [];
  const kubernetes = {
    create: (_kind: string, object: Secret): Promise<CreateOutcome<object>> => {
      const { name } = object.metadata;
      asked.push(`create ${name}`);
      if (kept.has(name)) return Promise.resolve({ kind: 'exists' });
      kept.set(name, object);
      return Promise.resolve({ kind: 'created', object });
    },
    patch: (kind: string, { name }: { readonly name: string }, patch: object) => {
      asked.push(`patch ${kind} ${name} ${JSON.stringify(patch)}`);
      return Promise.resolve(claims.has(name) ? { kind: 'written', object: {} } : { kind: 'not-found' });
    },
    delete: (_kind: string, { name, namespace }: { readonly name: string; readonly namespace: string }) => {
      asked.push(`delete ${namespace}/${name}`);
      return Promise.resolve(kept.delete(name) ? 'deleted' : 'not-found');
    },
  } as unknown as Kubernetes;
  return { kubernetes, kept, asked };
}

test('no two machines have one token', async () => {
  const { kubernetes, kept } = secrets();
  const claims = Array.from({ length: 20 }, (_, index) => `general-${index}`);
  const tokens = await Promise.all(claims.map((claim) => mintBootstrapToken(kubernetes, claim, AT_MS)));
  expect(new Set(tokens.map((token) => token.split('.')[0])).size).toBe(20);
  expect(new Set(tokens.map((token) => token.split('.')[1])).size).toBe(20);
  expect(kept.size).toBe(20);
});

test('a launch that is delivered again mints another, as its machine may have the first', async () => {
  const { kubernetes, kept } = secrets();
  const first = await mintBootstrapToken(kubernetes, 'general-0abc', AT_MS);
  const second = await mintBootstrapToken(kubernetes, 'general-0abc', AT_MS);
  expect(second).not.toBe(first);
  expect(kept.size).toBe(2);
});

test('all tokens of a claim are taken back, and none of another', async () => {
  const { kubernetes, kept } = secrets();
  for (const claim of ['a', 'a', 'a', 'b']) await mintBootstrapToken(kubernetes, claim, AT_MS);
  await revokeBootstrapTokens(kubernetes, 'a', true);
  expect([...kept.values()].map(({ metadata }) => metadata)).toMatchObject([
    { annotations: { 'nodewright.dev/nodeclaim': 'b' } },
  ]);
  await revokeBootstrapTokens(kubernetes, 'a', true);
  expect(kept.size).toBe(1);
});

test('the only token of a claim is taken back where it is, and nothing is asked for elsewhere', async () => {
  const { kubernetes, kept, asked } = secrets();
  await mintBootstrapToken(kubernetes, 'a', AT_MS);
  const [name = ''] = kept.keys();
  asked.length = 0;
  await revokeBootstrapTokens(kubernetes, 'a', false);
  expect([asked, kept.size]).toEqual([[`delete kube-system/${name}`], 0]);
});

test('a claim says that it has several tokens before it has a second', async () => {
  const { kubernetes, asked } = secrets();
  await mintBootstrapToken(kubernetes, 'a', AT_MS);
  expect(asked.filter((one) => one.startsWith('patch'))).toEqual([]);
  asked.length = 0;
  await mintBootstrapToken(kubernetes, 'a', AT_MS);
  const said = 'patch NodeClaim a {"metadata":{"annotations":{"nodewright.dev/several-tokens":"true"}}}';
  expect(asked.map((one) => (one.startsWith('create') ? 'create' : one))).toEqual(['create', said, 'create']);
});

test('a claim that cannot say so gets no second token', async () => {
  const { kubernetes, kept } = secrets(new Set());
  await mintBootstrapToken(kubernetes, 'a', AT_MS);
  await expect(mintBootstrapToken(kubernetes, 'a', AT_MS)).rejects.toThrow(RetryableError);
  expect(kept.size).toBe(1);
});

test('a process mints one token for all offerings that it tries for a claim, and another five minutes later', async () => {
  const { kubernetes, kept } = secrets();
  let nowMs = AT_MS;
  const tokenFor = createTokens(kubernetes, () => nowMs);
  const first = await tokenFor('a');
  nowMs += 5 * 60_000 - 1;
  expect([await tokenFor('a'), kept.size]).toEqual([first, 1]);
  expect(await tokenFor('b')).not.toBe(first);
  nowMs += 1;
  expect(await tokenFor('a')).not.toBe(first);
  expect(kept.size).toBe(3);
});

test('a token that the API server refuses is none: another is minted next time', async () => {
  const key = { name: 'a', namespace: 'kube-system' };
  const refusal = { act: 'create', kind: 'Secret', key, reason: 'quota', policy: null } as const;
  const failure = await mint({ kind: 'refused', reason: 'quota', refusal }).token.catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RetryableError);
  expect(failure).toMatchObject({ message: 'minting a bootstrap token: quota' });
});

test('a claim whose launch minted ten tokens gets no eleventh', async () => {
  const failure = await mint({ kind: 'exists' }).token.catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RetryableError);
  expect(failure).toMatchObject({ message: expect.stringContaining('10 exist already') });
});
