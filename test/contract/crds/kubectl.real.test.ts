import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, type Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import { startControlPlane, type ControlPlane } from '../../../sandbox/kubernetes/control-plane/control-plane.ts';
import { buffer, claim, nodeClass, overlay, pool, type ApiObject } from './cases/case.ts';
import { applyCrds } from './verdicts.ts';

const run = promisify(execFile);
const assets = process.env['KUBEBUILDER_ASSETS'];

const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'Ready',
  message: '',
  lastTransitionTime: '2026-08-01T12:00:00Z',
};

interface Row {
  readonly resource: string;
  readonly narrow: ReadonlyArray<string>;
  readonly wide: ReadonlyArray<string>;
}

/**
 * Headers of `kubectl get`, then those that `-o wide` adds at the end. Source: Karpenter 1.14, Azure's provider
 * 2026-08.
 */
const columns: ReadonlyArray<Row> = [
  {
    resource: 'nodepools',
    narrow: ['NAME', 'NODECLASS', 'NODES', 'READY', 'AGE'],
    wide: ['WEIGHT', 'CPU', 'MEMORY'],
  },
  {
    resource: 'nodeclaims',
    narrow: ['NAME', 'TYPE', 'CAPACITY', 'ZONE', 'NODE', 'READY', 'AGE'],
    wide: ['IMAGEID', 'ID', 'NODEPOOL', 'NODECLASS', 'DRIFTED'],
  },
  { resource: 'overlays', narrow: ['NAME', 'READY', 'AGE'], wide: ['WEIGHT'] },
  { resource: 'aksnc', narrow: ['NAME', 'READY', 'AGE'], wide: ['IMAGEFAMILY'] },
  { resource: 'aksncs', narrow: ['NAME', 'READY', 'AGE'], wide: ['IMAGEFAMILY'] },
  {
    resource: 'cb',
    narrow: [
      'NAME',
      'STRATEGY',
      'PODTEMPLATE',
      'REPLICAS',
      'CONDITIONSTYPE',
      'CONDITIONSSTATUS',
      'CONDITIONSREASON',
      'AGE',
    ],
    wide: [],
  },
];

const paths: ReadonlyArray<readonly [path: string, object: ApiObject]> = [
  ['/apis/karpenter.sh/v1/nodepools', pool({ weight: 7 })],
  ['/apis/karpenter.sh/v1/nodeclaims', claim()],
  ['/apis/karpenter.sh/v1alpha1/nodeoverlays', overlay()],
  ['/apis/karpenter.azure.com/v1beta1/aksnodeclasses', nodeClass()],
  [
    '/apis/autoscaling.x-k8s.io/v1beta1/namespaces/default/capacitybuffers',
    buffer({ podTemplateRef: { name: 'worker' }, replicas: 2 }),
  ],
];

const folder = mkdtempSync(join(tmpdir(), 'api-kubectl-'));
let controlPlane: ControlPlane | null = null;
let connection: Connection | null = null;

async function kubectl(...words: ReadonlyArray<string>): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const kubeconfig = controlPlane?.kubeconfigPath ?? '';
  return run(join(assets ?? '', 'kubectl'), ['--kubeconfig', kubeconfig, '--cache-dir', folder, ...words]);
}

async function headersOf(...words: ReadonlyArray<string>): Promise<ReadonlyArray<string>> {
  const { stdout } = await kubectl('get', ...words);
  return (stdout.split('\n')[0] ?? '').trim().split(/\s+/u);
}

beforeAll(async () => {
  controlPlane = await startControlPlane({ assets: assets ?? '', folder, with: [] });
  connection = connect(controlPlane.kubeconfig);
  await applyCrds(connection);
  for (const [path, object] of paths) await connection.create(path, object);
});
afterAll(async () => {
  connection?.close();
  await controlPlane?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(assets === undefined)('kubectl shows what Karpenter users expect', () => {
  it.each(columns)('$resource has the columns $narrow, and $wide when wide', async ({ resource, narrow, wide }) => {
    expect(await headersOf(resource)).toEqual(narrow);
    expect(await headersOf(resource, '-o', 'wide')).toEqual([...narrow, ...wide]);
  });

  it('the category karpenter lists pools, claims, overlays and classes', async () => {
    const { stdout } = await kubectl('get', 'karpenter', '-o', 'name');
    expect(stdout.trim().split('\n').toSorted()).toEqual([
      'aksnodeclass.karpenter.azure.com/default',
      'nodeclaim.karpenter.sh/general-abcde',
      'nodeoverlay.karpenter.sh/discount',
      'nodepool.karpenter.sh/general',
    ]);
  });

  it('the category nap lists classes', async () => {
    const { stdout } = await kubectl('get', 'nap', '-o', 'name');
    expect(stdout.trim()).toBe('aksnodeclass.karpenter.azure.com/default');
  });

  it('the category autoscaling lists buffers', async () => {
    const { stdout } = await kubectl('get', 'autoscaling', '-o', 'name');
    expect(stdout.trim()).toBe('capacitybuffer.autoscaling.x-k8s.io/spare');
  });

  it('the old version of a class says which one to use', async () => {
    const { stderr } = await kubectl('get', 'aksnodeclasses.v1alpha2.karpenter.azure.com');
    expect(stderr).toContain('use v1beta1.AKSNodeClass instead');
  });

  it('every field of every kind is explained', async () => {
    for (const resource of ['nodepools', 'nodeclaims', 'nodeoverlays', 'aksnodeclasses', 'capacitybuffers']) {
      const { stdout } = await kubectl('explain', resource, '--recursive');
      expect(stdout).toContain('spec');
    }
    const { stdout } = await kubectl('explain', 'nodepools.spec.disruption.consolidateAfter');
    expect(stdout).toContain('How long a node must see no pod come or go');
  });

  it('kubectl refuses a field that does not exist', async () => {
    const file = join(folder, 'pool.json');
    writeFileSync(file, JSON.stringify({ ...pool({ weigth: 5 }), metadata: { name: 'typo' } }));
    await expect(kubectl('apply', '-f', file)).rejects.toThrow('unknown field "spec.weigth"');
  });
});

describe.skipIf(assets === undefined)('status and scale are resources of their own', () => {
  it('a condition and a count in the status show, and a change of the status leaves the spec alone', async () => {
    await connection?.patch('/apis/karpenter.sh/v1/nodepools/general/status', 'merge', {
      spec: { weight: 99 },
      status: { nodes: 3, conditions: [ready], resources: { cpu: '12', memory: '48Gi' } },
    });
    const { stdout } = await kubectl('get', 'nodepool', 'general', '-o', 'wide', '--no-headers');
    expect(stdout.trim().split(/\s+/u).toSpliced(4, 1)).toEqual(['general', 'default', '3', 'True', '7', '12', '48Gi']);
  });

  it('a status that the schema does not allow is refused', async () => {
    const change = connection?.patch('/apis/karpenter.sh/v1/nodepools/general/status', 'merge', {
      status: { conditions: [{ ...ready, reason: '' }] },
    });
    await expect(change).rejects.toMatchObject({ code: 422 });
  });

  it("a claim's condition needs neither reason nor message", async () => {
    await connection?.patch('/apis/karpenter.sh/v1/nodeclaims/general-abcde/status', 'merge', {
      status: { conditions: [{ type: 'Ready', status: 'Unknown', lastTransitionTime: ready.lastTransitionTime }] },
    });
    const { stdout } = await kubectl('get', 'nodeclaim', 'general-abcde', '--no-headers');
    expect(stdout).toContain('Unknown');
  });

  it('a static pool is scaled like a deployment', async () => {
    const fixed = { ...pool({ replicas: 1 }), metadata: { name: 'fixed' } };
    await connection?.create('/apis/karpenter.sh/v1/nodepools', fixed);
    await kubectl('scale', 'nodepool', 'fixed', '--replicas', '4');
    const { stdout } = await kubectl('get', 'nodepool', 'fixed', '-o', 'jsonpath={.spec.replicas}');
    expect(stdout).toBe('4');
    await kubectl('delete', 'nodepool', 'fixed');
  });
});
