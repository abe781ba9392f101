import { execFile, execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startControlPlane, type ControlPlane } from '../../../sandbox/kubernetes/control-plane/control-plane.ts';
import { mintBootstrapToken, revokeBootstrapTokens } from '../../../shared/adapters/azure/bootstrap/bootstrap-token.ts';
import { nodeConfig } from '../../../shared/adapters/azure/bootstrap/node-config.ts';
import { createKubernetes } from '../../../shared/adapters/kubernetes/kubernetes.ts';
import {
  createTransport,
  type ApiServer,
  type Answer,
  type Transport,
} from '../../../shared/adapters/kubernetes/transport.ts';
import { manifestFolder } from '../../kit/infra/access.ts';
import { order, place, settings } from '../../kit/azure/launch-order.ts';

const run = promisify(execFile);
const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';

/** Certificates are asked for with OpenSSL, as Node makes none. */
const hasOpenssl = ((): boolean => {
  try {
    execFileSync('openssl', ['version']);
    return true;
  } catch {
    return false;
  }
})();

/** The user that the manifests name until a deployment fills in its own. */
const FUNCTIONS = '00000000-0000-0000-0000-000000000000';
const CLAIM = 'general-0abc';
const NODE = `aks-${CLAIM}`;

/** Kubernetes approves and signs within a second; what it has not touched after so long it will not touch. */
const LOOKS_MAX = 300;
const PAUSE_MS = 100;
const UNTOUCHED_MS = 3_000;

let folder = '';
let controlPlane: ControlPlane;
let asFunctions: Transport;

const openssl = (...words: ReadonlyArray<string>): Promise<unknown> => run('openssl', [...words], { cwd: folder });

const server = (tls: ApiServer['tls'], headers: Readonly<Record<string, string>>): Transport =>
  createTransport({
    url: controlPlane.url,
    tls: { ca: Buffer.from(controlPlane.caData, 'base64'), servername: '', ...tls },
    headers: () => Promise.resolve(headers),
  });

const withToken = (token: string): Transport => server({}, { authorization: `Bearer ${token}` });

/** The status of an answer; that of a refusal, which the product's transport throws. */
async function statusOf(answer: Promise<Answer>): Promise<number> {
  try {
    return (await answer).status;
  } catch (error) {
    return Number(/\b(401|403)\b/.exec(String(error))?.[1] ?? 0);
  }
}

interface Request {
  readonly status?: { readonly certificate?: string; readonly conditions?: ReadonlyArray<{ readonly type: string }> };
}

const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** Asks for a kubelet's certificate of this subject, as the machine that has the token. */
async function ask(as: Transport, name: string, subject: string): Promise<void> {
  await openssl(
    'req',
    '-new',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-subj',
    subject,
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.csr`,
  );
  const answer = await as({
    method: 'POST',
    path: CSRS,
    body: {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name },
      spec: {
        request: readFileSync(join(folder, `${name}.csr`)).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        usages: ['digital signature', 'client auth'],
      },
    },
  });
  expect([answer.status, answer.body]).toEqual([201, expect.anything()]);
}

async function requestOf(as: Transport, name: string): Promise<Request> {
  return (await as({ method: 'GET', path: `${CSRS}/${name}` })).body as Request;
}

async function certificateOf(as: Transport, name: string): Promise<string> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    const certificate = (await requestOf(as, name)).status?.certificate;
    if (certificate !== undefined) return Buffer.from(certificate, 'base64').toString('utf8');
    await sleep(PAUSE_MS);
  }
  throw new Error(`${name} was not signed`);
}

beforeAll(async () => {
  if (assets === '' || !hasOpenssl) return;
  folder = mkdtempSync(join(tmpdir(), 'node-bootstrap-'));
  await openssl(
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '1',
    '-subj',
    '/CN=cluster',
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
  );
  const signer = { certPath: join(folder, 'ca.crt'), keyPath: join(folder, 'ca.key') };
  controlPlane = await startControlPlane({ assets, folder, signer, with: ['kube-controller-manager'] });
  await run(join(assets, 'kubectl'), ['--kubeconfig', controlPlane.kubeconfigPath, 'apply', '-f', manifestFolder]);
  asFunctions = server({}, { authorization: `Bearer ${controlPlane.token}`, 'impersonate-user': FUNCTIONS });
});

afterAll(async () => {
  await controlPlane?.close();
  if (folder !== '') rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(assets === '' || !hasOpenssl)(
  'a machine with a bootstrap token, on a real API server and controller manager',
  () => {
    let token = '';
    let asMachine: Transport;
    let asNode: Transport;

    beforeAll(async () => {
      token = await mintBootstrapToken(createKubernetes(asFunctions), CLAIM, Date.now());
      asMachine = withToken(token);
      // The API server hears of a new token by a watch of its own.
      await vi.waitUntil(async () => (await statusOf(asMachine({ method: 'GET', path: '/version' }))) === 200, {
        timeout: 60_000,
      });
    });

    test('is who its token says, and of the one group', async () => {
      const { body } = await asMachine({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      });
      expect(body).toMatchObject({
        status: {
          userInfo: {
            username: `system:bootstrap:${token.split('.')[0] ?? ''}`,
            groups: expect.arrayContaining(['system:bootstrappers', 'system:bootstrappers:nodewright']),
          },
        },
      });
    });

    test.for([
      ['GET', '/api/v1/namespaces/kube-system/secrets'],
      ['GET', '/api/v1/nodes'],
      ['POST', '/api/v1/nodes'],
      ['GET', '/api/v1/pods'],
      ['GET', '/api/v1/namespaces/kube-system/configmaps'],
      ['GET', '/apis/karpenter.sh/v1/nodeclaims'],
      ['POST', '/api/v1/namespaces/kube-system/serviceaccounts/default/token'],
      ['PUT', `${CSRS}/any/approval`],
    ] as const)('may not %s %s', async ([method, path]) => {
      const body = method === 'GET' ? {} : { body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'mine' } } };
      expect(await statusOf(asMachine({ method, path, ...body }))).toBe(403);
    });

    test('gets its certificate, without a person', async () => {
      await ask(asMachine, 'own', `/O=system:nodes/CN=system:node:${NODE}`);
      const cert = await certificateOf(asMachine, 'own');
      const { subject } = new X509Certificate(cert);
      expect(subject.split('\n').toSorted()).toEqual([`CN=system:node:${NODE}`, 'O=system:nodes']);
      asNode = server({ cert, key: readFileSync(join(folder, 'own.key')) }, {});
    });

    test('gets none that would make it more than a node', async () => {
      await ask(asMachine, 'master', '/O=system:masters/CN=admin').catch(() => undefined);
      await sleep(UNTOUCHED_MS);
      const { status } = await requestOf(asMachine, 'master');
      expect(status?.certificate).toBeUndefined();
      expect(status?.conditions?.some(({ type }) => type === 'Approved') ?? false).toBe(false);
    });

    test('becomes the node it is, with the labels of its configuration, and no other node', async () => {
      const facts = { ...place, kubernetesVersion: '1.34.2', token };
      const config = nodeConfig(order, { ...settings, VNET_GUID: 'g', KUBELET_IDENTITY_CLIENT_ID: 'i' }, facts) as {
        readonly kubelet_config: { readonly kubelet_node_labels: Readonly<Record<string, string>> };
      };
      const labels = config.kubelet_config.kubelet_node_labels;
      const node = (name: string, more: object = {}): object => ({
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, labels: { ...labels, ...more } },
      });
      const create = (body: object) => statusOf(asNode({ method: 'POST', path: '/api/v1/nodes', body }));
      expect(await create(node('aks-other'))).toBe(403);
      expect(await create(node(NODE, { 'node-role.kubernetes.io/control-plane': '' }))).toBe(403);
      expect(await create(node(NODE))).toBe(201);
    });

    test('has a token that opens nothing any more once its node has registered, and no other claim loses one', async () => {
      const kubernetes = createKubernetes(asFunctions);
      const other = await mintBootstrapToken(kubernetes, 'other', Date.now());
      await revokeBootstrapTokens(kubernetes, CLAIM, false);
      for (
        let look = 0;
        look < LOOKS_MAX && (await statusOf(withToken(token)({ method: 'GET', path: CSRS }))) !== 401;
        look++
      )
        await sleep(PAUSE_MS);
      expect(await statusOf(withToken(token)({ method: 'GET', path: '/version' }))).toBe(401);
      expect(await statusOf(withToken(other)({ method: 'GET', path: '/version' }))).toBe(200);
    });
  },
);
