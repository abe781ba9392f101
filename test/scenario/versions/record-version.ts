import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { claimsNamed } from '../../../shared/app/ports/hint-objects.ts';
import { followAll } from '../../../shared/app/follow/follow-all.ts';
import { provision } from '../../../shared/app/provision/provision.ts';
import { createSnapshotBuilder, snapshotResources } from '../../../shared/contract/snapshot/builder.ts';
import { smallCluster } from '../../kit/app/small-cluster.ts';
import type { Stored } from '../../simulation/world/api-server.ts';

/**
 * Records what this version leaves in a cluster and in its storage account, so that later ones are held to reading it:
 *
 *     node test/scenario/versions/record-version.ts
 *
 * It writes `test/fixtures/versions/VERSION.json`. A version that has been published is never recorded again.
 */
export interface RecordedVersion {
  readonly cluster: string;
  /** Base64, by name. */
  readonly blobs: Readonly<Record<string, string>>;
  /** As the relay publishes it, base64. */
  readonly snapshot: string;
  /** Objects by the plural of their kind. */
  readonly objects: Readonly<Record<string, ReadonlyArray<Stored>>>;
  /** By the clock then, milliseconds since the epoch. */
  readonly atMs: number;
  /** What was in the queues. */
  readonly messages: ReadonlyArray<{ readonly kind: string }>;
}

const KINDS = ['nodepools', 'aksnodeclasses', 'nodeclaims', 'nodes', 'pods', 'leases', 'events'];

/** A pool, a node that has joined with its pod, and one whose VM boots. */
export async function recordVersion(): Promise<RecordedVersion> {
  const made = smallCluster();
  const { ports, server, clock, blobs, sent } = made;
  made.addClass('True');
  made.addPool();
  const names = (): ReadonlyArray<string> => server.list('nodeclaims').map(({ metadata }) => metadata.name);
  const decide = async (pod: string): Promise<void> => {
    made.addPod(pod, '1500m');
    clock.advance(10_000);
    await provision(ports, { mayLaunch: true });
    await followAll(ports, claimsNamed(names()));
  };
  await followAll(ports, [
    { kind: 'AKSNodeClass', name: 'default' },
    { kind: 'NodePool', name: 'general' },
  ]);
  await decide('first');
  const [first = ''] = names();
  const holds = { cpu: '2', memory: '8Gi', pods: '30' };
  made.addNode(first, {
    taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
    status: { capacity: holds, allocatable: holds },
  });
  clock.advance(60_000);
  await followAll(ports, claimsNamed([first]));
  server.patch('pods', 'default/first', { spec: { nodeName: `aks-${first}` } }, 'object');
  server.patch(
    'pods',
    'default/first',
    { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
    'status',
  );
  await followAll(ports, claimsNamed([first]));
  await decide('second');
  const reads = { buffers: false };
  const builder = createSnapshotBuilder(ports.cluster, reads);
  for (const resource of snapshotResources(reads)) {
    for (const object of server.list(resource)) builder.upsert(resource, object);
    builder.setResourceVersion(resource, '1');
  }
  const bytes = builder.encode({ version: 'recorded', takenAtMs: clock.now(), source: 'relay' });
  return {
    cluster: ports.cluster,
    blobs: Object.fromEntries(
      blobs.names().map((name) => [name, Buffer.from(blobs.readNow(name)?.bytes ?? []).toString('base64')]),
    ),
    snapshot: Buffer.from(bytes).toString('base64'),
    objects: Object.fromEntries(KINDS.map((kind) => [kind, server.list(kind)])),
    atMs: clock.now(),
    messages: sent.map(({ hint }) => hint),
  };
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '../../..');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const file = join(root, 'test/fixtures/versions', `${version}.json`);
  writeFileSync(file, `${JSON.stringify(await recordVersion(), null, 2)}\n`);
  process.stdout.write(`${file}\n`);
}
