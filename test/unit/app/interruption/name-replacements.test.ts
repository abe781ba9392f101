import { describe, expect, test } from 'vitest';
import { resumeNow } from '../../../../shared/app/commit/commit-plan.ts';
import { interrupt } from '../../../../shared/app/interruption/interrupt.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { decisionOf, namesIn } from '../../../kit/app/small-cluster.ts';
import { conditions, longNotice, notice, replacedBy, replacementDue, running } from '../../../kit/app/running.ts';

/** A machine that goes in ten minutes, and a look of provisioning after the notice. */
async function replaced(
  given: Parameters<typeof running>[0] = {},
  prepare: (cluster: ReturnType<typeof running>) => void = () => undefined,
) {
  const cluster = running(given);
  prepare(cluster);
  await interrupt(cluster.ports, longNotice());
  // Pods that come are planned for once no more have come for a while.
  cluster.clock.advance(5_000);
  const outcome = await provision(cluster.ports, { mayList: true });
  return { ...cluster, outcome };
}

describe('pods that wait for their replacement', () => {
  test('learn which claim is made for them, and by the same write that there is nothing more to learn', async () => {
    const { annotations, others, sent, leavingPods } = await replaced();
    const [replacement] = others();
    expect([others().length, annotations()[replacedBy], annotations()[replacementDue]]).toEqual([
      1,
      replacement,
      undefined,
    ]);
    expect(sent.filter(({ key }) => key.startsWith('named/')).map(({ hint }) => namesIn(hint))).toEqual([['c']]);
    expect(leavingPods()).toEqual([]);
  });

  test('wait for none where nobody needs another machine', async () => {
    const { annotations, others } = await replaced({ pods: 0 });
    expect([others(), annotations()[replacedBy], annotations()[replacementDue]]).toEqual([[], undefined, undefined]);
  });

  test('get one however often it is looked', async () => {
    const { ports, others, annotations } = await replaced();
    const [first] = others();
    await provision(ports, { mayList: true });
    await provision(ports, { mayList: true });
    expect([others(), annotations()[replacedBy]]).toEqual([[first], first]);
  });

  test('are told by the next look where another plan was committed first', async () => {
    const { ports, annotations, others } = running();
    await interrupt(ports, longNotice());
    const ledger: Ports['ledger'] = { ...ports.ledger, commit: () => Promise.resolve({ kind: 'lost' }) };
    expect(await provision({ ...ports, ledger }, { mayList: true })).toEqual({ kind: 'lost' });
    expect([others(), annotations()[replacementDue]]).toEqual([[], expect.any(String)]);
    await provision(ports, { mayList: true });
    expect(annotations()[replacedBy]).toBe(others()[0]);
  });

  test('are not held by a claim that cannot be written to: the look goes on, and they wait until their time', async () => {
    const { outcome, annotations, others } = await replaced({}, ({ outside }) => {
      outside.onRequest = ({ method, path, body }) => {
        const written = JSON.stringify(body ?? {});
        if (method === 'PATCH' && path.endsWith('/nodeclaims/c') && written.includes(`"${replacementDue}":null`)) {
          throw new RetryableError('denied');
        }
      };
    });
    expect(outcome).toMatchObject({ kind: 'provisioned' });
    expect([others().length, annotations()[replacedBy], annotations()[replacementDue]]).toEqual([
      1,
      undefined,
      expect.any(String),
    ]);
  });

  test('are not made to wait again where a notice with less time has come meanwhile', async () => {
    const { ports, annotations, others, outside, leavingPods } = running();
    await interrupt(ports, longNotice());
    const second: Array<Promise<unknown>> = [];
    outside.onRequest = ({ method, path }) => {
      if (method === 'POST' && path.endsWith('/nodeclaims')) second.push(interrupt(ports, notice()));
    };
    await provision(ports, { mayList: true });
    await Promise.all(second);
    expect([others().length, annotations()[replacedBy], leavingPods()]).toEqual([1, undefined, ['p-0']]);
  });
});

test('pods with little time are told of no replacement, which is planned all the same', async () => {
  const { ports, annotations, others } = running();
  await interrupt(ports, notice());
  await provision(ports, { mayList: true });
  expect([others().length, annotations()[replacedBy]]).toEqual([0, undefined]);
  const pending = running();
  pending.addPod('successor');
  await interrupt(pending.ports, notice());
  pending.clock.advance(5_000);
  await provision(pending.ports, { mayList: true });
  expect([pending.others().length, pending.annotations()[replacedBy]]).toEqual([1, undefined]);
});

test('machines of many notices are replaced by one decision', async () => {
  const { ports, addClaim, addNode, addRunning, others, server } = running();
  const signals = ['d', 'e', 'f'].map((name) => {
    const vmId = longNotice().vmId?.replace('aks-c', `aks-${name}`) ?? '';
    const { labels = {} } = server.get('nodeclaims', 'c')?.metadata ?? {};
    addClaim(name, { labels, status: { providerID: `azure://${vmId}`, nodeName: `aks-${name}`, conditions } });
    addNode(name, {
      id: vmId,
      labels: { ...labels, 'karpenter.sh/initialized': 'true' },
      status: { allocatable: { cpu: '2', memory: '8Gi', pods: '30' } },
    });
    addRunning(`on-${name}`, name);
    return { ...longNotice(), vmId };
  });
  await Promise.all([longNotice(), ...signals].map((signal) => interrupt(ports, signal)));
  expect(await provision(ports, { mayList: true })).toMatchObject({ kind: 'provisioned' });
  expect((await ports.ledger.read()).generation).toBe(1);
  const own = others().filter((name) => !['d', 'e', 'f'].includes(name));
  for (const name of ['c', 'd', 'e', 'f']) {
    expect(own).toContain(server.get('nodeclaims', name)?.metadata.annotations?.[replacedBy]);
  }
});

test('a machine is replaced from what the API server says when the relay is silent', async () => {
  const { ports, others } = running();
  const snapshots = {
    ...ports.snapshots,
    latest: () => Promise.resolve(null),
    heartbeatMs: () => Promise.resolve(null),
  };
  await interrupt(ports, longNotice());
  await provision({ ...ports, snapshots }, { mayList: true });
  expect(others()).toHaveLength(1);
});

describe('what is waited for in place of an interrupted machine', () => {
  /** An interrupted `c` whose pod an earlier decision has promised the claim `r`, and how far the node of that is. */
  async function promised(node: 'in use' | 'starting' | 'not there', to: 'its pod' | 'another pod' | 'both') {
    const cluster = running();
    const uid = cluster.server.get('pods', 'default/p-0')?.metadata.uid ?? '';
    const own = to === 'another pod' ? [] : [{ name: 'default/p-0', uid }];
    const other = to === 'its pod' ? [] : [cluster.addPod('waits', to === 'both' ? '500m' : '2')];
    const decision = decisionOf(['r'], [...own, ...other]);
    await cluster.ports.decisions.put(decision);
    await cluster.ports.ledger.commit(await cluster.ports.ledger.read(), decision.name);
    await resumeNow(cluster.ports);
    if (node !== 'not there') {
      const status = { providerID: 'azure://r', nodeName: 'aks-r', conditions };
      cluster.server.patch('nodeclaims', 'r', { status }, 'status');
      cluster.addNode('r', {
        labels: {
          'karpenter.sh/nodepool': 'general',
          'karpenter.sh/capacity-type': 'on-demand',
          'node.kubernetes.io/instance-type': 'Standard_D2_v5',
          'topology.kubernetes.io/zone': 'westeurope-1',
          ...(node === 'in use' ? { 'karpenter.sh/initialized': 'true' } : {}),
        },
        status: { allocatable: { cpu: '2', memory: '8Gi', pods: '30' } },
      });
    }
    await interrupt(cluster.ports, longNotice());
    cluster.clock.advance(5_000);
    await provision(cluster.ports, { mayList: true });
    return cluster;
  }

  test.each(['not there', 'starting'] as const)(
    'is the claim on its way that its pods fit, with its node %s',
    async (node) => {
      const { annotations, others } = await promised(node, 'its pod');
      expect([annotations()[replacedBy], others()]).toEqual(['r', ['r']]);
    },
  );

  test('is a claim that others share with its pods', async () => {
    const { annotations, others } = await promised('not there', 'both');
    expect([annotations()[replacedBy], others()]).toEqual(['r', ['r']]);
  });

  test('is nothing where a node in use has the room', async () => {
    const { annotations, others } = await promised('in use', 'its pod');
    expect([annotations()[replacedBy], others()]).toEqual([undefined, ['r']]);
  });

  test('is not a claim that was launched for others', async () => {
    const { annotations, others } = await promised('not there', 'another pod');
    const [, own] = others();
    expect([others().length, annotations()[replacedBy]]).toEqual([2, own]);
  });
});

test('a claim that others share with the node’s pods is waited for', async () => {
  const { others, annotations } = await replaced({}, ({ addPod }) => void addPod('waits', '500m'));
  expect(others()).toEqual([annotations()[replacedBy]]);
});

test.each([
  ['whose claim is on its way out', 'nodeclaims', 'd'],
  ['that is on its way out itself', 'nodes', 'aks-d'],
])('the room of a node %s is not counted on', async (_, resource, name) => {
  const { others } = await replaced({}, ({ addClaim, addNode, server }) => {
    const labels = {
      'karpenter.sh/nodepool': 'general',
      'karpenter.sh/capacity-type': 'on-demand',
      'karpenter.sh/initialized': 'true',
    };
    addClaim('d', { labels, status: { providerID: 'azure://d', nodeName: 'aks-d', conditions } });
    addNode('d', {
      labels,
      finalizers: ['karpenter.sh/termination'],
      status: { allocatable: { cpu: '2', memory: '8Gi', pods: '30' } },
    });
    server.delete(resource, name);
  });
  expect(others()).toHaveLength(2);
});

test('of the claims launched with a replacement only those for the node’s own pods are waited for', async () => {
  const { ports, others, annotations, server } = await replaced({}, ({ addPod }) => void addPod('waits', '2'));
  expect(others()).toHaveLength(2);
  const decision = await ports.decisions.get((await ports.ledger.read()).decision ?? '');
  const uid = server.get('pods', 'default/p-0')?.metadata.uid;
  const index = decision?.plan.claims.findIndex(({ pods }) => pods.some((pod) => pod.uid === uid)) ?? -1;
  expect(annotations()[replacedBy]).toBe(decision?.claimNames[index]);
});
