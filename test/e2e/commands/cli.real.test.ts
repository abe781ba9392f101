import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PlanDocument } from '../../../cli/documents/plan-format.ts';
import { startControlPlane, type ControlPlane } from '../../../sandbox/kubernetes/control-plane/control-plane.ts';

const run = promisify(execFile);
const assets = process.env['KUBEBUILDER_ASSETS'];
const root = resolve(import.meta.dirname, '../../..');
const manifests = ['general-purpose', 'inflate', 'own-pool'].map((name) => join(root, 'examples', `${name}.yaml`));

/**
 * Polls of half a second: the controller manager makes sixteen pods within seconds; a minute means that it does not.
 */
const POLLS_MAX = 120;

/** What `plan` makes of files, or of a text on standard input. */
function plan(args: ReadonlyArray<string>, stdin = ''): PlanDocument {
  const { stdout } = spawnSync(process.execPath, [join(root, 'cli/bin.js'), 'plan', '-o', 'json', ...args], {
    input: stdin,
    encoding: 'utf8',
  });
  return JSON.parse(stdout) as PlanDocument;
}

/** A plan without the names of pods, which a cluster draws and files do not. */
function withoutNames({ summary, nodeClaims }: PlanDocument): object {
  const { costPerHour, lowerBoundPerHour, pods } = summary;
  const nodes = nodeClaims.map(
    ({ nodePool, instanceType, ...rest }) => `${nodePool} ${instanceType} ${rest.pods.length}`,
  );
  return { costPerHour, lowerBoundPerHour, pods, nodes: nodes.toSorted() };
}

describe.skipIf(assets === undefined)('nodewright plan beside a real API server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-cli-real-'));
  let controlPlane: ControlPlane | null = null;
  const kubectl = async (...args: ReadonlyArray<string>): Promise<string> => {
    const kubeconfig = controlPlane?.kubeconfigPath ?? '';
    const { stdout } = await run(join(assets ?? '', 'kubectl'), ['--kubeconfig', kubeconfig, ...args], {
      maxBuffer: 2 ** 28,
    });
    return stdout;
  };

  beforeAll(async () => {
    controlPlane = await startControlPlane({ assets: assets ?? '', folder, with: ['kube-controller-manager'] });
    await kubectl('apply', '--server-side', '-f', join(root, 'infra/chart/definitions'));
    await kubectl('wait', '--for=condition=Established', 'crds', '--all', '--timeout=60s');
    for (const file of manifests) await kubectl('apply', '-f', file);
    for (let poll = 0; poll < POLLS_MAX; poll++) {
      const { items } = JSON.parse(await kubectl('get', 'pods', '-o', 'json')) as {
        readonly items: ReadonlyArray<object>;
      };
      if (items.length === 16) return;
      await sleep(500);
    }
    throw new Error('the controller manager has not made the pods');
  });

  afterAll(async () => {
    await controlPlane?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each([
    'nodepools,aksnodeclasses,nodes,pods,deployments,replicasets,limitranges,namespaces',
    'nodepools,aksnodeclasses,pods',
    'nodepools,aksnodeclasses,deployments',
    'nodepools,aksnodeclasses,replicasets',
  ])('what kubectl says of manifests (%s) gives the plan that the manifests give', async (kinds) => {
    const fromFiles = plan(manifests.flatMap((file) => ['-f', file]));
    const fromCluster = plan(['-f', '-'], await kubectl('get', kinds, '-A', '-o', 'json'));
    expect(withoutNames(fromCluster)).toEqual(withoutNames(fromFiles));
    expect(fromCluster.summary.pods.placed).toBe(16);
  });

  test('as YAML it is the same', async () => {
    const kinds = 'nodepools,aksnodeclasses,pods';
    const json = plan(['-f', '-'], await kubectl('get', kinds, '-A', '-o', 'json'));
    const yaml = plan(['-f', '-'], await kubectl('get', kinds, '-A', '-o', 'yaml'));
    expect(yaml.nodeClaims).toEqual(json.nodeClaims);
  });
});
