import { expect, test } from 'vitest';
import {
  mintBootstrapToken,
  revokeBootstrapToken,
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
  return { made, token: mintBootstrapToken({ create } as unknown as Kubernetes, 'general-0abc', AT_MS) };
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

/** An API server that holds Secrets by name. */
function secrets() {
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
  await revokeBootstrapToken(kubernetes, 'a');
  expect([...kept.values()].map(({ metadata }) => metadata)).toMatchObject([
    { annotations: { 'nodewright.dev/nodeclaim': 'b' } },
  ]);
  await revokeBootstrapToken(kubernetes, 'a');
  expect(kept.size).toBe(1);
});

test('tokens are taken back where they are, and nowhere else', async () => {
  const { kubernetes, kept, asked } = secrets();
  await mintBootstrapToken(kubernetes, 'a', AT_MS);
  const [name = ''] = kept.keys();
  asked.length = 0;
  await revokeBootstrapToken(kubernetes, 'a');
  expect(asked[0]).toBe(`delete kube-system/${name}`);
  expect(asked).toHaveLength(2);
});

test('a token that the API server refuses is none: another is minted next time', async () => {
  const failure = await mint({ kind: 'refused', reason: 'quota' }).token.catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RetryableError);
  expect(failure).toMatchObject({ message: 'minting a bootstrap token: quota' });
});

test('a claim whose launch minted ten tokens gets no eleventh', async () => {
  const failure = await mint({ kind: 'exists' }).token.catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RetryableError);
  expect(failure).toMatchObject({ message: expect.stringContaining('10 are there already') });
});
