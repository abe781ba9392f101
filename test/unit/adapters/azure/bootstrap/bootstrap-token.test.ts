import { expect, test } from 'vitest';
import { mintBootstrapToken } from '../../../../../shared/adapters/azure/bootstrap/bootstrap-token.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import type { CreateOutcome, Kubernetes } from '../../../../../shared/ports/kubernetes.ts';

const AT_MS = Date.UTC(2026, 10, 22, 9, 0, 0);

interface Secret {
  readonly metadata: { readonly name: string };
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
  expect(await token).toMatch(/^[0-9a-f]{6}\.[0-9a-f]{16}$/);
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

test('no two machines have one token', async () => {
  const tokens = await Promise.all(Array.from({ length: 20 }, () => mint().token));
  expect(new Set(tokens).size).toBe(20);
  expect(new Set(tokens.map((token) => token.split('.')[1])).size).toBe(20);
});

test.for([
  [{ kind: 'exists' }, 'minting a bootstrap token: the id is taken'],
  [{ kind: 'refused', reason: 'quota' }, 'minting a bootstrap token: quota'],
] as const)(
  'a token that the API server did not take (%j) is none: another is minted next time',
  async ([outcome, message]) => {
    const failure = await mint(outcome).token.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ message });
  },
);
