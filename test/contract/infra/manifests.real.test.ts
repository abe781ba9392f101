import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import { startControlPlane, type ControlPlane } from '../../../sandbox/kubernetes/control-plane/control-plane.ts';
import { mintBootstrapToken, revokeBootstrapTokens } from '../../../shared/adapters/azure/bootstrap/bootstrap-token.ts';
import { createKubernetes } from '../../../shared/adapters/kubernetes/kubernetes.ts';
import { createLedger } from '../../../shared/adapters/kubernetes/ledger.ts';
import { listSnapshot } from '../../../shared/adapters/kubernetes/list-snapshot.ts';
import { createTransport, type Transport } from '../../../shared/adapters/kubernetes/transport.ts';
import { publish } from '../../../shared/app/tell/events.ts';
import type { Kubernetes } from '../../../shared/ports/kubernetes.ts';
import { askedByFunctions, askedByRelay, manifestFolder } from '../../kit/infra/access.ts';
import { applyCrds } from '../crds/verdicts.ts';

const run = promisify(execFile);
const assets = process.env['KUBEBUILDER_ASSETS'];

/** The user that the manifests name until a deployment fills in its own. */
const FUNCTIONS = '00000000-0000-0000-0000-000000000000';
const RELAY = 'system:serviceaccount:nodewright-system:nodewright-relay';

/** An admission policy is enforced within a second; a loaded machine gets thirty. */
const ENFORCED_LOOKS_MAX = 300;
const ENFORCED_PAUSE_MS = 100;

let folder = '';
let controlPlane: ControlPlane | undefined;
let connection: Connection;
let asFunctions: Transport;
let kubernetes: Kubernetes;

async function kubectl(...words: ReadonlyArray<string>): Promise<string> {
  const kubeconfig = controlPlane?.kubeconfigPath ?? '';
  const { stdout } = await run(join(assets ?? '', 'kubectl'), [
    '--kubeconfig',
    kubeconfig,
    '--cache-dir',
    folder,
    ...words,
  ]);
  return stdout;
}

function transportAs(user: string): Transport {
  const { url, caData, token } = controlPlane ?? { url: '', caData: '', token: '' };
  const headers = { authorization: `Bearer ${token}`, 'impersonate-user': user };
  return createTransport({
    url,
    tls: { ca: Buffer.from(caData, 'base64'), servername: '' },
    headers: () => Promise.resolve(headers),
  });
}

/** Whether RBAC lets `user` do what `access` says. */
async function isAllowed(user: string, access: string): Promise<boolean> {
  const [, verb = '', group = '', resource = '', subresource = '', namespace = '', name = ''] =
    /^(\S+) ([^/\s]*)\/([^/\s]+)(?:\/(\S+))?(?: in (\S+))?(?: named (\S+))?$/.exec(access) ?? [];
  const resourceAttributes = { verb, group, resource, subresource, namespace, name };
  const review = await connection.create<{ readonly status: { readonly allowed: boolean } }>(
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, groups: ['system:authenticated'], resourceAttributes },
    },
  );
  return review.status.allowed;
}

async function refused(user: string, accesses: ReadonlyArray<string>): Promise<ReadonlyArray<string>> {
  const answers = await Promise.all(accesses.map((access) => isAllowed(user, access)));
  return accesses.filter((_, index) => answers[index] !== true);
}

beforeAll(async () => {
  if (assets === undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'manifests-'));
  controlPlane = await startControlPlane({ assets, folder, with: [] });
  connection = connect(controlPlane.kubeconfig);
  await applyCrds(connection);
  await kubectl('apply', '-f', manifestFolder);
  asFunctions = transportAs(FUNCTIONS);
  kubernetes = createKubernetes(asFunctions);
});

afterAll(async () => {
  connection?.close();
  await controlPlane?.close();
  if (folder !== '') rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(assets === undefined)('the manifests of infra/kubernetes on a real API server', () => {
  test('apply, and applying them again changes nothing', async () => {
    // `diff` ends with an error, and prints the difference, when there is one.
    expect(await kubectl('diff', '-f', manifestFolder)).toBe('');
  });

  test('let the Functions app do all that its code asks', async () => {
    expect(await refused(FUNCTIONS, await askedByFunctions())).toEqual([]);
  });

  test('let the relay do all that its code asks', async () => {
    expect(await refused(RELAY, askedByRelay())).toEqual([]);
  });

  test('keep both from what would make them more than they are', async () => {
    const forbidden = [
      'get /secrets in kube-system',
      'list /secrets',
      'create /secrets',
      'create /pods',
      'create /nodes',
      'create /pods/exec in default',
      'patch /nodes/status',
      'create /serviceaccounts/token in kube-system',
      'get coordination.k8s.io/leases in kube-system named kube-scheduler',
      'patch coordination.k8s.io/leases in nodewright-system named other',
      'bind rbac.authorization.k8s.io/clusterroles',
      'create rbac.authorization.k8s.io/clusterrolebindings',
    ];
    expect(await refused(FUNCTIONS, forbidden)).toEqual(forbidden);
    const ofRelay = [
      ...forbidden,
      'patch /pods',
      'delete /nodes',
      'create /pods/eviction',
      'patch karpenter.sh/nodeclaims',
    ];
    expect(await refused(RELAY, ofRelay)).toEqual(ofRelay);
  });

  test('let the code of the Functions app list a snapshot, order plans, and tell news', async () => {
    const snapshot = await listSnapshot(asFunctions, 'test', 0, { buffers: true });
    expect(snapshot.cluster).toBe('test');
    const ledger = createLedger(kubernetes, 'nodewright-system', Date.now);
    const first = await ledger.read();
    expect((await ledger.commit(first, '000000001-test')).kind).toBe('committed');
    const regarding = { apiVersion: 'v1', kind: 'Pod', name: 'pod', namespace: 'default', uid: 'uid' };
    await publish(kubernetes, { regarding, type: 'Normal', reason: 'Test', message: 'news' }, Date.now());
    expect(await kubectl('get', 'events', '--namespace', 'default')).toContain('news');
  });

  test('let it create tokens for nodes in kube-system, and no other Secret', async () => {
    await untilPolicyIsEnforced(() => createSecret('Opaque', {}));
    expect(await mintBootstrapToken(kubernetes, 'claim', Date.now())).toMatch(/^[0-9a-z]{6}\.[0-9a-f]{16}$/);
    const token = { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', expiration: '2030-01-01T00:00:00Z' };
    const group = { 'auth-extra-groups': 'system:bootstrappers:nodewright' };
    const verdicts = await Promise.all([
      createSecret('kubernetes.io/service-account-token', {}),
      createSecret('bootstrap.kubernetes.io/token', { ...token, 'auth-extra-groups': 'system:bootstrappers:other' }),
      createSecret('bootstrap.kubernetes.io/token', token),
      createSecret('bootstrap.kubernetes.io/token', { ...token, ...group, 'usage-bootstrap-signing': 'true' }),
      createSecret('bootstrap.kubernetes.io/token', { 'token-id': 'abcdef', 'token-secret': 'x', ...group }),
      createSecret('bootstrap.kubernetes.io/token', { ...token, ...group }),
    ]);
    expect(verdicts).toEqual([
      expect.stringContaining('bootstrap tokens only'),
      expect.stringContaining('and no other'),
      expect.stringContaining('and no other'),
      expect.stringContaining('signs nothing'),
      expect.stringContaining('expires'),
      'created',
    ]);
  });

  test('let it remove its own tokens, and no other Secret', async () => {
    const secrets = '/api/v1/namespaces/kube-system/secrets';
    const own = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'own' }, stringData: { a: 'b' } };
    const other = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'bootstrap.kubernetes.io/token',
      metadata: { name: 'bootstrap-token-others' },
      stringData: { 'token-id': 'others', 'token-secret': '0123456789abcdef', expiration: '2090-01-01T00:00:00Z' },
    };
    await connection.create(secrets, own);
    await connection.create(secrets, other);
    const remove = async (name: string): Promise<string> => {
      const { status, body } = await asFunctions({ method: 'DELETE', path: `${secrets}/${name}?dryRun=All` });
      return status < 300 ? 'removed' : ((body as { readonly message?: string }).message ?? String(status));
    };
    await untilPolicyIsEnforced(async () => ((await remove('own')) === 'removed' ? 'created' : 'refused'));
    expect(await remove('own')).toContain('bootstrap tokens only');
    expect(await remove('bootstrap-token-others')).toContain('and no other');
    await mintBootstrapToken(kubernetes, 'mine', Date.now());
    await revokeBootstrapTokens(kubernetes, 'mine', false);
    expect(await kubectl('get', 'secrets', '--namespace', 'kube-system', '--output', 'yaml')).not.toContain(
      'nodeclaim: mine',
    );
  });

  test('let it add the toleration of its own taint to a pod, and change nothing else about one', async () => {
    const path = '/api/v1/namespaces/default/pods';
    const toleration = { key: 'mine', operator: 'Exists' };
    await connection.create(path, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'planned', labels: { app: 'a' } },
      spec: {
        containers: [{ name: 'main', image: 'one' }],
        tolerations: [toleration],
        schedulingGates: [{ name: 'g' }],
      },
    });
    const { spec } = await connection.get<{ readonly spec: { readonly tolerations: ReadonlyArray<object> } }>(
      `${path}/planned`,
    );
    const passage = { key: 'nodewright.dev/reserved', operator: 'Equal', value: 'claim', effect: 'NoSchedule' };
    const withMore = (one: object) => ({ spec: { tolerations: [...spec.tolerations, one] } });
    await untilPolicyIsEnforced(() => patchPod({ metadata: { labels: { app: 'b' } } }));
    const changes = [
      { metadata: { labels: { app: 'b' } } },
      { metadata: { annotations: { a: 'b' } } },
      { spec: { containers: [{ name: 'main', image: 'two' }] } },
      { spec: { activeDeadlineSeconds: 1 } },
      { spec: { schedulingGates: [] } },
      { spec: { nodeSelector: { a: 'b' } } },
      withMore({ key: 'other', operator: 'Exists' }),
      withMore({ operator: 'Exists' }),
      withMore({ key: 'nodewright.dev/reserved', operator: 'Exists' }),
      withMore(passage),
    ];
    expect(await Promise.all(changes.map(patchPod))).toEqual([
      ...Array.from({ length: 2 }, () => expect.stringContaining('no metadata')),
      ...Array.from({ length: 4 }, () => expect.stringContaining('nothing of a pod')),
      ...Array.from({ length: 2 }, () => expect.stringContaining('no toleration but')),
      expect.stringContaining("one node's"),
      'patched',
    ]);
  });

  test('leave Secrets of others alone', async () => {
    const path = '/api/v1/namespaces/kube-system/secrets?dryRun=All';
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'other' }, stringData: { a: 'b' } };
    await expect(connection.create(path, secret)).resolves.toMatchObject({ kind: 'Secret' });
  });

  test('let a machine with a token ask for its certificate, which is approved without a person', async () => {
    const signing = 'certificates.k8s.io/certificatesigningrequests';
    const group = 'system:bootstrappers:nodewright';
    const asked = [`create ${signing}`, `create ${signing}/nodeclient`];
    const answers = await Promise.all(
      asked.map((access) =>
        kubectl('auth', 'can-i', ...canI(access), '--as=system:bootstrap:abcdef', `--as-group=${group}`),
      ),
    );
    expect(answers.map((answer) => answer.trim())).toEqual(['yes', 'yes']);
  });
});

/** `create group/resource/sub` as kubectl's words. */
function canI(access: string): ReadonlyArray<string> {
  const [verb = '', path = ''] = access.split(' ');
  const [group, resource, subresource] = path.split('/');
  return [verb, `${resource}.${group}`, ...(subresource === undefined ? [] : [`--subresource=${subresource}`])];
}

/** `created`, or the API server's reason. Nothing is kept. */
async function createSecret(type: string, stringData: Readonly<Record<string, string>>): Promise<string> {
  const name = `bootstrap-token-${stringData['token-id'] ?? 'none'}`;
  // Without it, a Secret for a service account's token would be refused for another reason.
  const annotations = { 'kubernetes.io/service-account.name': 'default' };
  const body = { apiVersion: 'v1', kind: 'Secret', type, metadata: { name, annotations }, stringData };
  const path = '/api/v1/namespaces/kube-system/secrets?dryRun=All';
  const { status, body: answer } = await asFunctions({ method: 'POST', path, body });
  return status < 300 ? 'created' : ((answer as { readonly message?: string }).message ?? String(status));
}

/** `patched`, or the API server's reason. Nothing is kept. */
async function patchPod(patch: object): Promise<string> {
  const path = '/api/v1/namespaces/default/pods/planned?dryRun=All';
  const contentType = 'application/merge-patch+json';
  const { status, body: answer } = await asFunctions({ method: 'PATCH', path, body: patch, contentType });
  return status < 300 ? 'patched' : ((answer as { readonly message?: string }).message ?? String(status));
}

/** `attempt` is forbidden, and nothing else is wrong with it. */
async function untilPolicyIsEnforced(attempt: () => Promise<string>): Promise<void> {
  for (let look = 0; look < ENFORCED_LOOKS_MAX; look++) {
    if (!/^(created|patched)$/.test(await attempt())) return;
    await sleep(ENFORCED_PAUSE_MS);
  }
  throw new Error('the admission policy is not enforced');
}
