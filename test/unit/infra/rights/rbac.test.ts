import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseSettings } from '../../../../relay/settings.ts';
import { mintBootstrapToken } from '../../../../shared/adapters/azure/bootstrap/bootstrap-token.ts';
import { createKubernetes } from '../../../../shared/adapters/kubernetes/kubernetes.ts';
import { askedByFunctions, askedByRelay, documents, granted, manifestFolder } from '../../../kit/infra/access.ts';

const NOBODY = '00000000-0000-0000-0000-000000000000';

describe('the Functions app', () => {
  test('may do everything that its code asks of the API server', async () => {
    const rules = granted(NOBODY);
    expect((await askedByFunctions()).filter((access) => !rules.includes(access))).toEqual([]);
  });

  test('may do nothing else', async () => {
    const asked = await askedByFunctions();
    expect(granted(NOBODY).filter((access) => !asked.includes(access))).toEqual([]);
  });

  test('is found to ask for every sort of thing, so that the two tests above say something', async () => {
    const asked = await askedByFunctions();
    expect(asked).toEqual(
      expect.arrayContaining([
        'create /pods/eviction',
        'patch /pods/status',
        'create /secrets in kube-system',
        'patch coordination.k8s.io/leases in nodewright-system named nodewright-generation',
        'list storage.k8s.io/volumeattachments',
      ]),
    );
  });

  test('mints tokens of the group that the manifests let in, and that the admission policy accepts', async () => {
    const group = await mintedGroup();
    const bound = documents.filter(({ subjects }) => subjects?.some(({ name }) => name === group) === true);
    expect(bound.map(({ roleRef }) => roleRef?.name ?? '').toSorted()).toEqual([
      'system:certificates.k8s.io:certificatesigningrequests:nodeclient',
      'system:node-bootstrapper',
    ]);
    const encoded = Buffer.from(group).toString('base64');
    expect(readFileSync(join(manifestFolder, '30-bootstrap-tokens.yaml'), 'utf8')).toContain(`== '${encoded}'`);
  });
});

async function mintedGroup(): Promise<string> {
  let sent: { readonly stringData?: Readonly<Record<string, string>> } = {};
  const kubernetes = createKubernetes(({ body }) => {
    sent = body ?? {};
    return Promise.resolve({ status: 201, body: sent });
  });
  await mintBootstrapToken(kubernetes, 'claim', 0);
  return sent.stringData?.['auth-extra-groups'] ?? '';
}

describe('the relay', () => {
  test('may list and watch what it watches, write its own Lease, and nothing else', () => {
    expect(granted('nodewright-relay').toSorted()).toEqual(askedByRelay());
  });

  test('is given settings that it accepts', () => {
    const folder = mkdtempSync(join(tmpdir(), 'relay-settings-'));
    try {
      const kubeconfig = join(folder, 'kubeconfig');
      writeFileSync(kubeconfig, KUBECONFIG);
      // The webhook of workload identity adds these, Kubernetes the service account that KUBECONFIG stands for here.
      const added = { AZURE_CLIENT_ID: NOBODY, AZURE_TENANT_ID: NOBODY, AZURE_FEDERATED_TOKEN_FILE: kubeconfig };
      const env = { ...variables(), ...added, KUBECONFIG: kubeconfig, POD_NAMESPACE: 'nodewright-system' };
      const parsed = parseSettings(env, 'host');
      expect([parsed.namespace, parsed.metricsPort, parsed.healthPort]).toEqual(['nodewright-system', ...ports()]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

interface Container {
  readonly ports: ReadonlyArray<{ readonly name: string; readonly containerPort: number }>;
  readonly env: ReadonlyArray<{ readonly name: string; readonly value?: string }>;
}

function container(): Container {
  const deployment = documents.find(({ kind }) => kind === 'Deployment');
  const spec = deployment?.spec as {
    readonly template: { readonly spec: { readonly containers: readonly [Container] } };
  };
  return spec.template.spec.containers[0];
}

/** The ports that the Deployment names, metrics first. */
function ports(): ReadonlyArray<number> {
  const named = container().ports;
  return ['http-metrics', 'health'].map((name) => named.find((port) => port.name === name)?.containerPort ?? 0);
}

/** The variables that the Deployment sets. */
function variables(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    container().env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const])),
  );
}

const KUBECONFIG = JSON.stringify({
  clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:1' } }],
  users: [{ name: 'u', user: {} }],
  contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'c',
});
