import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../shared/app/disrupt/disrupt.ts';
import { followAll } from '../../../shared/app/follow/follow-all.ts';
import { claimsNamed } from '../../../shared/app/ports/hint-objects.ts';
import { provision } from '../../../shared/app/provision/provision.ts';
import { createSnapshots } from '../../../shared/adapters/storage/snapshots.ts';
import { parseObjectsHint, parsePodsHint } from '../../../shared/contract/messages/messages.ts';
import { START, machine, smallCluster } from '../../kit/app/small-cluster.ts';
import { type RecordedVersion, recordVersion } from './record-version.ts';

const folder = join(import.meta.dirname, '../../fixtures/versions');
const versions = readdirSync(folder).map((name) => name.replace(/\.json$/, ''));
const read = (version: string): RecordedVersion =>
  JSON.parse(readFileSync(join(folder, `${version}.json`), 'utf8')) as RecordedVersion;

/** A cluster as an earlier version has left it, with this one at work in it. */
function takenOver(recorded: RecordedVersion) {
  const made = smallCluster();
  made.clock.advance(recorded.atMs - START);
  for (const [kind, objects] of Object.entries(recorded.objects)) {
    for (const object of objects) made.server.restore(kind, object);
  }
  for (const [name, bytes] of Object.entries(recorded.blobs)) {
    made.blobs.writeNow(name, Buffer.from(bytes, 'base64'), 'absent');
  }
  const claims = made.server.list('nodeclaims').map(({ metadata }) => metadata.name);
  for (const name of claims) made.azure.machines.set(name, machine(name));
  return { ...made, claims };
}

test('the version that is being made is recorded as it is', async () => {
  const { version } = JSON.parse(readFileSync(join(folder, '../../../package.json'), 'utf8')) as {
    readonly version: string;
  };
  // Once it is published, what it has left in clusters stays as it is: then the next version is what is recorded.
  expect(read(version), 'node test/scenario/versions/record-version.ts').toEqual(
    JSON.parse(JSON.stringify(await recordVersion())),
  );
});

describe.each(versions)('what version %s has left', (version) => {
  const recorded = read(version);

  test('can be read: decisions, their ledger, the snapshot, messages', async () => {
    const { ports, blobs, server } = takenOver(recorded);
    const ledger = await ports.ledger.read();
    expect(ledger).toMatchObject({ generation: 2, executed: true });
    expect((await ports.decisions.get(ledger.decision ?? ''))?.claimNames).toHaveLength(1);
    blobs.writeNow(`${recorded.cluster}/latest`, Buffer.from(recorded.snapshot, 'base64'), 'any');
    const snapshots = createSnapshots(blobs, recorded.cluster, ports.snapshots.list);
    const snapshot = await snapshots.latest();
    expect(snapshot?.pods.map(({ uid }) => uid).toSorted()).toEqual(
      server
        .list('pods')
        .map(({ metadata }) => metadata.uid)
        .toSorted(),
    );
    expect(snapshot?.nodeClaims).toHaveLength(2);
    for (const message of recorded.messages) {
      const parse = message.kind === 'pods' ? parsePodsHint : parseObjectsHint;
      expect(parse(JSON.parse(JSON.stringify(message)))).toMatchObject({ kind: message.kind });
    }
  });

  test('goes on: nothing is bought again, nothing drifts, nothing goes', async () => {
    const { ports, claims, azure, server, clock, stateOf, conditionOf } = takenOver(recorded);
    for (let round = 0; round < 5; round++) {
      // One look after the other, as they come.
      await followAll(ports, [
        ...claimsNamed(claims),
        { kind: 'NodePool', name: 'general' },
        { kind: 'AKSNodeClass', name: 'default' },
      ]);
      expect((await provision(ports)).kind).toMatch(/^(idle|expected)$/);
      await disrupt(ports);
      clock.advance(10_000);
    }
    expect([azure.orders, azure.deleted, server.list('nodeclaims').length]).toEqual([[], [], 2]);
    for (const name of claims) {
      expect(stateOf(name)).toBe('there');
      expect(conditionOf(name, 'Drifted')?.['status']).not.toBe('True');
    }
  });
});
