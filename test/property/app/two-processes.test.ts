import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { follow } from '../../../shared/app/follow/follow.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import type { LaunchOutcome } from '../../../shared/ports/cloud.ts';
import { START, decisionOf, machine, since, smallCluster } from '../../kit/app/small-cluster.ts';
import { onDemand } from '../../kit/core/build.ts';
import { drawsOf } from '../../setup/draws.ts';
import { oneOfAName, processOver, untilDone } from './processes.ts';

const claim = { kind: 'NodeClaim', name: 'c' } as const;
const launched = [since(START, 'Launched')];
const registered = ['Launched', 'Registered'].map((type) => since(START, type));
const initialized = ['Launched', 'Registered', 'Initialized'].map((type) => since(START, type));
const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };
const reserved = { key: 'nodewright.dev/reserved', value: 'c', effect: 'NoSchedule' };

type Cluster = ReturnType<typeof smallCluster>;

/** A cluster in which claim `c` stands somewhere on its way. */
function clusterWith(stand: (cluster: Cluster) => void): Cluster {
  const cluster = smallCluster();
  oneOfAName(cluster);
  cluster.addClass('True');
  cluster.addPool();
  stand(cluster);
  return cluster;
}

/** What is left of all this, without versions and times. */
function leftOf({ server, azure }: Cluster): object {
  const objects = ['nodeclaims', 'nodes', 'pods'].flatMap((resource) => server.list(resource));
  return {
    objects: objects.map((object) => JSON.parse(JSON.stringify(object, withoutVersions)) as object),
    machines: [...azure.machines.keys()],
  };
}

function withoutVersions(key: string, value: unknown): unknown {
  return ['resourceVersion', 'uid', 'generation'].includes(key) ? undefined : value;
}

/** Two processes have moved the claim at once, each until it was done. */
async function movedByTwo(cluster: Cluster, scheduler: fc.Scheduler): Promise<Cluster> {
  const move = (ports: Ports) => untilDone(() => follow(ports, claim));
  const both = [processOver(cluster, scheduler), processOver(cluster, scheduler)].map(move);
  await scheduler.waitFor(Promise.all(both));
  return cluster;
}

/** More looks than a claim takes from one step to where it stands still. */
const LOOKS = 4;

/** It has been looked at until nothing more is to be done, by one process. */
async function settled(cluster: Cluster): Promise<Cluster> {
  for (let look = 0; look < LOOKS; look++) await untilDone(() => follow(cluster.ports, claim));
  return cluster;
}

const labels = { 'karpenter.sh/nodepool': 'general' };

/** Where a claim may stand when two processes take it up. */
const stands: Readonly<Record<string, (cluster: Cluster) => void>> = {
  'that is new': ({ addClaim }) => addClaim('c', { labels }),
  'that is new, and has no finalizer yet': ({ addClaim }) => addClaim('c', { labels, finalizers: [] }),
  'whose node has joined': (cluster) => {
    cluster.azure.machines.set('c', machine('c'));
    cluster.addClaim('c', { labels, status: { providerID: 'azure://c', conditions: launched } });
    cluster.addNode('c', { taints: [unregistered] });
  },
  'whose node is kept for pods that have come': (cluster) => {
    const decision = decisionOf(['c'], [cluster.addPod('p')]);
    void cluster.ports.decisions.put(decision);
    cluster.azure.machines.set('c', machine('c'));
    cluster.addClaim('c', {
      labels,
      annotations: { 'nodewright.dev/decision': decision.name },
      status: { providerID: 'azure://c', conditions: registered },
    });
    cluster.addNode('c', { taints: [reserved] });
    cluster.server.patch('pods', 'default/p', { spec: { nodeName: 'aks-c' } }, 'object');
  },
  'whose machine is gone': (cluster) => {
    cluster.addClaim('c', { labels, status: { providerID: 'azure://c', conditions: initialized } });
    cluster.addNode('c', { ready: 'Unknown', finalizers: ['karpenter.sh/termination'] });
  },
  'that goes, with pods on its node': (cluster) => {
    cluster.azure.machines.set('c', machine('c'));
    cluster.addClaim('c', { labels, status: { providerID: 'azure://c', conditions: initialized } });
    cluster.addNode('c', { finalizers: ['karpenter.sh/termination'] });
    cluster.addRunning('web', 'c');
    cluster.server.delete('nodeclaims', 'c');
  },
  'that goes, and whose node is empty': (cluster) => {
    cluster.azure.machines.set('c', machine('c'));
    const draining = since(START - 60_000, 'Drained', 'Unknown');
    cluster.addClaim('c', { labels, status: { providerID: 'azure://c', conditions: [...initialized, draining] } });
    cluster.addNode('c', { finalizers: ['karpenter.sh/termination'] });
    cluster.server.delete('nodeclaims', 'c');
  },
};

describe('two processes that move a claim at once leave what one leaves', () => {
  test.each(Object.keys(stands))('of a claim %s', async (name) => {
    const stand = stands[name] ?? (() => undefined);
    const byOne = leftOf(await settled(clusterWith(stand)));
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), async (scheduler) => {
        const cluster = await movedByTwo(clusterWith(stand), scheduler);
        expect(leftOf(await settled(cluster))).toEqual(byOne);
      }),
      { numRuns: drawsOf(500, 50) },
    );
  });
});

test('what a claim has come to is not taken back by a process that read it before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const cluster = clusterWith(({ addClaim, azure }) => {
        azure.machines.set('c', machine('c'));
        addClaim('c', { labels, status: { providerID: 'azure://c', conditions: launched } });
      });
      const takenBack: Array<string> = [];
      cluster.server.watch(({ resource, before, after }) => {
        if (resource !== 'nodeclaims' || after === null) return;
        takenBack.push(...trueOf(before).filter((type) => !trueOf(after).includes(type)));
      });
      const join = async (): Promise<void> => {
        await scheduler.schedule(Promise.resolve());
        cluster.addNode('c', {
          taints: [unregistered],
          status: { allocatable: { cpu: '2', memory: '8Gi', pods: '30' } },
        });
      };
      const looks = [1, 2, 3].map(async () => {
        const ports = processOver(cluster, scheduler);
        for (let look = 0; look < LOOKS; look++) await untilDone(() => follow(ports, claim));
      });
      await scheduler.waitFor(Promise.all([...looks, join()]));
      expect(takenBack).toEqual([]);
      expect(trueOf(cluster.server.get('nodeclaims', 'c'))).toContain('Initialized');
    }),
    { numRuns: drawsOf(500, 50) },
  );
});

/** The types of the conditions that are True. */
function trueOf(object: { readonly status?: unknown } | null): ReadonlyArray<string> {
  const { conditions = [] } = (object?.status ?? {}) as {
    readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string }>;
  };
  return conditions.flatMap(({ type, status }) => (status === 'True' ? [type] : []));
}

test('a claim that one process has launched is not given up by another, which Azure had refused a moment before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const cluster = clusterWith(({ addClaim }) => addClaim('c', { labels, spec: { requirements: [onDemand] } }));
      const { outside, server } = cluster;
      const accept = outside.launch;
      const answers: Array<LaunchOutcome> = [
        { kind: 'unavailable', scope: 'size', reason: 'SkuNotAvailable', message: 'sold out', retryAfterMs: 60_000 },
      ];
      outside.launch = (order) => answers.pop() ?? accept(order);
      let givenUpAs: unknown = null;
      server.watch(({ resource, before, after }) => {
        const isDeletion = after !== null && after.metadata.deletionTimestamp !== before?.metadata.deletionTimestamp;
        if (resource === 'nodeclaims' && isDeletion) givenUpAs = before?.status?.['providerID'] ?? null;
      });
      await movedByTwo(cluster, scheduler);
      await settled(cluster);
      expect(givenUpAs).toBeNull();
      const left = server.list('nodeclaims');
      expect(left.filter(({ metadata }) => metadata.annotations?.['nodewright.dev/given-up'] !== undefined)).toEqual(
        [],
      );
      expect(cluster.azure.machines.size).toBe(left.length);
    }),
    { numRuns: drawsOf(500, 50) },
  );
});
