import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSnapshotBuilder } from '../../shared/contract/snapshot/builder.ts';
import { parseSnapshot } from '../../shared/contract/snapshot/parse.ts';
import { instant } from '../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../shared/core/scheduling/plan-provisioning.ts';
import { DEFAULT_WORK } from '../../shared/core/scheduling/provisioning-input.ts';
import { input, size, zones } from '../unit/core/build.ts';

/**
 * From the bytes of a snapshot to a plan, in a process of its own: `node test/bench/from-snapshot.ts [nodes] [running pods a
 * node] [waiting pods] [applications] [mixed]`. Every node is nearly full; a third of the applications spread over zones. `mixed`:
 * pods of any application on each node, so that no two nodes are alike; else of few. Prints the
 * time of unpacking and planning, cold, and the peak of resident memory.
 */
const [nodes = 5_000, each = 30, waiting = 10_000, apps = 60] = process.argv.slice(2, 6).map(Number);
const isMixed = process.argv[6] === 'mixed';

const uidOf = (kind: number, index: number): string =>
  `${kind.toString(16).padStart(8, '0')}-0000-4000-8000-${index.toString(16).padStart(12, '0')}`;

function podOf(index: number, nodeName: string | null): object {
  const app =
    isMixed && nodeName !== null ? Math.floor(((index * 2_654_435_761) % 2 ** 32) / 2 ** 16) % apps : index % apps;
  const labels = { app: `app-${app}` };
  const spread = {
    maxSkew: 1,
    topologyKey: 'topology.kubernetes.io/zone',
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: labels },
  };
  const requests = { cpu: `${100 + 50 * (app % 17)}m`, memory: `${128 * (1 + (app % 23))}Mi` };
  const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `app-${app}`, uid: uidOf(2, app) };
  return {
    metadata: {
      name: `app-${app}-${index}`,
      namespace: `team-${app % 40}`,
      uid: uidOf(1, index),
      creationTimestamp: '2026-11-01T00:00:00Z',
      labels,
      ownerReferences: [{ ...controller, controller: true }],
    },
    spec: {
      ...(nodeName === null ? {} : { nodeName }),
      containers: [{ name: 'main', image: 'example.azurecr.io/main:1', resources: { requests } }],
      ...(app % 3 === 0 ? { topologySpreadConstraints: [spread] } : {}),
    },
    status:
      nodeName === null
        ? { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] }
        : { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

function nodeOf(index: number): object {
  const name = `node-${index}`;
  return {
    metadata: {
      name,
      uid: uidOf(6, index),
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/arch': 'amd64',
        'topology.kubernetes.io/zone': zones[index % 3],
        'karpenter.sh/nodepool': 'default',
        'karpenter.sh/registered': 'true',
        'karpenter.sh/initialized': 'true',
      },
    },
    spec: {},
    status: {
      capacity: { cpu: '16', memory: '64Gi', pods: '31' },
      allocatable: { cpu: '16', memory: '64Gi', pods: '31' },
    },
  };
}

const pool = {
  metadata: { name: 'default' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
        requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }],
      },
    },
  },
};

function snapshotBytes(): Uint8Array {
  const builder = createSnapshotBuilder('bench');
  for (let index = 0; index < nodes; index++) builder.upsert('nodes', nodeOf(index));
  for (let index = 0; index < nodes * each; index++) builder.upsert('pods', podOf(index, `node-${index % nodes}`));
  for (let index = 0; index < waiting; index++) builder.upsert('pods', podOf(nodes * each + index, null));
  builder.upsert('nodepools', pool);
  return builder.encode({ version: 'bench', takenAtMs: 1, source: 'relay' });
}

const types = [2, 4, 8, 16, 32, 64].flatMap((cpu) => [
  size(`Standard_D${cpu}s_v5`, cpu, cpu * 4, cpu * 50_000),
  size(`Standard_E${cpu}s_v5`, cpu, cpu * 8, cpu * 65_000),
  size(`Standard_D${cpu}ls_v6`, cpu, cpu * 2, cpu * 44_000),
]);

/** The child's part: what a Function does between reading the blob and having the plan. */
function measure(file: string): void {
  const bytes = readFileSync(file);
  const started = performance.now();
  const snapshot = parseSnapshot(bytes);
  const parsed = performance.now();
  const base = input({ types, nodePools: [] });
  const given = { ...base, cluster: snapshot, catalog: new Map([['default', types]]), work: DEFAULT_WORK };
  const plan = planProvisioning(given, instant(2));
  const planned = performance.now();
  const mebibytes = (kibibytes: number): string => `${(kibibytes / 1_024).toFixed(0)} MiB`;
  process.stdout.write(
    `${snapshot.nodes.length} nodes, ${snapshot.pods.length} pods, ${(bytes.length / 1e6).toFixed(1)} MB: unpacked in ` +
      `${(parsed - started).toFixed(0)} ms, planned in ${(planned - parsed).toFixed(0)} ms; ${plan.claims.length} claims, ` +
      `${plan.nominations.length} nodes nominated, ${plan.left.length} left; peak ${mebibytes(process.resourceUsage().maxRSS)}\n`,
  );
}

const file = process.env['BENCH_SNAPSHOT'];
if (file === undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'snapshot-bench-'));
  try {
    const made = join(folder, 'snapshot');
    writeFileSync(made, snapshotBytes());
    spawnSync(process.execPath, [import.meta.filename], {
      env: { ...process.env, BENCH_SNAPSHOT: made },
      stdio: 'inherit',
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
} else measure(file);
