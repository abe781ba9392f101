import { describe, expect, test } from 'vitest';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { sweep } from '../../../../shared/app/sweep/sweep.ts';
import { RetryableError, UnreadableError } from '../../../../shared/ports/errors.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { POLICY, denying, smallCluster } from '../../../kit/app/small-cluster.ts';

/** Each step of a sweep does what it can, whatever became of the others. */

/** A cluster with a pod that waits, and all that a sweep says. */
function waiting(changes: (ports: Ports) => Partial<Ports> = () => ({})) {
  const cluster = smallCluster();
  cluster.addClass('True');
  cluster.addPool();
  cluster.addPod('web');
  cluster.clock.advance(10_000);
  const lines: Array<Fields> = [];
  const ports = {
    ...cluster.ports,
    ...changes(cluster.ports),
    log: (event: string, facts: object) => void lines.push({ event, ...facts }),
  };
  return { ...cluster, ports, lines, said: (name: string) => lines.filter(({ event }) => event === name) };
}

const down = (): Promise<never> => Promise.reject(new RetryableError('it is down'));

describe('a sweep', () => {
  test('whose list of machines fails plans for pods, hints and tells of the cluster, and fails at the end', async () => {
    const { ports, server, said, sent, addClaim, clock, azure } = waiting(({ cloud }) => ({
      cloud: { ...cloud, inventory: down },
    }));
    addClaim('at-rest', { status: { conditions: [{ type: 'Ready', status: 'True' }] } });
    addClaim('stalled');
    clock.advance(60_000);
    await expect(sweep(ports)).rejects.toThrow('it is down');
    expect(server.list('nodeclaims')).toHaveLength(3);
    const hint = sent.find(({ hint: one }) => 'reason' in one && one.reason === 'sweep');
    expect(hint).toMatchObject({ hint: { objects: expect.arrayContaining([{ kind: 'NodeClaim', name: 'stalled' }]) } });
    expect(said('cluster-seen')).toEqual([expect.objectContaining({ waitingPods: 1 })]);
    expect(said('sweep-step-failed')).toEqual([expect.objectContaining({ step: 'inventory', why: 'it is down' })]);
    expect(azure.deleted).toEqual([]);
  });

  test('takes no machine for lost that nobody could list', async () => {
    const { ports, sent, addClaim, addNode, clock } = waiting(({ cloud }) => ({
      cloud: { ...cloud, inventory: down },
    }));
    const ready = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => ({ type, status: 'True' }));
    addClaim('at-rest', { status: { conditions: ready } });
    addNode('at-rest');
    const names = async (): Promise<ReadonlyArray<string>> => {
      await sweep(ports).catch(() => null);
      return sent
        .splice(0)
        .flatMap(({ hint }) =>
          'objects' in hint && hint.reason === 'sweep' ? hint.objects.map(({ name }) => name) : [],
        );
    };
    // Of an hour there is one minute in which it is its turn.
    let asked = 0;
    for (let minute = 0; minute < 60; minute++) {
      asked += (await names()).filter((name) => name === 'at-rest').length;
      clock.advance(60_000);
    }
    expect(asked).toBeLessThanOrEqual(1);
  });

  test('that cannot provision tells of the cluster all the same, so that an alert can fire', async () => {
    const { ports, said } = waiting(({ ledger }) => ({ ledger: { ...ledger, read: down } }));
    await expect(sweep(ports)).rejects.toThrow('it is down');
    expect(said('cluster-seen')).toEqual([expect.objectContaining({ waitingPods: 1, claims: 0 })]);
  });

  test('that cannot list claims says that it does not know how many there are, and removes no machine', async () => {
    const { ports, said, outside, azure } = waiting();
    outside.onRequest = ({ method, path }) => {
      if (method === 'GET' && path.startsWith('/apis/karpenter.sh/v1/nodeclaims?')) throw new RetryableError('no list');
    };
    await expect(sweep(ports)).rejects.toThrow('no list');
    expect(said('cluster-seen')).toEqual([
      expect.objectContaining({ waitingPods: 1, claims: null, costMicroPerHour: null }),
    ]);
    expect(azure.deleted).toEqual([]);
  });

  test('meets a fault of ours in one step, and takes the others', async () => {
    const { ports, server } = waiting(({ cloud }) => ({
      cloud: { ...cloud, inventory: () => Promise.reject(new TypeError('ours')) },
    }));
    await expect(sweep(ports)).rejects.toThrow('ours');
    expect(server.list('nodeclaims')).toHaveLength(1);
  });

  test('lists the cluster itself where what the relay has published cannot be read', async () => {
    const { ports, server, said } = waiting(({ snapshots }) => ({
      snapshots: { ...snapshots, latest: () => Promise.reject(new UnreadableError('of format 9')) },
    }));
    expect(await sweep(ports)).toMatchObject({ provision: 'provisioned' });
    expect(server.list('nodeclaims')).toHaveLength(1);
    expect(said('snapshot-unreadable')[0]).toMatchObject({ why: 'of format 9' });
  });

  test('lists nothing where storage is down: what it has may be right', async () => {
    const { ports, said } = waiting(({ snapshots }) => ({ snapshots: { ...snapshots, latest: down } }));
    await expect(sweep(ports)).rejects.toThrow('it is down');
    expect(said('snapshot-unreadable')).toEqual([]);
  });

  test('waits for a word about a closed node beside all else, and ends once the node is open', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { ports, server, addClaim, addNode } = waiting((own) => ({
      // A turn of the loop later than all that the sweep does after it.
      sleep: () => promise.then(() => new Promise((done) => setTimeout(done, 20))),
      planner: (input, now) => {
        resolve();
        return own.planner(input, now);
      },
    }));
    addClaim('closed');
    addNode('closed', { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] });
    await sweep(ports);
    expect(server.get('nodes', 'aks-closed')?.spec?.['taints']).toEqual([]);
  });

  test('whose wait for a word is cut off has done all else, and fails at the end', async () => {
    const { ports, server, said, addClaim, addNode } = waiting(() => ({ sleep: down }));
    addClaim('closed');
    addNode('closed', { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] });
    await expect(sweep(ports)).rejects.toThrow('it is down');
    expect(server.list('nodeclaims')).toHaveLength(2);
    expect(said('sweep-step-failed')).toEqual([expect.objectContaining({ step: 'left-halfway' })]);
  });

  test('leaves a surplus claim that may not be deleted, says so, and removes the others', async () => {
    const { ports, server, addPool, addClaim, outside, stateOf, conditionOf, said } = waiting(({ policy }) => ({
      policy: { ...policy, gates: { ...policy.gates, staticCapacity: true } },
    }));
    addPool('static');
    server.patch('nodepools', 'static', { spec: { replicas: 0 } }, 'object');
    for (const name of ['a', 'b']) addClaim(name, { labels: { 'karpenter.sh/nodepool': 'static' } });
    outside.deny = denying('DELETE', '/nodeclaims/a');
    await sweep(ports);
    expect([stateOf('a'), stateOf('b')]).toEqual(['there', 'leaving']);
    expect(conditionOf('a', 'WriteDenied')).toMatchObject({ message: expect.stringContaining(POLICY) });
    expect(said('surplus-kept')).toHaveLength(1);
  });
});
